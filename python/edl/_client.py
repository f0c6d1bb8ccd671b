# SPDX-License-Identifier: Apache-2.0
"""The calls of a process of a job."""
from __future__ import annotations

import atexit
import math
import os
import re
import threading
import weakref
from types import TracebackType
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, Union
from urllib.parse import quote

from ._alive import KeepAlive
from ._call import PATIENCE_S, Caller, NoNews, NotFound, Refused, Stale, Timeout, Unreachable
from ._model import Chunk, Hosts, Peer, Self, Service, flag, items, number, text
from ._steps import Steps, Waiting
from ._trial import Metric, Trial, told_of

_RENDEZVOUS = "/jobs/self/rendezvous"
_PROGRESS_TIMEOUT_S = 1.0
_REASON_MAX = 400


def _told(reason: str) -> str:
    """What can be said of it: a name that is no UTF-8 has surrogates, which JSON over HTTP cannot have."""
    clean = reason.encode("utf-8", "replace").decode("utf-8").replace("\0", "?")
    return clean[:_REASON_MAX]

Value = Union[int, float, str, bool]


class Task:
    """A piece of the job's data, held by this process until it is done or given back.

    As a context manager it is done at the end; failed when an exception ends it, returned when that is no
    `Exception` (SystemExit of a signal handler, say). One that is forgotten without a word is given again.
    """

    def __init__(self, client: "Client", json: Any) -> None:
        self._client = client
        self._over = False
        self._lost_records = self._lost_chunks = 0
        self.id = number(json["id"])
        self.pass_number = number(json["pass"])  #: from 0
        self.lease = number(json["lease"])  #: rises each time that the task is given out
        self.chunks = tuple(Chunk.read(chunk) for chunk in items(json["chunks"]))

    def _end(self, call: str, **more: Any) -> bool:
        body = {"task": self.id, "pass": self.pass_number, "lease": self.lease, **more}
        try:
            self._client.caller.ask("POST", f"/jobs/self/tasks/{call}", body)
        except Stale:
            return False
        finally:
            self._over = True
        return True

    def lost(self, records: int, chunks: int = 1) -> None:
        """So many of its records, in so many of its chunks, are damaged and were not trained: told with `done`, and
        added to what was said before. They count beside the records that are done. ValueError: it has not as many."""
        all_records = sum(chunk.records for chunk in self.chunks)
        if not (0 <= records <= all_records - self._lost_records and 0 <= chunks <= len(self.chunks) - self._lost_chunks
                and (records == 0) == (chunks == 0)):
            raise ValueError(f"{records} records in {chunks} chunks cannot be lost of a task of {all_records} records in "
                             f"{len(self.chunks)} chunks, of which {self._lost_records} in {self._lost_chunks} are")
        self._lost_records += records
        self._lost_chunks += chunks

    def _what_is_lost(self) -> Dict[str, int]:
        return {"lost": self._lost_records, "lost_chunks": self._lost_chunks} if self._lost_records else {}

    def done(self) -> bool:
        """Counted: exactly once, however often it is said. False: it is somebody else's by now, so forget what
        was made of it and go on."""
        return self._end("finish", **self._what_is_lost())

    def failed(self, reason: str) -> bool:
        """Its data cannot be used: it is tried elsewhere, and after some times left out."""
        return self._end("fail", returned=False, reason=_told(reason))

    def give_back(self, reason: str = "") -> bool:
        """Untouched, by no fault of the data."""
        return self._end("fail", returned=True, reason=_told(reason))

    def __enter__(self) -> "Task":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if self._over:
            return
        if error is None:
            self.done()
        elif isinstance(error, Exception):
            self.failed(f"{type(error).__name__}: {error}")
        else:
            self.give_back(type(error).__name__)


class World:
    """Processes that are together: all members have been given the same."""

    def __init__(self, client: "Client", json: Any) -> None:
        self._client = client
        self.generation = number(json["generation"])
        self.rank = number(json["rank"])  #: this process's, from 0
        self.size = number(json["world_size"])
        self.master_address = text(json["master"]["address"])  #: of rank 0
        self.master_port = number(json["master"]["port"], 65535)  #: 0: its role has no ports
        #: by rank; empty where there are so many that the answer leaves them out
        self.members: Tuple[Peer, ...] = Peer.read_list(json["members"]) if "members" in json else ()
        if self.generation == 0 or self.rank >= self.size:
            raise ValueError("no such rank")
        if self.members and [peer.rank for peer in self.members] != list(range(self.size)):
            raise ValueError("members are not those of all ranks")

    def over(self, timeout: Optional[float] = 0.0) -> bool:
        """Whether somebody came or went, so that the next one is to be joined; waits for it when told to."""
        return self._client.world_over(self.generation, timeout)


_clients: "weakref.WeakSet[Client]" = weakref.WeakSet()


def _forked() -> None:
    """In a child: a thread of its parent may have asked for a task at the fork, and will never be done here."""
    for client in list(_clients):
        client._asking = threading.Lock()


os.register_at_fork(after_in_child=_forked)


class Client:
    """A process's way to its agent. Times are in seconds, None is for ever. Time in which the process was stopped belongs
    to none of them, but for 3 seconds at most.

    While agent or scheduler are being restarted calls take longer, for as long as `patience`. Calls may be
    made by several threads; take the tasks of a process through one client of one process (not through one
    for each child of a fork): each question for a task names those that are held.
    """

    def __init__(self, socket_path: Optional[str] = None, patience: float = PATIENCE_S) -> None:
        self.caller = Caller(socket_path, patience)
        #: whether the end of `tasks` told this process, and no other, to save the model
        self.elected = False
        self._over = False  # all passes are
        self._asked_to_save = False  # and is the one
        #: how many the job makes over its data, once those are known; None: they are not, or its scheduler is an older one
        self.passes: Optional[int] = None
        #: the one that was joined last; None: none was
        self.world: Optional[World] = None
        self._asking = threading.Lock()
        _clients.add(self)
        self._held: "weakref.WeakSet[Task]" = weakref.WeakSet()
        self.steps = Steps(self.caller.path)
        atexit.register(self.steps.end)
        trial = told_of()
        self._metric = Metric(trial, lambda figures: self.metrics(**figures)) if trial is not None else None

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        """What is held is given back, and what was done in steps is told."""
        self.steps.end()
        if self._metric is not None:
            self._metric.end()
        for task in [task for task in self._held if not task._over]:
            task.give_back("the client was closed")

    @property
    def me(self) -> Self:
        """What this process is; NotInJob."""
        return Self.read()

    def secret(self) -> bytes:
        """32 bytes that the processes of the job know, and nobody else: the same for the life of the job. Programs
        that connect to each other prove it (`hmac`). It never belongs into an environment, a file or a log."""

        def read(json: Dict[str, Any]) -> bytes:
            digits = text(json["secret"])
            if not re.fullmatch("[0-9a-f]{64}", digits):
                raise ValueError("no secret")
            return bytes.fromhex(digits)

        return self.caller.ask_for("GET", "/jobs/self/secret", read)

    # ---- tasks ----

    def dataset_exists(self) -> bool:
        """Whether some process of the job has put the data set."""
        try:
            self.caller.ask_for("GET", "/jobs/self/dataset", self._read_passes)
        except NotFound:
            return False
        return True

    def put_dataset(self, digest: str, tasks: Iterable[Iterable[Chunk]], passes: Optional[int] = None) -> bool:
        """The list of the job's tasks, each some chunks. Each process may put it and the first one counts:
        False when another one, by its digest, was put before, which is in force. passes: how often this program goes
        through its data; it counts, with the data set, where the job was submitted without any. `passes` of the client
        is how often the job does."""
        body: Dict[str, Any] = {} if passes is None else {"passes": passes}
        body["digest"] = digest
        body["tasks"] = [
            {"chunks": [chunk.told() for chunk in chunks]}
            for chunks in tasks
        ]
        try:
            self.caller.ask_for("PUT", "/jobs/self/dataset", self._read_passes, body)
        except Stale:
            return False
        return True

    def _read_passes(self, json: Dict[str, Any]) -> None:
        self.passes = number(json["passes"]) if "passes" in json else None

    def _read_tasks(self, json: Dict[str, Any]) -> List[Task]:
        found = items(json["tasks"]) if "tasks" in json else [json["task"]] if "task" in json else []
        tasks = [Task(self, one) for one in found]
        if tasks:
            self._held.update(tasks)
            return tasks
        if json.get("wait") is True:
            raise NoNews
        if json.get("finished") is not True:
            raise ValueError("neither a task nor the end of them")
        self._over = True
        self.elected = json.get("save_model") is True
        return []

    def _next(self, timeout: Optional[float], **wish: int) -> List[Task]:
        def body() -> Dict[str, Any]:
            return {**wish, "known": sorted(task.id for task in self._held if not task._over)}

        # one at a time: to a question that does not name what the answer before it brought, that is given again
        return self.caller.wait("POST", "/jobs/self/tasks/lease", body, timeout, self._read_tasks, self._asking)

    def next_task(self, timeout: Optional[float] = None) -> Optional[Task]:
        """The next task, None when all passes are done; waits while all are with others. Timeout."""
        found = self._next(timeout)
        return found[0] if found else None

    def next_tasks(
        self, n: int, timeout: Optional[float] = None, pass_number: Optional[int] = None
    ) -> List[Task]:
        """At most n (1 to 256) tasks in one call, none when all passes are done. Timeout.

        pass_number: of this pass only, from 0. PassBefore: it is over; AllTasksFailed: none of it could be done;
        at the end of `timeout` PassAfter: it has not begun, and NoMoreTasks: others hold the rest of it."""
        wish = {"n": n} if pass_number is None else {"n": n, "pass": pass_number}
        return self._next(timeout, **wish)

    def finish(self, tasks: Sequence[Task]) -> List[bool]:
        """Task.done of several tasks (1 to 256) in one call: whether each is counted."""

        def read(json: Dict[str, Any]) -> List[bool]:
            counted = [flag(one["counted"]) for one in items(json["results"])]
            if len(counted) != len(tasks):
                raise ValueError("not of all tasks")
            return counted

        said = [{"task": task.id, "pass": task.pass_number, "lease": task.lease, **task._what_is_lost()} for task in tasks]
        counted = self.caller.ask_for("POST", "/jobs/self/tasks/finish", read, {"tasks": said})
        for task in tasks:
            task._over = True
        return counted

    def tasks(self) -> Iterator[Task]:
        """Tasks until all passes are done."""
        while True:
            task = self.next_task()
            if task is None:
                return
            yield task
            del task  # so that one of which nobody said anything is given again

    def ask_to_save(self) -> bool:
        """Whether this process is the one that saves the model. Behind the last pass the job owes a model from this
        question on: without model_saved() of the process that is told True it fails."""
        if not self._over or self._asked_to_save:
            return self.elected

        def read(json: Dict[str, Any]) -> bool:
            return flag(json["save_model"])

        try:
            self.elected = self.caller.ask_for("POST", "/jobs/self/save-model", read, {"saved": False})
        except Stale:
            raise
        except Refused:  # by an older scheduler: as the end of the data said
            return self.elected
        self._asked_to_save = self.elected
        return self.elected

    def model_saved(self, path: str) -> None:
        """Said by the process that was elected; path: where, for people."""
        self.caller.ask("POST", "/jobs/self/save-model", {"saved": True, "path": path})

    # ---- together ----

    def _read_world(self, json: Dict[str, Any]) -> Optional[World]:
        if json.get("leaving") is True:
            return None
        if json.get("wait") is True:
            raise NoNews
        self.world = World(self, json)
        return self.world

    def join(self, after: int = 0, timeout: Optional[float] = None, note: str = "") -> Optional[World]:
        """The next generation with this process in it; after: the one that it is done with. None: it is being
        stopped, there will be none. Timeout: others are not there yet; ask again with the same `after`.

        note: at most 1024 bytes for the others, who find it in `World.members`: an address, a handle, the name of
        some shared memory."""
        body = {"after": after, "note": note} if note else {"after": after}
        return self.caller.wait("POST", _RENDEZVOUS, lambda: body, timeout, self._read_world)

    def worlds(self, note: str = "") -> Iterator[World]:
        """One after the other, until this process is being stopped. Each is to be used until it is over.
        note: as with `join`, for each of them."""
        after = 0
        while True:
            world = self.join(after, note=note)
            if world is None:
                return
            yield world
            after = world.generation

    def world_over(self, generation: int, timeout: Optional[float] = 0.0) -> bool:
        """World.over by number."""

        def read(json: Dict[str, Any]) -> bool:
            if not flag(json["over"]):
                raise NoNews
            return True

        try:
            return self.caller.wait("POST", _RENDEZVOUS, lambda: {"generation": generation}, timeout, read)
        except Timeout:
            return False

    # ---- others ----

    def hosts(self, role: str = "trainer") -> Hosts:
        """The processes of a role of this job."""
        target = f"/jobs/self/hosts?role={quote(role, safe='')}"
        return self.caller.ask_for("GET", target, Hosts.read)

    def service(self, name: str) -> Service:
        """Who serves under a name, in any job: JOB or JOB.ROLE. NotFound."""
        return self.caller.ask_for("GET", f"/services/{quote(name, safe='')}", Service.read)

    def service_secret(self, name: str) -> bytes:
        """32 bytes that prove to the processes of a service that its user's own processes ask. Refused: it is another user's."""

        def read(json: Dict[str, Any]) -> bytes:
            digits = text(json["secret"])
            if len(digits) != 64:
                raise ValueError("no secret")
            return bytes.fromhex(digits)

        return self.caller.ask_for("GET", f"/services/{quote(name, safe='')}/secret", read)

    def service_after(self, known: Service, timeout: Optional[float] = None) -> Service:
        """The same once others serve than in `known`. Timeout."""

        def read(json: Dict[str, Any]) -> Service:
            service = Service.read(json)
            if service.version == known.version:
                raise NoNews
            return service

        target = f"/services/{quote(known.name, safe='')}?after={known.version}&"
        return self.caller.wait("GET", target, None, timeout, read)

    # ---- told ----

    def progress(self, figures: Optional[Mapping[str, Value]] = None, **more: Value) -> None:
        """How far this process is, for `edl show`: at most 16 numbers, texts and booleans. Tried once, as
        nothing depends on it: while the agent is being restarted nobody hears it. What is wrong with it is raised.
        In a trial of `edl search` they are kept with the job as well (`metrics`), for its metric is among them."""
        told = {**(figures or {}), **more}
        for name, value in told.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"progress: {name} is {value}, and figures are finite: leave it out, or tell a large number")
        try:
            self.caller.tell("/processes/self/progress", told, _PROGRESS_TIMEOUT_S)
        except Unreachable:
            pass
        if self._metric is not None:
            self._metric.tell(told)

    def trial(self, **defaults: Value) -> Trial:
        """The trial of `edl search` that this process is. defaults: of its parameters, where it is none."""
        return Trial(told_of() or {}, defaults)

    def step(
        self,
        samples: int,
        step: Optional[int] = None,
        compute: Optional[float] = None,
        wait: Optional[float] = None,
    ) -> None:
        """One step of training is done, over so many samples of this process's own: for `edl show`, and for the
        scheduler, which learns from it how fast the job is at which size and whose machine is slow. Each process of
        the role says its own part.

        step: its number; else one more than the last. compute: the seconds that this process was at work on it;
        else the time since the last step without its waits, of the first one 0. wait: how long it waited, for its
        peers say: all finish a step together, and only this tells who is slow; else what `waiting` saw. Costs a
        few microseconds and never waits: once a second what was done is told in one message. Nothing that becomes
        of it is raised; ValueError for what cannot be a number of a step."""
        self.steps.step(samples, step, compute, wait)

    def waiting(self) -> Waiting:
        """`with edl.waiting(): all_reduce()`: the block is a wait of the step that ends next."""
        return Waiting(self.steps)

    def metrics(self, **figures: Any) -> None:
        """Figures that are kept with the job; they replace those before."""
        self.caller.ask("POST", "/jobs/self/metrics", figures)

    def alive(self, within: float) -> None:
        """This process is alive, and promises to say so again within so many seconds (1 to 86400); 0 takes the promise
        back. One that breaks it is killed as a failure of its own, so that its peers need not wait for a process that
        stands still. Time in which the cluster had frozen it does not count. Tried once: Unreachable. See keep_alive."""
        self.caller.tell("/processes/self/alive", {"within_s": within}, _PROGRESS_TIMEOUT_S)

    def keep_alive(self, within: float = 10.0) -> KeepAlive:
        """Promises to be alive, as `alive`, and keeps that by a thread of its own until it is stopped:

            with client.keep_alive(5):
                train()

        The thread needs the interpreter: C code that holds its lock for `within` seconds is taken for a standstill."""
        return KeepAlive(self.alive, within)

    def checkpoint_done(self) -> bool:
        """What this process has to save is saved. True: it is being stopped and may end now."""
        return self.caller.ask_for("POST", "/processes/self/checkpoint-done", lambda json: flag(json["stopping"]))
