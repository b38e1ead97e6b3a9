"""What a job of Slurm's tells of itself: a word in the job's own comment, which Slurm lets its user
write and the scheduler reads with every look at the queue.

    trainyard: class=trial told0={"step":120,"total":1000,"accuracy":0.87}

The number is Slurm's restart count. Each report is one call of scontrol, in a thread of its own and
at most every ten seconds, as slurmctld hears all jobs of the cluster.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time

_INTERVAL_S = 10.0
_PATIENCE_S = 20.0
_BEGINS = "trainyard:"


def is_here() -> bool:
    """True in the first process of a job that Slurm runs."""
    return bool(os.environ.get("SLURM_JOB_ID")) and (
        "RANK" in os.environ or os.environ.get("SLURM_PROCID", "0") == "0")


def _scontrol(*words: str) -> str:
    done = subprocess.run(["scontrol", *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=_PATIENCE_S, check=False)
    if done.returncode != 0:
        raise OSError(f"scontrol: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def words_of(shown: str):
    """The words of the job's comment but for those told before, by what `scontrol show job` prints;
    None if it is not for us to write there: no job of Trainyard's, or a comment of somebody else's."""
    fields = dict(re.findall(r"^\s*(AdminComment|Comment)=(.*)$", shown, re.M))
    comment = fields.get("Comment", "").strip()
    if not fields.get("AdminComment", "").startswith(_BEGINS):
        return None
    if comment in ("", "(null)"):
        return [_BEGINS]
    if not comment.startswith(_BEGINS):
        return None
    return [word for word in comment.split() if not re.match(r"told\d+=\{", word)]


class SlurmReport:
    """Safe to use from any thread; none waits for scontrol but that of the report, and an exit."""

    def __init__(self) -> None:
        self._job = os.environ["SLURM_JOB_ID"]
        self._told = f"told{os.environ.get('SLURM_RESTART_COUNT') or 0}="
        self._lock = threading.RLock()  # a signal's handler may report while its thread does
        self._calls = threading.Lock()  # of scontrol: one after the other
        self._fields: dict = {}
        self._unwritten = False
        self._last_write = float("-inf")
        self._timer = None
        self._words = None
        self._is_off = False  # the job is not Trainyard's
        self._complained = False

    def update(self, fields: dict, now: bool = False) -> None:
        if self._is_off:
            return
        with self._lock:
            self._fields.update(fields)
            if "step" not in self._fields:
                return  # times of a load come first: told with the first step
            self._unwritten = True
            if self._timer is None:
                wait = 0 if now else self._last_write + _INTERVAL_S - time.monotonic()
                self._timer = threading.Timer(max(0.0, wait), self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        with self._calls:
            with self._lock:
                if self._timer is not None:
                    self._timer.cancel()
                    self._timer = None
                if not self._unwritten or self._is_off:
                    return
                self._unwritten = False
                self._last_write = time.monotonic()
                text = json.dumps(self._fields, separators=(",", ":"))
            try:
                self._write(text)
            except (OSError, subprocess.SubprocessError) as error:
                self._unwritten = True  # slurmctld comes back: the next report tries again
                self._complain(error)

    def _complain(self, error: Exception) -> None:
        """Once: a training goes on when nobody can be told of it."""
        if not self._complained:
            self._complained = True
            print(f"trainyard: progress cannot be reported: {error}", file=sys.stderr)

    def _write(self, text: str) -> None:
        if self._words is None:
            self._words = words_of(_scontrol("show", "job", self._job))
            if self._words is None:
                self._is_off = True
                return
        comment = " ".join([*self._words, self._told + text])
        _scontrol("update", f"JobId={self._job}", f"Comment={comment}")
