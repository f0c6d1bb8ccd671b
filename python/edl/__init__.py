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

import importlib
import threading
from typing import Any, Iterable, Iterator, Mapping, Optional

from ._alive import KeepAlive
from ._call import AllTasksFailed, BadAnswer, Error, NoMoreTasks, NotFound, NotInJob, PassAfter, PassBefore, PassError
from ._call import Refused, Stale, Timeout, Unreachable
from ._checkpoint import Checkpoints, Where
from ._client import Client, Task, Value, World
from ._model import Chunk, Hosts, Peer, Self, Service
from ._feed import Decode
from ._file_facts import Changed
from ._files import NoData, Paths
from ._records import CloudReader, Data, in_job
from ._sampler import Sampler
from ._steps import Steps, Waiting
from ._trial import Trial, told_of
from ._whole import Checkpoint, TrainStatus
from ._writer import CheckpointError, OldWriter

__all__ = [
    "AllTasksFailed",
    "BadAnswer",
    "Changed",
    "Checkpoint",
    "CheckpointError",
    "Chunk",
    "Client",
    "CloudReader",
    "Error",
    "Hosts",
    "KeepAlive",
    "NoData",
    "NoMoreTasks",
    "NotFound",
    "NotInJob",
    "OldWriter",
    "PassAfter",
    "PassBefore",
    "PassError",
    "Peer",
    "Refused",
    "Sampler",
    "Self",
    "Service",
    "Stale",
    "Task",
    "Timeout",
    "TrainStatus",
    "Trial",
    "Unreachable",
    "World",
    "alive",
    "check_checkpoint",
    "checkpoint_done",
    "client",
    "cloud_reader",
    "dataset_exists",
    "elected",
    "epochs",
    "hosts",
    "join",
    "keep_alive",
    "load_checkpoint",
    "me",
    "metrics",
    "model_saved",
    "next_task",
    "progress",
    "put_dataset",
    "records",
    "sampler",
    "save_checkpoint",
    "secret",
    "service",
    "service_after",
    "step",
    "tasks",
    "trial",
    "waiting",
    "worlds",
]

_lock = threading.Lock()
_client: Optional[Client] = None
_data = Data(lambda: client())
_checkpoints = Checkpoints(lambda: client())
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
    """Whether this process, and no other, is to save the model, when all passes are done; alone it is always this one.
    A job of which a process has asked succeeds only with model_saved() behind that; one that does not ask needs no model."""
    return client().ask_to_save() if in_job() else True


def dataset_exists() -> bool:
    """Client.dataset_exists"""
    return client().dataset_exists()


def put_dataset(digest: str, tasks: Iterable[Iterable[Chunk]], passes: Optional[int] = None) -> bool:
    """Client.put_dataset"""
    return client().put_dataset(digest, tasks, passes)


def next_task(timeout: Optional[float] = None) -> Optional[Task]:
    """Client.next_task"""
    return client().next_task(timeout)


def tasks() -> Iterator[Task]:
    """Client.tasks"""
    return client().tasks()


def records(
    paths: Optional[Paths] = None,
    kind: Optional[str] = None,
    passes: Optional[int] = None,
    decode: Optional[Decode] = None,
) -> Iterator[Any]:
    """The records of all passes over a data set: in a job those that are dealt out to this process, alone all of them.
    passes: how many this program makes, None: one, or as many as its job says. A job that was submitted with passes makes
    those. The rest is as with cloud_reader."""
    return _data.all_passes(paths, kind, passes, decode)


def cloud_reader(
    paths: Optional[Paths] = None,
    kind: Optional[str] = None,
    decode: Optional[Decode] = None,
    local: bool = False,
) -> CloudReader:
    """The records of one pass, each time that it is iterated over: in a job those that are dealt out to this process
    until the pass is over for all; alone all of them, in the same order.

    paths: patterns of files, one or several; None is the dataset of the job. The first process of a job
    that comes here finds the files and cuts them into tasks, so the others need not. kind: "recordio", "lines" (of a
    text, without their end) or "files" (each path is a record); None tells recordio from lines by the file. decode:
    what becomes of each record, which is bytes, or a path. local: the files themselves in a job too, all of them, for
    validation say: a job has one data set that is dealt out.

    A record is done when the next one is asked for. A task is counted when its last record is; a loop that is
    left before gives it back, and fails it if an exception in its body leaves it. Records of damaged chunks are lost and told of. NoData; Changed alone (in a job the task is
    tried elsewhere)."""
    return CloudReader(lambda turn: _data.one_pass(paths, kind, decode, local, turn))


def epochs(n: int) -> Iterator[int]:
    """The epochs up to n that are still to do: from the one behind that of the checkpoint that was loaded last on, and
    in a job from where its data are. To be used with one cloud_reader in each. A job goes through its data so often, unless
    it was submitted with passes (edl submit --passes): then it makes those, and the epochs end with them."""
    return _data.epochs(n, _checkpoints.status, _checkpoints.base)


def save_checkpoint(
    what: Any, status: TrainStatus, path: Optional[Where] = None, keep: int = 3
) -> Optional[str]:
    """Saves a new version of the checkpoint, and returns its name; None: another process does.

    what: the path of a folder (its files, not those below `path`, nor folders that have none), or a tree: dicts, lists,
    tuples and sets of numbers, texts, bytes, arrays of numpy and tensors of PyTorch, as `state_dict()` gives them. path: a
    folder or a URL that all machines of the job see; None is EDL_CHECKPOINT_DIR, else a folder `checkpoint` below that
    of the job's output, alone below the current one. The last `keep` versions that are whole stay. In a job the process of
    rank 0 writes (of index 0, where no world was joined). TypeError: what cannot be saved, and its place in the tree.
    OldWriter: a newer process of this job has written meanwhile. CheckpointError: nothing was written, and the versions
    before are as they were; another program that writes there is named."""
    return _checkpoints.save(what, status, path, keep)


def check_checkpoint(what: Any, path: Optional[Where] = None) -> None:
    """Raises what save_checkpoint would raise, and keeps nothing: call it before the first epoch, and not to learn of a
    mistake behind it. The path is this process's to write to from then on."""
    _checkpoints.check(what, path)


def load_checkpoint(path: Optional[Where] = None, device: Optional[str] = None) -> Optional[Checkpoint]:
    """The newest version that is whole, by the digests of all of its files; None where there is none yet. One that is
    not whole is passed over and told of. `epochs` goes on behind it. device: of all tensors ("cpu"); None: where they were
    saved, or the CPU where this process has no such GPU. CheckpointError: there are some, none whole; or the store does
    not say whether there are any. Error: numpy or PyTorch is missing for what was saved."""
    return _checkpoints.load(path, device)


def model_saved(path: str) -> None:
    """Client.model_saved; outside of a job it does nothing."""
    if in_job():
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


def progress(figures: Optional[Mapping[str, Value]] = None, **more: Value) -> None:
    """Client.progress"""
    client().progress(figures, **more)


def trial(**defaults: Value) -> Trial:
    """The trial of `edl search` that this process is: its values by their parameters' names, trial["lr"] or trial.lr. Outside
    of a search it has those of `defaults`, so that the program runs by hand as well."""
    return Trial(told_of() or {}, defaults)


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


def alive(within: float) -> None:
    """Client.alive; outside of a job it does nothing."""
    if in_job():
        client().alive(within)


def keep_alive(within: float = 10.0) -> KeepAlive:
    """Client.keep_alive; outside of a job nobody is told."""
    return client().keep_alive(within) if in_job() else KeepAlive(lambda _: None, within)


def checkpoint_done() -> bool:
    """Client.checkpoint_done"""
    return client().checkpoint_done()


def __getattr__(name: str) -> Any:
    """`edl.teach` and `edl.distill` need numpy: they are there once they are asked for."""
    if name in ("teach", "distill"):
        return importlib.import_module("edl." + name)
    raise AttributeError(f"module 'edl' has no attribute {name!r}")
