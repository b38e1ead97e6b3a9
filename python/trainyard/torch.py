"""Saves and restores a PyTorch training, so that a paused run ends as an unbroken one would.

    from trainyard.torch import Checkpointer, ResumableSampler

    loader = DataLoader(dataset, batch_size=32, sampler=ResumableSampler(dataset, seed=1))
    checkpointer = Checkpointer(model=model, optimizer=optimizer, scheduler=scheduler)
    for step, (images, labels) in checkpointer.steps(loader, total=1000):
        ...

What is behind the loop is reached by a finished training only: a job that is asked to leave saves
after the step it is in and exits with status 143, as if ended by SIGTERM. So a shell script goes on
to its next command only when the training is done, and a SIGTERM from anybody else is no success.

Works in one process and with DistributedDataParallel (make the Checkpointer after
init_process_group): rank 0 writes, all ranks read, and all stop after the same step. What some
number of workers has saved, any other number reads.
"""

import functools
import random
import signal
import sys
import time
from pathlib import Path
from typing import Iterator, Optional, Tuple, Union

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from trainyard import _files, _job, _report, _stop
from trainyard._proportional import ProportionalSampler
from trainyard._ranks import rank_and_world
from trainyard._sampler import InOrder, ResumableSampler

__all__ = ["Checkpointer", "ProportionalSampler", "ResumableSampler", "should_stop", "EXIT_PAUSED"]

EXIT_PAUSED = 128 + signal.SIGTERM

# What the workers agree on after a step: the greatest that one of them wants.
_GO_ON, _SAVE, _LEAVE = range(3)


class Checkpointer:
    """The position of a training (epoch, batch, step, random numbers) and its `objects`: whatever
    has state_dict() and load_state_dict(), each under the name it is given by. Restores them at
    once from the newest whole checkpoint.

    Checkpoints are in the job's checkpoint directory, or outside Trainyard in `directory`; without
    either, nothing is saved. One is written when the job is asked to leave, at the end, and every
    `save_every` seconds, which is what a crash costs at most.
    """

    def __init__(self, directory: Union[str, Path, None] = None, *, save_every: float = 600,
                 **objects):
        for name, value in objects.items():
            if not hasattr(value, "state_dict") or not hasattr(value, "load_state_dict"):
                raise TypeError(f"{name} is a {type(value).__name__}, which has no state_dict() "
                                "and load_state_dict() to save and restore it by")
        self.step = 0  # steps done
        self.epoch = 0
        self._batch = 0  # batches of this epoch that were used
        self._samples: Optional[int] = 0  # of this epoch's order that all workers have had
        self._objects = {name: _unwrapped(value) for name, value in objects.items()}
        self._directory = _job.checkpoint_dir or (Path(directory) if directory else None)
        self._save_every = save_every
        self._workers = _all_workers()
        self._batches_of = self._workers.world  # how many workers the batches were shared out to
        self._epoch_random: Optional[dict] = None  # as the epoch's order was drawn
        self._resumed_random: Optional[dict] = None  # as they were after the last step
        self._saved_step = 0
        self._saved_at = time.monotonic()
        _stop.should_stop()  # from here on a signal waits for the end of a step
        self._restore()

    def steps(self, loader, total: Optional[int] = None, *,
              epochs: Optional[int] = None) -> Iterator[Tuple[int, object]]:
        """(step, batch) for every step that is left of `total`, or of `epochs`. Steps count from 0.

        Reports each step; call trainyard.progress(step + 1, loss=...) to add what it came to.
        A loader with one of our samplers goes on where it stopped, also with another number of
        workers; of any other, the epoch's batches up to there are read again and thrown away.
        """
        if (total is None) == (epochs is None):
            raise TypeError("steps() needs either total=... or epochs=...")
        sampler = _sampler_of(loader)
        each = sampler.samples_of_step(loader) if sampler is not None else 0
        if self._samples is None:
            self._samples = self._batch * each * self._batches_of // self._workers.world
        if total is None:
            total = self._steps_until(epochs, loader, sampler)
        shares = sampler if isinstance(sampler, ProportionalSampler) else None
        _spare_loader_processes(loader)
        self._after_step(total)
        while self.step < total:
            for batch in self._rest_of_epoch(loader, sampler):
                if shares is not None:
                    shares.begin_step()
                yield self.step, batch
                self.step += 1
                self._batch += 1
                self._samples += each
                self._after_step(total)
                if shares is not None and shares.is_due(self.step):
                    shares.agree(self._workers.gather(shares.told()))
                if self.step >= total:
                    break
            else:
                if self._batch == 0:
                    raise ValueError("the loader has no batches; there is nothing to train on")
                self.epoch += 1
                self._batch = self._samples = 0
        self._save()

    def _steps_until(self, epochs: int, loader, sampler: Optional[InOrder]) -> int:
        """Those that are done, and those left of so many epochs: an epoch has other steps where
        there are other workers."""
        if sampler is None:
            return self.step + (epochs - self.epoch) * len(loader) - self._batch
        sampler.start(self.epoch)
        whole = len(loader)
        sampler.start(self.epoch, self._samples)
        return self.step + len(loader) + (epochs - self.epoch - 1) * whole

    def _rest_of_epoch(self, loader, sampler: Optional[InOrder]) -> Iterator:
        """To begin an epoch may draw random numbers (its order, its loaders' seeds). In the middle
        of one they are drawn again from where they were drawn at first."""
        if self._resumed_random is not None:
            _set_random_state(self._epoch_random)
        self._epoch_random = _random_state()
        if sampler is not None:
            sampler.start(self.epoch, self._samples)
        elif self._batch > 0 and self._batches_of != self._workers.world:
            raise ValueError(f"the checkpoint was written by {self._batches_of} workers in the "
                             f"middle of an epoch, and these are {self._workers.world}: the loader "
                             "needs a ResumableSampler or a ProportionalSampler to go on there")
        elif hasattr(getattr(loader, "sampler", None), "set_epoch"):
            loader.sampler.set_epoch(self.epoch)
        self._batches_of = self._workers.world
        batches = iter(loader)
        for _ in range(self._batch if sampler is None else 0):
            next(batches, None)
        if self._resumed_random is not None:
            _set_random_state(self._resumed_random)
            self._resumed_random = None
        return batches

    def _after_step(self, total: int) -> None:
        if self._workers.rank == 0:
            _report.progress(self.step, total)
        wish = _GO_ON
        if _stop.should_stop():
            wish = _LEAVE
        elif time.monotonic() - self._saved_at >= self._save_every:
            wish = _SAVE
        wish = self._workers.most(wish)
        if wish == _GO_ON:
            return
        saved = self._save()
        if wish == _LEAVE and saved:
            _job.saved()
        if wish == _LEAVE:
            sys.exit(EXIT_PAUSED if saved else "trainyard: leaving without a checkpoint of "
                     f"step {self.step}; the last one is of step {self._saved_step}")

    def _save(self) -> bool:
        """False if it could not be written: the training goes on, and the one before is there.
        Every worker knows, and none goes on before: one that exits may take the others with it."""
        self._saved_at = time.monotonic()
        if self._directory is None or self.step == self._saved_step:
            return True
        randoms = self._workers.gather((self._epoch_random, _random_state()))
        failed = 0
        if self._workers.rank == 0:
            try:
                with _report.timed_save():
                    self._write(randoms)
            except OSError as error:
                print(f"trainyard: step {self.step} cannot be saved: {error}", file=sys.stderr)
                failed = 1
        failed = self._workers.most(failed)
        if not failed:
            self._saved_step = self.step
        return not failed

    def _write(self, randoms: list) -> None:
        checkpoint = {
            "objects": {name: value.state_dict() for name, value in self._objects.items()},
            "step": self.step,
            "epoch": self.epoch,
            "batch": self._batch,
            "samples": self._samples,
            "random": randoms,
        }
        _files.write(self._directory, self.step, lambda file: torch.save(checkpoint, file))

    def _restore(self) -> None:
        if self._directory is None:
            return
        path = None
        if self._workers.rank == 0:
            _files.remove_unfinished(self._directory)
            path = _files.newest(self._directory)
        path = self._workers.from_first(path)
        if path is None:
            return
        with _report.timed_load():
            checkpoint = torch.load(path, map_location="cpu", weights_only=False)
            self._adopt(checkpoint, path)

    def _adopt(self, checkpoint: dict, path: Path) -> None:
        if checkpoint["objects"].keys() != self._objects.keys():
            raise ValueError(f"{path} holds {_names(checkpoint['objects'])}, and this training is "
                             f"{_names(self._objects)}")
        for name, value in self._objects.items():
            value.load_state_dict(checkpoint["objects"][name])
        self.step = self._saved_step = checkpoint["step"]
        self.epoch = checkpoint["epoch"]
        self._batch = checkpoint["batch"]
        self._samples = checkpoint.get("samples")  # None: of an earlier version of this
        randoms = checkpoint["random"]
        self._batches_of = len(randoms)
        # A worker more than there were has those of another: what all draw alike, it draws too.
        self._epoch_random, self._resumed_random = randoms[self._workers.rank % len(randoms)]
        _set_random_state(self._resumed_random)


class _Workers:
    """The workers of this job, among which nothing of a GPU is exchanged: a gloo group of its own
    beside the one for gradients, so that to agree does not wait for kernels."""

    def __init__(self):
        self.rank, self.world = rank_and_world()
        self._group = None
        if self.world > 1:
            self._group = dist.new_group(backend="gloo")

    def most(self, value: int) -> int:
        if self.world == 1:
            return value
        tensor = torch.tensor([value])
        dist.all_reduce(tensor, op=dist.ReduceOp.MAX, group=self._group)
        return int(tensor.item())

    def gather(self, value) -> list:
        """By rank; in every worker."""
        if self.world == 1:
            return [value]
        values = [None] * self.world
        dist.all_gather_object(values, value, group=self._group)
        return values

    def from_first(self, value):
        return self.gather(value)[0]


@functools.lru_cache(maxsize=None)
def _all_workers() -> _Workers:
    return _Workers()


def should_stop() -> bool:
    """trainyard.should_stop() for loops of one's own with several workers: true in all of them once
    one of them was asked to leave. All must call it, after the same steps."""
    return _all_workers().most(int(_stop.should_stop())) == 1


def _unwrapped(value):
    """A model as it is in one process: its checkpoint can be read there too."""
    return value.module if isinstance(value, DistributedDataParallel) else value


def _sampler_of(loader) -> Optional[InOrder]:
    """The one of ours that the loader has."""
    for name in ("batch_sampler", "sampler"):
        if isinstance(getattr(loader, name, None), InOrder):
            return getattr(loader, name)
    return None


def _names(objects: dict) -> str:
    return ", ".join(sorted(objects)) or "nothing"


def _random_state() -> dict:
    state = {"torch": torch.get_rng_state(), "python": random.getstate()}
    if "numpy" in sys.modules:
        state["numpy"] = sys.modules["numpy"].random.get_state()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def _set_random_state(state: dict) -> None:
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    if "numpy" in state:
        import numpy
        numpy.random.set_state(state["numpy"])
    if "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"])


class _Spared:
    """Runs first in a loader's process. A job's signals go to all of its processes, and a loader's
    that ended by one would raise an error in the middle of a step of the script, which is about to
    save. It ends when the script says so, or is gone."""

    def __init__(self, then):
        self._then = then

    def __call__(self, worker: int) -> None:
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, signal.SIG_IGN)
        if self._then is not None:
            self._then(worker)


def _spare_loader_processes(loader) -> None:
    if _job.in_job and getattr(loader, "num_workers", 0) > 0:
        if not isinstance(loader.worker_init_fn, _Spared):
            loader.worker_init_fn = _Spared(loader.worker_init_fn)
