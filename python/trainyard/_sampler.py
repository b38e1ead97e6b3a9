"""A sampler that can begin in the middle of an epoch."""

from typing import Iterator

from torch import Generator, randperm
from torch.utils.data import Sampler

from trainyard._ranks import rank_and_world


class ResumableSampler(Sampler):
    """Each epoch in an order of its own that follows from `seed` and the epoch's number alone, and
    each worker its part of it (every world-th sample, the first ones again where they do not come
    out even). Going on in the middle costs nothing: what was seen is not read again.

        sampler = ResumableSampler(dataset, seed=1)
        loader = DataLoader(dataset, batch_size=32, sampler=sampler)

    Checkpointer.steps() finds it in the loader and starts it where the last run stopped; by hand it
    is start(epoch, samples). Made after init_process_group, where there is one.
    """

    def __init__(self, data_source, shuffle: bool = True, seed: int = 0):
        super().__init__(data_source)
        self._length = len(data_source)
        if self._length == 0:
            raise ValueError("data_source is empty; there is nothing to sample")
        self._shuffle = shuffle
        self._seed = seed
        self._rank, self._world = rank_and_world()
        self._epoch = 0
        self._skip = 0

    def start(self, epoch: int, samples: int = 0) -> None:
        """The next iteration is that of `epoch`, without its first `samples` of this worker."""
        self._epoch = epoch
        self._skip = samples

    def __len__(self) -> int:
        """Samples of this worker in a whole epoch: the same for every worker."""
        return -(-self._length // self._world)

    def __iter__(self) -> Iterator[int]:
        skip, self._skip = self._skip, 0
        order = list(range(self._length))
        if self._shuffle:
            generator = Generator().manual_seed(self._seed + self._epoch)
            order = randperm(self._length, generator=generator).tolist()
        mine = [order[i % self._length] for i in range(self._rank, len(self) * self._world,
                                                       self._world)]
        return iter(mine[skip:])
