# SPDX-License-Identifier: Apache-2.0
"""The gradients of all processes, added up: in one call for all parameters of a kind, or by DistributedDataParallel."""
from __future__ import annotations

from typing import Dict, List, Tuple

import torch
import torch.distributed as dist

import edl

Kind = Tuple[torch.dtype, torch.device]


def _parameters(optimizer: torch.optim.Optimizer) -> Dict[Kind, List[torch.Tensor]]:
    """Those that are trained, by type and device."""
    found: Dict[Kind, List[torch.Tensor]] = {}
    for group in optimizer.param_groups:
        for one in group["params"]:
            if one.requires_grad:
                found.setdefault((one.dtype, one.device), []).append(one)
    return found


def _fill(flat: torch.Tensor, parameters: List[torch.Tensor], said: bool) -> None:
    """The gradients one behind the other, behind them for each whether there is one, at the end what is voted on."""
    at, has = 0, flat.numel() - len(parameters) - 1
    for i, one in enumerate(parameters):
        part = flat[at:at + one.numel()]
        at += one.numel()
        if one.grad is None:
            part.zero_()
        elif one.grad.layout != torch.strided:
            raise TypeError(f"the gradient of a parameter of shape {tuple(one.shape)} is sparse, and sums of these are not made: "
                            "make its layer with sparse=False")
        else:
            part.copy_(one.grad.reshape(-1))
        flat[has + i] = 0.0 if one.grad is None else 1.0
    flat[-1] = 1.0 if said else 0.0


def _take(flat: torch.Tensor, parameters: List[torch.Tensor]) -> bool:
    """One that no process has a gradient for keeps none: some optimizers change it by a zero as well."""
    at = 0
    *has, somebody_says = (flat[flat.numel() - len(parameters) - 1:] > 0).tolist()
    for one, somebody in zip(parameters, has):
        part = flat[at:at + one.numel()].view_as(one)
        at += one.numel()
        if not somebody:
            one.grad = None
        elif one.grad is None:
            one.grad = part.clone()
        else:
            one.grad.copy_(part)
    return bool(somebody_says)


class Sum:
    """Of the gradients of one optimizer's parameters. Its buffers are used again."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = optimizer
        self._flats: Dict[Kind, torch.Tensor] = {}

    def _flat(self, kind: Kind, size: int) -> torch.Tensor:
        flat = self._flats.get(kind)
        if flat is None or flat.numel() != size:
            flat = self._flats[kind] = torch.zeros(size, dtype=kind[0], device=kind[1])
        return flat

    def reduce(self, said: bool) -> bool:
        """Each gradient is the sum of those of all processes then. Whether one of them says so. RuntimeError: a peer is gone."""
        somebody_says = False
        for kind, parameters in _parameters(self._optimizer).items():
            flat = self._flat(kind, sum(one.numel() for one in parameters) + len(parameters) + 1)
            _fill(flat, parameters, said)
            with edl.waiting():
                dist.all_reduce(flat)
            somebody_says = _take(flat, parameters) or somebody_says
        return somebody_says


def any_says(said: bool) -> bool:
    """Whether a process of the group says so: the same answer for all. RuntimeError: a peer is gone."""
    votes = torch.tensor([1.0 if said else 0.0])
    with edl.waiting():
        dist.all_reduce(votes)
    return bool(votes[0] > 0)


def sum_hook(state, bucket):  # type: ignore[no-untyped-def]  # PyTorch compares annotations with its own classes
    """For DistributedDataParallel, which else divides by the number of processes: losses are parts of a sum already."""
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    return work.get_future().then(lambda done: done.value()[0])
