#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""records.py with PyTorch: a small network learns y of x, in batches of records; the checkpoint has the network
and its optimizer.

    python3 torch_records.py data/train-*                                                 # alone
    edl submit --min 1 --max 4 --dataset "$PWD/data/train-*" -- python3 $PWD/torch_records.py
"""
import itertools
import os
import signal
import sys
from typing import Iterator, List

import torch

import edl

EPOCHS = 5
BATCH = 16


def batches(paths: "List[str]") -> "Iterator[torch.Tensor]":
    """Points of this process's records, a row each."""
    records = iter(edl.cloud_reader(paths or None))
    while True:
        rows = [[float(word) for word in record.split()] for record in itertools.islice(records, BATCH)]
        if not rows:
            return
        yield torch.tensor(rows)


def main(paths: "List[str]") -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # the task under way goes back at once
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    checkpoint = edl.load_checkpoint()
    if checkpoint is not None:
        model.load_state_dict(checkpoint.tree["model"])
        optimizer.load_state_dict(checkpoint.tree["optimizer"])
    edl.check_checkpoint({"model": model.state_dict(), "optimizer": optimizer.state_dict()})  # now, not behind the first epoch
    for epoch in edl.epochs(EPOCHS):
        n, cost = 0, 0.0
        for points in batches(paths):
            loss = torch.nn.functional.mse_loss(model(points[:, :1]), points[:, 1:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            edl.step(len(points))
            n += len(points)
            cost += float(loss) * len(points)
        print(f"epoch {epoch}: {n} records here, cost {cost / max(n, 1):.4f}", flush=True)
        edl.save_checkpoint({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, edl.TrainStatus(epoch))
    if edl.elected():  # one of all processes comes here
        path = os.path.join(os.environ.get("EDL_OUTPUT_DIR", "."), "model.pt")
        torch.save(model.state_dict(), path)
        edl.model_saved(path)


if __name__ == "__main__":
    main(sys.argv[1:])
