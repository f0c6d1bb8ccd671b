# SPDX-License-Identifier: Apache-2.0
"""Where the members of a generation find each other: a TCPStore of rank 0, on its allocated port."""
from __future__ import annotations

import datetime
import socket
import time
from typing import Any, Callable

import torch.distributed as dist

import edl

TRY_EACH_S = 0.002
CONNECT_S = 1.0


class Over(RuntimeError):
    """The generation was over before there was a store."""


_server: Any = None  # of this process, made when it first is rank 0, and kept for life
server_port = 0  #: of the server of this process; 0: it has none


def serve(world: edl.World, timeout: datetime.timedelta) -> None:
    """Rank 0: one server for all generations. Its own client, which comes with it, is never cut: each generation has
    another one. Error: the role has no port; RuntimeError."""
    global _server, server_port
    if world.master_port == 0:
        raise edl.Error("this role has no port at which its processes could meet", "set ports: 1 for it in the job's document")
    if world.rank == 0 and _server is None:
        _server = dist.TCPStore("127.0.0.1", world.master_port, None, True, timeout, wait_for_workers=False)
        server_port = world.master_port


def _wait_for_server(host: str, port: int, is_over: Callable[[], bool]) -> None:
    """TCPStore looks again after a second, and nothing ends its wait."""
    while not is_over():
        try:
            socket.create_connection((host, port), CONNECT_S).close()
            return
        except OSError:
            time.sleep(TRY_EACH_S)
    raise Over("the generation was over before its store was there")


def connect(world: edl.World, timeout: datetime.timedelta, is_over: Callable[[], bool]) -> Any:
    """A store with keys of this generation alone. RuntimeError; Over."""
    _wait_for_server(world.master_address, world.master_port, is_over)
    store = dist.TCPStore(world.master_address, world.master_port, None, False, timeout, wait_for_workers=False)
    return dist.PrefixStore(f"g{world.generation}", store)
