"""Has this job been asked to leave?

Two ways tell: a signal (SIGTERM, or the one that the user declared with --signal) and the stop
file, which is there from the moment the job is asked. The file is enough to know, but a signal
without a handler ends the process, so all that may come are caught. That begins with the first
question and not on import: who never asks is not to be deaf to SIGTERM, and frameworks that bring a
handler of their own for SIGUSR1 leave it out where they find one.
"""

import os
import signal
import threading

from trainyard import _job, _report

# --signal names one of these in practice. SIGINT is not among them: it is KeyboardInterrupt.
_SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)

_asked = False
_previous = {}  # by signal: the handler before ours; empty until ours are in place


def should_stop() -> bool:
    """True once the job was asked to leave: save, and exit. Cheap enough for every step.

    Each worker sees it at a time of its own: workers that exchange gradients must agree on the step
    after which they stop, or some wait for ever for those that left (trainyard.torch does that).
    Always False outside Trainyard.
    """
    global _asked
    if not _job.in_job:
        return False
    if not _previous and threading.current_thread() is threading.main_thread():
        _catch_signals()
    if not _asked and _job.stop_file is not None and os.path.exists(_job.stop_file):
        _asked = True
    if _asked:
        _report.flush()
    return _asked


def _catch_signals() -> None:
    for number in _SIGNALS:
        # None: not set from Python, so that it could not be called by ours; it stays.
        if signal.getsignal(number) is not None:
            _previous[number] = signal.signal(number, _on_signal)


def _on_signal(number, frame) -> None:
    global _asked
    _asked = True
    previous = _previous.get(number)
    if callable(previous):
        previous(number, frame)


def _in_child() -> None:
    """A forked helper (a pool's worker) cannot save anything. It must end by SIGTERM, by which
    pools end their workers; a signal that only asks to save is for the script alone."""
    for number, previous in _previous.items():
        if signal.getsignal(number) is _on_signal:
            signal.signal(number, previous if number == signal.SIGTERM else signal.SIG_IGN)
    _previous.clear()


os.register_at_fork(after_in_child=_in_child)
