"""A step's samples shared out by what each worker can do, so that none waits for the slowest."""

import statistics
import time
from collections import deque
from typing import Iterator, List, Optional, Tuple

import torch

from trainyard._sampler import InOrder

# Other shares are worth their trouble (memory, tuned kernels) when they save so much of a step.
_WORTHWHILE = 0.05


def shares_of(samples: int, speeds: List[float]) -> List[int]:
    """In proportion to the speeds, in whole samples whose sum is `samples`: each part is rounded
    down, and what is left goes to those that lost the most by it, the first of equals."""
    whole = sum(speeds)
    parts = [samples * speed / whole for speed in speeds]
    shares = [int(part) for part in parts]
    by_loss = sorted(range(len(parts)), key=lambda k: shares[k] - parts[k])
    for k in by_loss[:samples - sum(shares)]:
        shares[k] += 1
    return shares


class ProportionalSampler(InOrder):
    """Batches of `global_batch` samples, of which each worker gets a share in proportion to its
    measured speed. A step is then the same with any workers: the same samples, each once, and with
    weigh() the same gradient.

        sampler = ProportionalSampler(dataset, global_batch=256, seed=1)
        loader = DataLoader(dataset, batch_sampler=sampler)
        for step, (inputs, targets) in checkpointer.steps(loader, total=1000):
            loss = loss_function(model(inputs), targets)
            optimizer.zero_grad()
            sampler.weigh(loss).backward()
            optimizer.step()

    Shares are equal at first, and after every restart: the workers may be others then. Every
    `measure_every` steps the workers tell each other how many samples a second they did since, from
    getting a batch to the end of its backward without the wait for others' gradients, and share
    anew where that makes steps shorter. With None, shares stay equal.
    """

    def __init__(self, data_source, global_batch: int, shuffle: bool = True, seed: int = 0,
                 measure_every: Optional[int] = 50):
        super().__init__(data_source, shuffle, seed)
        for name, value in (("global_batch", global_batch), ("measure_every", measure_every)):
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}; it must be 1 or more")
        self._global_batch = global_batch
        self._measure_every = measure_every if self._world > 1 else None
        self._speeds = [1.0] * self._world  # by which batches are shared out now
        self._agreed = self._speeds  # the last that were agreed on
        self._changes = deque()  # (the batch from which on, speeds) that were, and do not hold yet
        self._next = (0, 0)  # batch to be dealt out: its epoch and where in the order it begins
        self._dealt = deque()  # (share, samples of all) of batches that no step has used yet
        self._current: Optional[Tuple[int, int]] = None  # the same of the step's
        self._laps = []  # since the last agreement: [samples, begin, end]
        self._on_gpu = False

    def samples_of_step(self, loader) -> int:
        return self._global_batch

    def __len__(self) -> int:
        """Batches of the next iteration."""
        return -(-(self._length - self._begin) // self._global_batch)

    def __iter__(self) -> Iterator[List[int]]:
        self._dealt.clear()
        return self._batches(self._epoch, self._take_begin(), self._order())

    def _batches(self, epoch: int, begin: int, order: list) -> Iterator[List[int]]:
        for first in range(begin, self._length, self._global_batch):
            while self._changes and self._changes[0][0] <= (epoch, first):
                self._speeds = self._changes.popleft()[1]
            batch = order[first:first + self._global_batch]
            shares = shares_of(len(batch), self._speeds)
            self._next = (epoch, first + self._global_batch)
            self._dealt.append((shares[self._rank], len(batch)))
            mine = sum(shares[:self._rank])
            # A worker without a share has a sample to take the step with, of weight 0.
            yield batch[mine:mine + shares[self._rank]] or batch[:1]

    def weigh(self, loss: torch.Tensor) -> torch.Tensor:
        """The step's loss, a mean over this worker's samples, times what makes the gradient that
        DistributedDataParallel averages over the workers that of the mean over all samples."""
        if self._current is None:
            raise RuntimeError("weigh() belongs into a loop over Checkpointer.steps(loader), where "
                               "the loader has this sampler as its batch_sampler")
        share, samples = self._current
        weighed = loss * (share * self._world / samples)
        if self._measure_every is not None and weighed.requires_grad:
            self._on_gpu = loss.is_cuda
            weighed.register_hook(self._on_backward)
        return weighed

    def _on_backward(self, gradient) -> None:
        """The engine calls what is queued here when it has all gradients of this worker, in the
        order of queueing: before what DistributedDataParallel waits in, which it queues later."""
        torch.autograd.Variable._execution_engine.queue_callback(self._end_lap)

    def _end_lap(self) -> None:
        self._laps[-1][2] = self._now()

    def _now(self):
        """Seconds; where a GPU does the work, a mark in its queue, as the host does not wait."""
        if not self._on_gpu:
            return time.perf_counter()
        mark = torch.cuda.Event(enable_timing=True)
        mark.record()
        return mark

    # --- What Checkpointer.steps() calls, in all workers after the same steps --------------------

    def begin_step(self) -> None:
        self._current = self._dealt.popleft()
        if self._measure_every is not None:
            self._laps.append([max(self._current[0], 1), self._now(), None])

    def is_due(self, step: int) -> bool:
        return self._measure_every is not None and step % self._measure_every == 0

    def told(self) -> Tuple[Optional[float], Tuple[int, int]]:
        """For the others: samples a second since they last told each other, None if nothing was
        measured; and the first batch that this worker has not dealt out yet."""
        speeds = [samples / seconds for samples, seconds in map(_timed, self._laps) if seconds > 0]
        self._laps.clear()
        return statistics.median(speeds) if speeds else None, self._next

    def agree(self, told: list) -> None:
        """On shares by what all have told. They hold from the first batch that no worker has dealt
        out yet: loaders read ahead."""
        speeds = [speed for speed, _ in told]
        if None in speeds:
            return

        def slowest(shared_by: List[float]) -> float:
            shares = shares_of(self._global_batch, shared_by)
            return max(share / speed for share, speed in zip(shares, speeds))

        if slowest(speeds) < (1 - _WORTHWHILE) * slowest(self._agreed):
            self._agreed = speeds
            self._changes.append((max(batch for _, batch in told), speeds))


def _timed(lap: list) -> Tuple[int, float]:
    """(samples, seconds); of a step without a backward, 0 seconds."""
    samples, begin, end = lap
    if type(begin) is not type(end):  # also of the first step on a GPU
        return samples, 0.0
    if isinstance(end, float):
        return samples, end - begin
    end.synchronize()
    return samples, begin.elapsed_time(end) / 1000
