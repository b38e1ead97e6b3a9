"""Workers with a loop of their own, which must leave after the same step."""

import sys

import torch
import torch.distributed as dist

import trainyard.torch

dist.init_process_group("gloo")
for step in range(1000):
    total = torch.ones(1, requires_grad=True) * step
    total.backward()
    dist.all_reduce(total.data)
    if trainyard.torch.should_stop():
        print("left after step", step)
        sys.exit(143)
