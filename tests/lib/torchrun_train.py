# SPDX-License-Identifier: Apache-2.0
"""torchrun_train.py FOLDER PAUSE: a program of torchrun that knows nothing of edl but its checkpoints: DistributedDataParallel by
env://. Each step is a line of FOLDER/PID: its number, world size and rank. FOLDER/enough ends it."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import edl

torch.set_num_threads(1)
FOLDER, PAUSE_S = sys.argv[1], float(sys.argv[2])
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
done = 0
found = edl.load_checkpoint(os.path.join(FOLDER, "checkpoint"))
if found is not None:
    model.module.load_state_dict(found.tree["model"])
    optimizer.load_state_dict(found.tree["optimizer"])
    done = found.tree["done"]
x = torch.randn(64, 8)
with open(os.path.join(FOLDER, str(os.getpid())), "w", buffering=1, encoding="utf-8") as steps:
    enough = torch.zeros(1)
    while not enough.item():
        optimizer.zero_grad()
        (model(x) - x[:, :1]).square().mean().backward()
        optimizer.step()
        done += 1
        print(done, size, rank, file=steps)
        if done % 20 == 0:
            edl.save_checkpoint({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "done": done},
                                edl.TrainStatus(done // 20), os.path.join(FOLDER, "checkpoint"))
        enough[0] = float(rank == 0 and os.path.exists(os.path.join(FOLDER, "enough")))
        dist.broadcast(enough, 0)
        time.sleep(PAUSE_S)
dist.destroy_process_group()
