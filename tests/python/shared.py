"""Workers that share each global batch, in numbers exact enough to compare: prints which samples a
worker had in which epoch, and in the first the gradient of every step, which is that of all workers.

    shared.py MEASURE_EVERY LOADERS
"""

import json
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset

from trainyard.torch import Checkpointer, ProportionalSampler


class Numbered(Dataset):
    def __len__(self):
        return 45  # four batches of ten and one of five

    def __getitem__(self, i):
        point = torch.tensor([i / 45, (i * 7 % 45) / 45, (i * 11 % 45) / 45], dtype=torch.double)
        return i, point, point.sum().square().view(1)


dist.init_process_group("gloo")
torch.manual_seed(4)
model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)).double()
model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
sampler = ProportionalSampler(Numbered(), global_batch=10, seed=2,
                              measure_every=int(sys.argv[1]) or None)
loader = DataLoader(Numbered(), batch_sampler=sampler, num_workers=int(sys.argv[2]))
checkpointer = Checkpointer(model=model, optimizer=optimizer)
for step, (numbers, inputs, targets) in checkpointer.steps(loader, epochs=3):
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    sampler.weigh(loss).backward()
    gradient = torch.cat([weights.grad.flatten() for weights in model.parameters()])
    counted = numbers.tolist() if sampler.weigh(torch.ones(1)).item() else []
    print(json.dumps({"step": step, "epoch": checkpointer.epoch, "samples": counted,
                      "gradient": gradient.tolist()}), flush=True)
    optimizer.step()
