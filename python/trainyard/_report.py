"""What the job tells of itself: one JSON object in the file TRAINYARD_REPORT, replaced as a whole.

    {"step": 120, "total": 1000, "loss": 0.41, "accuracy": 0.87, "save_s": 1.9, "load_s": 4.2}

A job of Slurm's has no such file, and tells it in another way (_slurm_report.py).

Only rank 0 writes. A loop may report thousands of steps a second: a report that comes too soon
after another is kept, and written by a timer if no later one takes its place.
"""

import atexit
import json
import math
import os
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Optional

from trainyard import _job, _slurm_report

_INTERVAL_S = 0.2
# Beyond these the scheduler refuses a report.
_MOST_STEPS = 2**53
_LARGEST = 1e30


class _Report:
    """What is known so far, and when it was last written. Safe to use from any thread."""

    def __init__(self, path: Optional[Path]):
        self._path = path
        self._lock = threading.RLock()  # a signal's handler may report while its thread does
        self._fields = {}
        self._unwritten = False
        self._writes = 0
        self._last_write = -math.inf
        self._timer: Optional[threading.Timer] = None
        self._complained = False

    def update(self, fields: dict, now: bool = False) -> None:
        if self._path is None or _job.rank() != 0:
            return
        with self._lock:
            self._fields.update(fields)
            if "step" not in self._fields:
                return  # times of a load come first: told with the first step
            self._unwritten = True
            wait = 0 if now else self._last_write + _INTERVAL_S - time.monotonic()
            if wait <= 0:
                self.flush()
            elif self._timer is None:
                self._timer = threading.Timer(wait, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if not self._unwritten:
                return
            self._unwritten = False
            self._last_write = time.monotonic()
            try:
                self._write()
            except OSError as error:
                self._complain(error)

    def _write(self) -> None:
        """A signal's handler may do the same at any point of this: each write has a file of its
        own, and one that another came between is done again, or it would undo the later one."""
        while True:
            self._writes += 1
            number = self._writes
            text = json.dumps(self._fields.copy())
            new = f"{self._path}.{os.getpid()}.{number}"
            try:
                with open(new, "w", encoding="ascii") as file:
                    file.write(text)
                os.replace(new, self._path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(new)
                raise
            if number == self._writes:
                return

    def _complain(self, error: OSError) -> None:
        """Once: a training goes on when nobody can be told of it."""
        if not self._complained:
            self._complained = True
            print(f"trainyard: progress cannot be reported: {error}", file=sys.stderr)


def _new_report():
    if _job.report_file is None and _slurm_report.is_here() and _job.rank() == 0:
        return _slurm_report.SlurmReport()
    return _Report(_job.report_file)


_report = _new_report()


def progress(step: int, total: Optional[int] = None, loss: Optional[float] = None,
             accuracy: Optional[float] = None) -> None:
    """`step` steps of `total` are done. What is not given stays as it was told before; a loss or an
    accuracy that is not finite, or huge, is not told. Call it every step, in every worker."""
    fields = {"step": _count("step", step)}
    if total is not None:
        fields["total"] = _count("total", total)
    for name, value in (("loss", loss), ("accuracy", accuracy)):
        if value is not None and abs(float(value)) <= _LARGEST:
            fields[name] = float(value)
    _report.update(fields)


def _count(name: str, value: int) -> int:
    if not 0 <= int(value) <= _MOST_STEPS:
        raise ValueError(f"{name} is {value}; a number of steps is from 0 to 2^53")
    return int(value)


def flush() -> None:
    """Writes what has not been written yet."""
    _report.flush()


@contextmanager
def timed_save():
    """`with timed_save(): ...` tells the scheduler what writing a checkpoint takes, and so what it
    costs to pause this job. A save that raises is not counted. Once the job was asked to leave it
    also says how the save went: saved, and the job is paused; failed, and so has the job."""
    from trainyard import _stop
    begin = time.monotonic()
    try:
        yield
    except BaseException as error:
        if _stop.should_stop():
            _job.save_failed(error)
        raise
    _report.update({"save_s": round(time.monotonic() - begin, 6)}, now=True)
    if _stop.should_stop():
        _job.saved()


@contextmanager
def timed_load():
    """The same for reading one. Told with the first step."""
    begin = time.monotonic()
    yield
    _report.update({"load_s": round(time.monotonic() - begin, 6)})


def _in_child() -> None:
    """A forked process tells what it reports itself, not what its parent had not written yet, and
    does not wait for a lock that a thread of its parent held."""
    global _report
    _report = _new_report()


atexit.register(flush)
os.register_at_fork(after_in_child=_in_child)
