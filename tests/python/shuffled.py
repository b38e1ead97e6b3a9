"""A training that takes its randomness from everywhere: an order drawn by the loader, noise from
Python's, numpy's and torch's generators, in the script's process or, with an argument, in a
loader's. The loader knows nothing of pauses."""

import random
import sys

import numpy
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from trainyard.torch import Checkpointer


class Noisy(Dataset):
    def __len__(self):
        return 42

    def __getitem__(self, i):
        noise = random.random() + float(numpy.random.rand()) + torch.rand(3)
        return torch.tensor([i / 42, 1 - i / 42, 0.5]) + 0.1 * noise, torch.tensor([i % 7 / 7])


for seed in (random.seed, numpy.random.seed, torch.manual_seed):
    seed(3)
model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.3), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loader = DataLoader(Noisy(), batch_size=4, shuffle=True, num_workers=len(sys.argv) - 1)

checkpointer = Checkpointer(model=model, optimizer=optimizer)
if checkpointer.step:
    print(f"goes on after step {checkpointer.step}")
for step, (inputs, targets) in checkpointer.steps(loader, epochs=3):
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

drawn = random.random(), float(numpy.random.rand()), torch.rand(1).item()
print("finished:", checkpointer.step, loss.item() if checkpointer.step else None, drawn,
      [weights.tolist() for weights in model.parameters()])
