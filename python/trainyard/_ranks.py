"""Which of how many workers this is, in torch's count."""

import os
from typing import Tuple

import torch.distributed as dist


def rank_and_world() -> Tuple[int, int]:
    """(0, 1) for a script of one process. One of several that has not been told of the others would
    take itself for the only one, train on all of the data and write over their checkpoints."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    world = os.environ.get("WORLD_SIZE", "1")
    if world != "1":
        raise RuntimeError(f"WORLD_SIZE is {world}: call torch.distributed.init_process_group() "
                           "before anything of trainyard.torch")
    return 0, 1
