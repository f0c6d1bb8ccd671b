#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A whole program of PyTorch whose processes train together, in steps, as many as there are: it learns y of x.

    python3 torch_elastic.py data/train-*                                            # alone
    edl submit --min 1 --max 4 -- python3 $PWD/torch_elastic.py "$PWD/data/train-*"  # as a job

A process that is lost, comes or is taken away starts no other again. A job that starts anew goes on from its checkpoint.
"""
import glob
import os
import sys
from typing import List

import torch
import torch.nn.functional as F

import edl
import edl.torch

EPOCHS = 40
BATCH = 64  # of all processes together


def read(patterns: "List[str]") -> torch.Tensor:
    """Each line of the files is x and y."""
    rows = []
    for path in sorted(path for pattern in patterns for path in glob.glob(pattern)):
        with open(path, encoding="utf-8") as lines:
            rows += [[float(word) for word in line.split()] for line in lines]
    return torch.tensor(rows)


def main(patterns: "List[str]") -> None:
    points = read(patterns)
    x, y = points[:, :1], points[:, 1:]
    sampler = edl.sampler(len(points), seed=7)  # which records a step takes, whoever is there
    steps_of_epoch = sampler.steps(BATCH)

    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    elastic = edl.torch.Elastic(model, optimizer, resume=edl.load_checkpoint)
    for step in elastic.steps(sampler, BATCH, last=EPOCHS * steps_of_epoch):
        with step:
            optimizer.zero_grad()
            i = step.indices
            loss = F.mse_loss(elastic.model(x[i]), y[i], reduction="sum") / step.batch
            loss.backward()
            optimizer.step()
        if step.done and elastic.done % steps_of_epoch == 0:  # one process writes, the others go on
            edl.save_checkpoint(elastic.state_dict(), edl.TrainStatus(step.epoch))

    if elastic.stopped:  # this process was taken away: the others go on
        return
    with torch.no_grad():
        print(f"step {elastic.done}, cost {float(F.mse_loss(model(x), y)):.6f}", flush=True)
    if elastic.world.rank == 0:
        torch.save(model.state_dict(), os.path.join(os.environ.get("EDL_OUTPUT_DIR", "."), "model.pt"))


if __name__ == "__main__":
    main(sys.argv[1:])
