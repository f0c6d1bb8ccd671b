# SPDX-License-Identifier: Apache-2.0
"""PyTorch in a job: `Elastic` trains in steps, and processes that are left go on as the same processes (edl-torch(7)).

    import edl.torch

    elastic = edl.torch.Elastic(model, optimizer, resume=edl.load_checkpoint)
    for step in elastic.steps(edl.sampler(len(x), seed), batch=256, last=20000):
        with step:
            optimizer.zero_grad()
            i = step.indices
            loss = F.cross_entropy(model(x[i]), y[i], reduction="sum") / step.batch
            loss.backward()
            optimizer.step()

Only `import edl.torch` needs PyTorch, `import edl` does not.
"""
try:
    import torch.distributed as _distributed
except ImportError as error:
    raise ModuleNotFoundError(
        f"edl.torch needs PyTorch, and there is none for this interpreter ({error}): apt install python3-torch, "
        "or name the interpreter that has it: edl submit -- /path/to/venv/bin/python train.py", name="torch") from error
if not _distributed.is_available():
    raise ModuleNotFoundError("edl.torch needs PyTorch with torch.distributed, and this one is built without it: "
                              "apt install python3-torch", name="torch.distributed")

from ._elastic import Elastic, Step

__all__ = ["Elastic", "Step"]
