# SPDX-License-Identifier: Apache-2.0
"""python3 -m edl.torchrun [OPTIONS] PROGRAM [ARGUMENTS]: torchrun, whose agents meet by the scheduler of their job (edl-torch(7)).

Options are torchrun's, and win over what is set here. Outside of a job it is torchrun.
"""
from __future__ import annotations

import os
import sys
from typing import Any, Dict, List, Optional

from ._model import Self
from ._records import in_job

NODES = "1:1024"  # the bounds of the role count
RESTARTS = 100  # of the workers of one agent; a peer that is gone costs none


def _options(me: Self, gpus: int) -> Dict[str, str]:
    """Those that were not given: torchrun reads them from its environment."""
    options = {"PET_RDZV_BACKEND": "edl", "PET_RDZV_ID": f"{me.job}-{me.job_id}", "PET_NNODES": NODES,
               "PET_MONITOR_INTERVAL": "0.1", "PET_MAX_RESTARTS": str(RESTARTS)}
    if gpus > 1:
        options["PET_NPROC_PER_NODE"] = str(gpus)
    return options


def _mend_std() -> None:
    """torch 1.13 with Python 3.11 reads its own default, --redirects=0, as None, and fails."""
    from torch.distributed.elastic.multiprocessing.api import Std

    try:
        if Std.from_str("0") is not None:
            return
    except (AttributeError, ValueError):
        pass

    def from_str(value: str) -> Any:
        if ":" not in value:
            return Std(int(value))
        return {int(rank): Std(int(what)) for rank, what in (one.split(":") for one in value.split(","))}

    Std.from_str = staticmethod(from_str)


def _check_workers(said: str, gpus: int) -> None:
    """A worker without a GPU of its own would fail in CUDA, or share one that another fills."""
    if gpus and said.isdigit() and int(said) > gpus:
        sys.exit(f"edl.torchrun: --nproc_per_node={said} is more than the GPUs of this process, which are {gpus}: "
                 f"type --nproc_per_node={gpus}, or submit the job with --gpus {said}")


def main(arguments: Optional[List[str]] = None) -> None:
    try:
        from torch.distributed import run
        from torch.distributed.elastic.multiprocessing.api import SignalException
    except ImportError as error:
        sys.exit(f"edl.torchrun: there is no PyTorch for {sys.executable} ({error}): apt install python3-torch, or name the "
                 "interpreter that has it: edl submit -- /path/to/venv/bin/python -m edl.torchrun train.py")
    _mend_std()
    if in_job():
        from torch.distributed.elastic.rendezvous import rendezvous_handler_registry

        from .torch import rendezvous

        gpus = len([one for one in os.environ.get("EDL_GPUS", "").split(",") if one])
        for name, value in _options(Self.read(), gpus).items():
            os.environ.setdefault(name, value)
        try:
            rendezvous_handler_registry.register(rendezvous.BACKEND, rendezvous.create)
        except ValueError:  # by the entry point
            pass
        _check_workers(str(run.parse_args(arguments).nproc_per_node), gpus)
    try:
        run.main(arguments)
    except SignalException as signaled:  # this process is being stopped: its workers are, too
        sys.exit(128 + int(signaled.sigval))


if __name__ == "__main__":
    main()
