# SPDX-License-Identifier: Apache-2.0
"""What a training program asks of its cluster, over the socket of its node's agent (edl-socket(7)).

    import edl

    for task in edl.tasks():
        with task:
            train(task.chunks)
    if edl.elected():
        edl.model_saved(save())

and for programs that train in steps, all together:

    for world in edl.worlds():
        while not world.over():
            samples = one_step(world.rank, world.size, world.master_address, world.master_port)
            edl.step(samples)

The functions are the methods of `Client`, of one that is made with the first call. A restart of the scheduler or
of the agent makes a call take longer, and that is all that is seen of it. Signals are seen at once: a handler of
SIGTERM that raises (`sys.exit`) ends any wait. Outside of a job they raise NotInJob, but for `step` and `waiting`,
which do nothing there: a loop that tells of its steps runs anywhere.
"""
from __future__ import annotations

import threading
from typing import Any, Iterable, Iterator, Optional

from ._call import BadAnswer, Error, NotFound, NotInJob, Refused, Stale, Timeout, Unreachable
from ._client import Client, Task, Value, World
from ._model import Chunk, Hosts, Peer, Self, Service
from ._sampler import Sampler
from ._steps import Steps, Waiting

__all__ = [
    "BadAnswer",
    "Chunk",
    "Client",
    "Error",
    "Hosts",
    "NotFound",
    "NotInJob",
    "Peer",
    "Refused",
    "Sampler",
    "Self",
    "Service",
    "Stale",
    "Task",
    "Timeout",
    "Unreachable",
    "World",
    "checkpoint_done",
    "client",
    "dataset_exists",
    "elected",
    "hosts",
    "join",
    "me",
    "metrics",
    "model_saved",
    "next_task",
    "progress",
    "put_dataset",
    "sampler",
    "secret",
    "service",
    "service_after",
    "step",
    "tasks",
    "waiting",
    "worlds",
]

_lock = threading.Lock()
_client: Optional[Client] = None
_steps: Optional[Steps] = None


def client() -> Client:
    """The client of the functions below; NotInJob."""
    global _client
    with _lock:
        if _client is None:
            _client = Client()
        return _client


def me() -> Self:
    """What this process is; NotInJob."""
    return Self.read()


def secret() -> bytes:
    """Client.secret"""
    return client().secret()


def elected() -> bool:
    """Whether the end of `tasks` told this process, and no other, to save the model."""
    return client().elected


def dataset_exists() -> bool:
    """Client.dataset_exists"""
    return client().dataset_exists()


def put_dataset(digest: str, tasks: Iterable[Iterable[Chunk]]) -> bool:
    """Client.put_dataset"""
    return client().put_dataset(digest, tasks)


def next_task(timeout: Optional[float] = None) -> Optional[Task]:
    """Client.next_task"""
    return client().next_task(timeout)


def tasks() -> Iterator[Task]:
    """Client.tasks"""
    return client().tasks()


def model_saved(path: str) -> None:
    """Client.model_saved"""
    client().model_saved(path)


def join(after: int = 0, timeout: Optional[float] = None, note: str = "") -> Optional[World]:
    """Client.join"""
    return client().join(after, timeout, note)


def worlds(note: str = "") -> Iterator[World]:
    """Client.worlds"""
    return client().worlds(note)


def hosts(role: str = "trainer") -> Hosts:
    """Client.hosts"""
    return client().hosts(role)


def service(name: str) -> Service:
    """Client.service"""
    return client().service(name)


def service_after(known: Service, timeout: Optional[float] = None) -> Service:
    """Client.service_after"""
    return client().service_after(known, timeout)


def progress(**figures: Value) -> None:
    """Client.progress"""
    client().progress(**figures)


def _own_steps() -> Steps:
    """Of this process; outside of a job nobody is told."""
    global _steps
    if _steps is None:
        try:
            _steps = client().steps
        except NotInJob:
            _steps = Steps(None)
    return _steps


def step(
    samples: int,
    step: Optional[int] = None,
    compute: Optional[float] = None,
    wait: Optional[float] = None,
) -> None:
    """Client.step; outside of a job it does nothing."""
    (_steps or _own_steps()).step(samples, step, compute, wait)


def waiting() -> Waiting:
    """Client.waiting; outside of a job it does nothing."""
    return Waiting(_own_steps())


def metrics(**figures: Any) -> None:
    """Client.metrics"""
    client().metrics(**figures)


def sampler(n: int, seed: int = 0) -> Sampler:
    """Which of n records a step takes, by (seed, epoch, step, batch) alone: see Sampler."""
    return Sampler(n, seed)


def checkpoint_done() -> bool:
    """Client.checkpoint_done"""
    return client().checkpoint_done()
