# SPDX-License-Identifier: Apache-2.0
"""elastic_train.py FOLDER LAST PAUSE [ddp] [alive]: trains with edl.torch.Elastic, and writes down what each process commits.

"alive" promises to be alive as Elastic does by itself; else for a minute, as a machine may be busy with other tests.
A line of FOLDER/INDEX-INCARNATION.log is an event: when, what, and of a step its number, generation, rank, size, the records that this
process took, and a checksum of the parameters behind it."""
import faulthandler
import json
import os
import signal
import sys
import time
import zlib

import torch
import torch.nn.functional as F

import edl
import edl.torch

faulthandler.register(signal.SIGUSR1)  # what hangs says where
torch.set_num_threads(1)
FOLDER, LAST, PAUSE_S, DDP = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), "ddp" in sys.argv[4:]
N, BATCH, SEED = 1000, 10, 7
torch.manual_seed(os.getpid())  # the parameters of one process are those of all
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4)).double()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
rates = torch.optim.lr_scheduler.StepLR(optimizer, 500, 0.9)
elastic = edl.torch.Elastic(model, optimizer, rates, ddp=DDP, **({} if "alive" in sys.argv[4:] else {"alive": 60}))
generator = torch.Generator().manual_seed(1)
x = torch.randn(N, 8, generator=generator).double()
y = (x @ torch.randn(8, 4, generator=generator).double()).argmax(1)
sampler = edl.sampler(N, SEED)
me = edl.me()
log = open(os.path.join(FOLDER, f"{me.index}-{me.incarnation}.log"), "ab", buffering=0)


def say(**what):
    log.write(json.dumps(dict(t=time.monotonic(), pid=os.getpid(), **what)).encode() + b"\n")


def check_sum(step):
    """The gradients are those of all records of the step, as one process would have them."""
    i = sampler.indices(*divmod(step.number, sampler.steps(BATCH)), BATCH)
    loss = F.cross_entropy(model(x[i]), y[i], reduction="sum") / step.batch
    for one, right in zip(model.parameters(), torch.autograd.grad(loss, list(model.parameters()))):
        assert torch.allclose(one.grad, right, rtol=1e-9, atol=1e-12), f"step {step.number}: {one.grad} is no sum, which is {right}"


def checksum():
    return zlib.crc32(b"".join(one.detach().numpy().tobytes() for one in model.parameters()))


generation = 0
for step in elastic.steps(sampler, BATCH, LAST):
    with step:
        world = elastic.world
        if world.generation != generation:
            generation = world.generation
            say(event="world", generation=generation, rank=world.rank, size=world.size, done=elastic.done)
        optimizer.zero_grad()
        i = step.indices
        loss = F.cross_entropy(elastic.model(x[i]), y[i], reduction="sum") / step.batch
        loss.backward()
        if step.number % 10 == 0:
            if not DDP:
                step.reduce()
            check_sum(step)
        if step.number % 10 == 5:
            step.skip()  # as one whose gradients are not finite
        else:
            optimizer.step()
        rates.step()
        say(event="step", step=step.number, generation=generation, rank=world.rank, size=world.size, records=i, sum=checksum())
        if PAUSE_S:
            time.sleep(PAUSE_S)
say(event="stopped" if elastic.stopped else "end", done=elastic.done, sum=checksum())
