# SPDX-License-Identifier: Apache-2.0
"""The rendezvous of torchrun as the scheduler has it: `torchrun --rdzv-backend=edl`, and `python3 -m edl.torchrun` for
PyTorch before 2.5, which finds no handler by an entry point.

Who is together, and at which place, is a generation of edl-socket(7). torchrun starts all of its workers again for each.
"""
from __future__ import annotations

import datetime
import os
import socket
import time
from typing import Any, Callable, Optional

from torch.distributed.elastic.agent.server import api as agent_api
from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.elastic.rendezvous import (
    RendezvousClosedError, RendezvousConnectionError, RendezvousHandler, RendezvousParameters)

import edl
from .._checkpoint import TORCHRUN_GENERATION
from .._files import LOG

from . import _store
from ._sockets import Came
from ._watch import Watch

BACKEND = "edl"
STORE_TIMEOUT = datetime.timedelta(minutes=10)
TRIES = 5  # of generations in a row
GROW_AFTER_S = 10.0  # a restart for somebody who has come is not the one after another restart
KNOWN_S = 0.5  # until the scheduler knows of a process that has ended, mostly
ENDS_S = 5.0  # members that finish together end in so much time


class Rendezvous(RendezvousHandler):  # type: ignore[misc]
    """Of one torchrun."""

    def __init__(self, run_id: str) -> None:
        self._me = edl.me()
        self._run_id = run_id or f"{self._me.job}-{self._me.job_id}"
        self._world: Optional[edl.World] = None
        self._connections: Optional[Came] = None
        self._watch: Optional[Watch] = None
        self._since = 0.0  # when the generation began
        self._lost_since = 0.0
        self._failed = False  # a worker has, in this generation

    # ---- asked by torchrun ----

    def get_backend(self) -> str:
        return BACKEND

    def get_run_id(self) -> str:
        return self._run_id

    def is_closed(self) -> bool:
        return False

    def set_closed(self) -> None:
        """The end of a job is its scheduler's."""

    def shutdown(self) -> bool:
        self._end()
        return True

    def num_nodes_waiting(self) -> int:
        """Not a number of nodes: torchrun starts its workers again where it is more than 0, so it says that they should be. At once
        when a member is gone; for one that only came, when the last restart is some time past."""
        if self._watch is None or not self._watch.over:
            return 0
        return int(self._watch.lost or self._failed or time.monotonic() - self._since >= GROW_AFTER_S)

    def next_rendezvous(self) -> Any:
        """Store, rank and size of the next generation."""
        for attempt in range(TRIES):
            self._end()
            world = edl.join(self._world.generation if self._world is not None else 0)
            if world is None:
                raise RendezvousClosedError("this process is being stopped")
            self._world = world
            os.environ[TORCHRUN_GENERATION] = str(world.generation)  # for the checkpoints of the workers
            try:
                store = self._meet(world)
                return _as_told(store, world, self._me)
            except RuntimeError as error:
                LOG.warning("generation %d has failed before its workers began: %s", world.generation, error)
        self._end()
        raise RendezvousConnectionError(f"{TRIES} generations in a row have failed before their workers began")

    # ---- a generation ----

    def _meet(self, world: edl.World) -> Any:
        _store.serve(world, STORE_TIMEOUT)
        self._failed, self._since, self._lost_since = False, time.monotonic(), 0.0
        connections = self._connections = Came(_store.server_port)
        self._watch = Watch(world, self._cut)
        store = _store.connect(world, STORE_TIMEOUT, lambda: connections.is_cut)
        connections.all_here()
        return store

    def _cut(self) -> None:
        """While the agents of a generation tell each other of their workers at once, as they wait for each other. Then they use their store
        no more before they end."""
        if self._watch is None or self._connections is None:
            return
        now = time.monotonic()
        self._lost_since = self._lost_since or now
        if not self._watch.formed or now - self._lost_since >= ENDS_S:
            self._connections.cut()

    def _end(self) -> None:
        if self._watch is not None:
            self._watch.end()
        if self._connections is not None:
            self._connections.end()
        self._watch = self._connections = None

    @property
    def is_over(self) -> bool:
        return self._watch is not None and self._watch.over

    def is_over_soon(self) -> bool:
        """The end of a connection is seen before the scheduler knows of the process that had it."""
        return self._world is not None and bool(self._world.over(timeout=KNOWN_S))

    def workers_began(self) -> None:
        if self._watch is not None:
            self._watch.formed = True

    def worker_failed(self) -> None:
        self._failed = True


def _as_told(store: Any, world: edl.World, me: edl.Self) -> Any:
    """A tuple, and with PyTorch 2.5 or later an object with the place where the workers meet."""
    from torch.distributed.elastic import rendezvous

    if not hasattr(rendezvous, "RendezvousInfo"):
        return store, world.rank, world.size
    if world.rank == 0:
        _tell_workers_store(store, me)
    address, port = (store.get(name).decode() for name in ("MASTER_ADDR", "MASTER_PORT"))
    return rendezvous.RendezvousInfo(store, world.rank, world.size, rendezvous.RendezvousStoreInfo(address, int(port)))


def _tell_workers_store(store: Any, me: edl.Self) -> None:
    """Where the workers meet: an address that others reach, and no name that nobody resolves."""
    if len(me.ports) > 1:
        port = me.ports[1]
    else:
        with socket.create_server((me.address, 0)) as free:
            port = free.getsockname()[1]
    store.set("MASTER_ADDR", me.address.encode())
    store.set("MASTER_PORT", str(port).encode())


# ---- what torchrun does otherwise where this handler is in use ----


def _handler_of(group: Any) -> Optional[Rendezvous]:
    handler = group.spec.rdzv_handler
    return handler if isinstance(handler, Rendezvous) else None


def _meets_again(plain: Callable[..., None]) -> Callable[..., None]:
    """A generation whose agents could not tell each other of their workers is followed by another one."""

    def rendezvous(self: Any, group: Any) -> None:
        handler = _handler_of(group)
        for attempt in range(TRIES):
            try:
                plain(self, group)
                break
            except RuntimeError as error:
                if handler is None or attempt == TRIES - 1 or not handler.is_over_soon():
                    raise
                LOG.warning("agents of a generation have lost a peer: %s", error)
        if handler is not None:
            handler.workers_began()

    return rendezvous


def _fails_with_others(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Workers that fail as another one is gone have not failed themselves: they are started again, and no restart is spent."""

    def monitor(self: Any, group: Any) -> Any:
        result = plain(self, group)
        handler = _handler_of(group)
        states = agent_api.WorkerState
        if handler is None or result.state not in (states.FAILED, states.UNHEALTHY) or not handler.is_over:
            return result
        handler.worker_failed()
        return agent_api.RunResult(state=states.HEALTHY)

    return monitor


def _workers_meet(plain: Callable[..., None]) -> Callable[..., None]:
    """By PyTorch before 2.5 at the name of this machine, which others need not resolve, and at any port."""

    def set_master(store: Any, master_addr: Optional[str] = None, master_port: Optional[int] = None, *more: Any, **named: Any) -> None:
        if master_addr is None and master_port is None:
            _tell_workers_store(store, edl.me())
        else:
            plain(store, master_addr, master_port, *more, **named)

    return set_master


def _change_agent() -> None:
    """Once a process."""
    agent = agent_api.SimpleElasticAgent
    if getattr(agent, "_edl_in_use", False):
        return
    agent._edl_in_use = True
    agent._rendezvous = _meets_again(agent._rendezvous)
    if hasattr(agent, "_set_master_addr_port"):
        agent._set_master_addr_port = staticmethod(_workers_meet(agent._set_master_addr_port))
    LocalElasticAgent._monitor_workers = _fails_with_others(LocalElasticAgent._monitor_workers)


def create(params: RendezvousParameters) -> Rendezvous:
    """The handler of --rdzv-backend=edl."""
    _change_agent()
    return Rendezvous(params.run_id)


def handlers() -> Callable[[RendezvousParameters], Rendezvous]:
    """What the entry point torchrun.handlers names: PyTorch registers its result."""
    return create
