"""Samplers that can begin in the middle of an epoch, with any number of workers."""

from typing import Iterator

from torch import Generator, randperm
from torch.utils.data import Sampler

from trainyard._ranks import rank_and_world


class InOrder(Sampler):
    """Each epoch in an order of its own, which follows from `seed` and the epoch's number alone. How
    far it was dealt out is a number of its samples, whichever workers had them: others go on from
    there."""

    def __init__(self, data_source, shuffle: bool, seed: int):
        super().__init__(data_source)
        self._length = len(data_source)
        if self._length == 0:
            raise ValueError("data_source is empty; there is nothing to sample")
        self._shuffle = shuffle
        self._seed = seed
        self._rank, self._world = rank_and_world()
        self._epoch = 0
        self._begin = 0

    def start(self, epoch: int, samples: int = 0) -> None:
        """The next iteration is that of `epoch`, without the first `samples` of its order, which
        all workers together have had already."""
        self._epoch = epoch
        self._begin = min(samples, self._length)

    def samples_of_step(self, loader) -> int:
        """How many samples of the order a step of all workers takes."""
        raise NotImplementedError

    def _order(self) -> list:
        if not self._shuffle:
            return list(range(self._length))
        generator = Generator().manual_seed(self._seed + self._epoch)
        return randperm(self._length, generator=generator).tolist()

    def _take_begin(self) -> int:
        """The iteration after this one is whole."""
        begin, self._begin = self._begin, 0
        return begin


class ResumableSampler(InOrder):
    """Each epoch in an order of its own, and each worker its part of it (every world-th sample, the
    first ones again where they do not come out even). Going on in the middle costs nothing: what was
    seen is not read again.

        sampler = ResumableSampler(dataset, seed=1)
        loader = DataLoader(dataset, batch_size=32, sampler=sampler)

    Checkpointer.steps() finds it in the loader and starts it where the last run stopped; by hand it
    is start(epoch, samples). Made after init_process_group, where there is one.
    """

    def __init__(self, data_source, shuffle: bool = True, seed: int = 0):
        super().__init__(data_source, shuffle, seed)

    def samples_of_step(self, loader) -> int:
        return (loader.batch_size or 1) * self._world

    def __len__(self) -> int:
        """Samples of this worker in the next iteration: the same for every worker."""
        return -(-(self._length - self._begin) // self._world)

    def __iter__(self) -> Iterator[int]:
        count, begin, order = len(self), self._take_begin(), self._order()
        mine = range(begin + self._rank, begin + count * self._world, self._world)
        return iter([order[i % self._length] for i in mine])
