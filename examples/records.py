#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A whole program over records of a data set: it fits a line to points, each a line of text with x and y.

    python3 records.py data/train-*                                                       # alone
    edl submit --min 2 --max 6 --dataset "$PWD/data/train-*" -- python3 $PWD/records.py

It is the same program in both places. In a job the records are dealt out: each is counted once in each epoch, whatever
number of processes there is, and whichever of them come, go or are killed. Each process fits a line of its own to what
it gets; that of rank 0 is saved. (steps.py has processes that learn one line together.)
"""
import json
import os
import signal
import sys
from typing import List

import edl

EPOCHS = 5
RATE = 0.01


def main(paths: "List[str]") -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # the task under way goes back at once
    line = {"a": 0.0, "b": 0.0}  # y = a x + b
    checkpoint = edl.load_checkpoint()
    if checkpoint is not None:
        line = checkpoint.tree
    edl.check_checkpoint(line)  # whether it can be saved: now, not behind the first epoch
    for epoch in edl.epochs(EPOCHS):
        n = 0
        for record in edl.cloud_reader(paths or None):  # None: the dataset of the job
            x, y = map(float, record.split())
            error = line["a"] * x + line["b"] - y
            line["a"] -= RATE * 2 * error * x
            line["b"] -= RATE * 2 * error
            n += 1
        print(f"epoch {epoch}: {n} records here, y = {line['a']:.2f} x + {line['b']:.2f}", flush=True)
        edl.save_checkpoint(line, edl.TrainStatus(epoch))
    if edl.elected():  # one of all processes comes here
        path = os.path.join(os.environ.get("EDL_OUTPUT_DIR", "."), "line.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(line, file)
        edl.model_saved(path)


if __name__ == "__main__":
    main(sys.argv[1:])
