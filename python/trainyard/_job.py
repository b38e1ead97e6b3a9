"""The job that this process belongs to, as its environment tells. Read once, on import, but for
the rank: a script that starts its workers itself sets that later."""

import os
from pathlib import Path
from typing import Optional


def _path(name: str) -> Optional[Path]:
    value = os.environ.get(name)
    return Path(value) if value else None


def _number(name: str) -> int:
    """0 also for what is not a number: a RANK of somebody else's must not end the script."""
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() else 0


in_job: bool = bool(os.environ.get("TRAINYARD_JOB_ID"))

# Kept over all runs of the job; the same for all of its workers. None outside Trainyard, so that
# `trainyard.checkpoint_dir or Path("checkpoints")` is a directory in both worlds.
checkpoint_dir: Optional[Path] = _path("TRAINYARD_CHECKPOINT_DIR")
# How often the job was started again: 0 in its first run.
restart_count: int = _number("TRAINYARD_RESTART")

report_file: Optional[Path] = _path("TRAINYARD_REPORT")
stop_file: Optional[Path] = _path("TRAINYARD_STOP_FILE")
_requeue_file: Optional[Path] = _path("TRAINYARD_REQUEUE_FILE")


def rank() -> int:
    return _number("RANK")


def requeue() -> None:
    """Asks for another run of this job once it ends, whatever its exit status. In any worker."""
    if _requeue_file is not None:
        _requeue_file.touch()
