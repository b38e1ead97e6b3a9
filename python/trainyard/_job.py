"""The job that this process belongs to, as its environment tells. Read once, on import, but for
the rank: a script that starts its workers itself sets that later."""

import contextlib
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
_saved_file: Optional[Path] = _path("TRAINYARD_SAVED")


def rank() -> int:
    return _number("RANK")


def saved() -> None:
    """Says that all this job needs to go on is on disk: leaving is a pause then, also with status 0.
    In any worker; timed_save() says it by itself once the job was asked to leave."""
    if _saved_file is None:
        return
    with contextlib.suppress(FileExistsError), open(_saved_file, "x", encoding="utf-8") as file:
        file.write("saved\n")  # not over another worker's word that its save failed


def save_failed(why: BaseException) -> None:
    """Says that a job that was asked to leave could not save: then it has failed."""
    if _saved_file is None:
        return
    with contextlib.suppress(OSError), open(_saved_file, "w", encoding="utf-8") as file:
        file.write(f"failed: {str(why) or type(why).__name__}\n")


def requeue() -> None:
    """Asks for another run of this job once it ends, whatever its exit status. In any worker."""
    if _requeue_file is not None:
        _requeue_file.touch()
