# SPDX-License-Identifier: Apache-2.0
"""A small residual network in PyTorch that learns pictures from a teacher.

    python3 pictures_student.py --teachers 127.0.0.1:9292        # fixed teachers, alone on a laptop
    python3 pictures_student.py --service pictures-teacher       # in a cluster; without the option: `teacher` of its job
    python3 pictures_student.py --without                        # from the labels alone, for comparison

The labels of the train samples are wrong in three of five cases, those of the test samples are right. What it prints last is its error on the
test samples, and that of the best classifier."""
import argparse
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from pictures import CHANNELS, CLASSES, SIDE, best_error, draw


class Block(nn.Module):
    """Two convolutions, added to what came in."""

    def __init__(self, filters):
        super().__init__()
        self.first, self.second = (nn.Conv2d(filters, filters, 3, padding=1, bias=False) for _ in range(2))
        self.first_norm, self.second_norm = nn.BatchNorm2d(filters), nn.BatchNorm2d(filters)

    def forward(self, x):
        y = functional.relu(self.first_norm(self.first(x)))
        return functional.relu(x + self.second_norm(self.second(y)))


def student(filters=16):
    return nn.Sequential(
        nn.Conv2d(CHANNELS, filters, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(filters), nn.ReLU(), nn.AvgPool2d(2),
        Block(filters), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(filters, CLASSES))


def batches(images, labels, size, seed):
    order = np.random.default_rng(seed).permutation(len(images))
    for at in range(0, len(order), size):
        part = order[at : at + size]
        yield images[part], labels[part]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--teachers", help="HOST:PORT,...; without it those of the job's service")
    parser.add_argument("--service", help="of the cluster: JOB or JOB.ROLE")
    parser.add_argument("--without", action="store_true", help="no teacher: the labels alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--passes", type=int, default=6)
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(given.seed)
    images, labels, _right = draw(given.samples, seed=given.seed, wrong=0.6)
    network = student()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    epoch = [0]
    reader = None
    if not given.without:
        from edl.distill import DistillReader

        reader = DistillReader(ins=["image", "label"], predicts=["prediction"])
        reader.set_teacher_batch_size(32)
        if given.teachers:
            reader.set_fixed_teacher(given.teachers)
        elif given.service:
            reader.set_dynamic_teacher("", given.service)
        reader.set_batch_generator(lambda: batches(images, labels, 32, epoch[0]))
    for epoch[0] in range(given.passes):
        optimizer.param_groups[0]["lr"] = 0.01 * (1 - epoch[0] / given.passes)
        for batch in reader() if reader is not None else batches(images, labels, 32, epoch[0]):
            hard = np.eye(CLASSES, dtype=np.float32)[batch[1]]
            target = torch.from_numpy(batch[2].astype(np.float32) if reader is not None else hard)
            scores = network(torch.from_numpy(batch[0]).view(-1, CHANNELS, SIDE, SIDE))
            loss = -(target * functional.log_softmax(scores, 1)).sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    network.eval()
    test, _labels, right = draw(1000, seed=given.seed + 1000, wrong=0.0)
    with torch.no_grad():
        found = network(torch.from_numpy(test).view(-1, CHANNELS, SIDE, SIDE)).argmax(1).numpy()
    print(f"error {np.mean(found != right):.4f}, best {best_error():.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
