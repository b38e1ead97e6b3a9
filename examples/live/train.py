#!/usr/bin/env python3
"""Trains a small convolutional network on images that it draws itself: bars, crosses, discs and
rings at random places under noise. Can be paused at any step, and ends with the same weights as if
it had not been. With several workers (WORLD_SIZE above 1) they train data-parallel over gloo.

    python3 train.py --steps 300 --lr 0.02
"""

import argparse
import hashlib
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "python"))  # as PYTHONPATH would

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset

import trainyard
from trainyard.torch import Checkpointer, ResumableSampler

SIZE = 16
SHAPES = ("bar", "cross", "disc", "ring")


class Shapes(Dataset):
    """Image i is drawn from the seed and i alone, when it is asked for."""

    def __init__(self, count, seed):
        self.count = count
        self.seed = seed

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        random = torch.Generator().manual_seed(self.seed * 1_000_003 + i)
        label = i % len(SHAPES)
        row, column = torch.randint(4, SIZE - 4, (2,), generator=random)
        y = torch.arange(SIZE).view(-1, 1) - row
        x = torch.arange(SIZE).view(1, -1) - column
        distance = x * x + y * y
        shape = {
            "bar": (y.abs() < 2) & (x.abs() < 5),
            "cross": ((y.abs() < 1) | (x.abs() < 1)) & (distance < 25),
            "disc": distance < 14,
            "ring": (distance > 8) & (distance < 22),
        }[SHAPES[label]]
        noise = torch.randn(SIZE, SIZE, generator=random)
        return (shape + 0.6 * noise).unsqueeze(0), label


def make_model(width):
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.2), nn.Linear(2 * width * SIZE, len(SHAPES)))


def train(options):
    torch.manual_seed(options.seed)  # the same first weights in every worker
    model = make_model(options.width)
    if dist.is_initialized():
        # From three workers on a sum depends on its order. This keeps the order of the first step,
        # in which gradients are exchanged otherwise than in later ones, and which every run has.
        model = nn.parallel.DistributedDataParallel(
            model, find_unused_parameters=dist.get_world_size() > 2)
        torch.manual_seed(options.seed + dist.get_rank())  # and a dropout of its own
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=options.steps)
    data = Shapes(options.images, options.seed)
    loader = DataLoader(data, options.batch, sampler=ResumableSampler(data, seed=options.seed),
                        num_workers=options.loaders)

    checkpointer = Checkpointer(options.directory, save_every=options.save_every, model=model,
                                optimizer=optimizer, scheduler=scheduler)
    if checkpointer.step:
        print(f"goes on after step {checkpointer.step}", flush=True)
    for step, (images, labels) in checkpointer.steps(loader, total=options.steps):
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        trainyard.progress(step + 1, loss=loss.item())
        if (step + 1) % 50 == 0:
            print(f"step {step + 1} of {options.steps}: loss {loss.item():.4f}", flush=True)
    return model


def evaluate(model, seed):
    """Loss and accuracy on images that were not trained on."""
    model.eval()
    images, labels = zip(*(Shapes(400, seed + 1)[i] for i in range(400)))
    images, labels = torch.stack(images), torch.tensor(labels)
    with torch.no_grad():
        scores = model(images)
    accuracy = (scores.argmax(1) == labels).float().mean()
    return nn.functional.cross_entropy(scores, labels).item(), accuracy.item()


def fingerprint(model):
    """Of every bit of the weights."""
    digest = hashlib.sha256()
    for weights in model.parameters():
        digest.update(weights.detach().numpy().tobytes())
    return digest.hexdigest()[:16]


def main():
    parser = argparse.ArgumentParser(description="Trains a small network on drawn shapes.")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--batch", type=int, default=32, help="images of a step, per worker")
    parser.add_argument("--width", type=int, default=16, help="channels of the first layer")
    parser.add_argument("--images", type=int, default=4000, help="in an epoch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loaders", type=int, default=0, help="processes that draw images")
    parser.add_argument("--save-every", type=float, default=60, help="seconds")
    parser.add_argument("--directory", help="of checkpoints, when not run by Trainyard")
    options = parser.parse_args()

    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        dist.init_process_group("gloo")
    model = train(options)
    loss, accuracy = evaluate(model, options.seed)
    trainyard.progress(options.steps, accuracy=accuracy)
    if not dist.is_initialized() or dist.get_rank() == 0:
        print(f"finished: {options.steps} steps, loss {loss!r}, accuracy {accuracy:.3f}, "
              f"weights {fingerprint(model)}")


if __name__ == "__main__":
    main()
