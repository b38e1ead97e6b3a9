"""What a training script imports so that Trainyard can pause it and see how far it is.

    import trainyard

    for step in range(first, total):
        ...
        trainyard.progress(step + 1, total, loss=loss)
        if trainyard.should_stop():
            with trainyard.timed_save():
                save(trainyard.checkpoint_dir / "last")
            sys.exit(143)

Nothing here does anything, or fails, in a script that was not started by Trainyard. Needs the
standard library only; `trainyard.torch` does the saving for PyTorch.
"""

from trainyard._job import checkpoint_dir, requeue, restart_count, saved
from trainyard._report import progress, timed_load, timed_save
from trainyard._stop import should_stop

__all__ = [
    "checkpoint_dir",
    "progress",
    "requeue",
    "restart_count",
    "saved",
    "should_stop",
    "timed_load",
    "timed_save",
]
