# SPDX-License-Identifier: Apache-2.0
"""Training in steps by as many processes as there are. One that is lost costs the others the step under way, and nothing else."""
from __future__ import annotations

import functools
import signal
import threading
import types
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, List, Optional, Type, Union

import torch

import edl
from .._files import LOG
from .._records import in_job

from . import _state
from ._gradients import Sum, any_says, sum_hook
from ._group import Group

TRIES = 5  # of generations in a row that fail although nobody was lost
KNOWN_S = 0.5  # until the scheduler knows of a process that has ended, mostly
LOST_WORDS = ("gloo", "Connection", "connection", "Socket", "socket", "Broken pipe", "Timed out")


class _Alone:
    """The world of a program that is no process of a job."""

    generation, rank, size = 1, 0, 1


class Step:
    """A step of training: this process's part of it. To be used as `with step:`, whose block calls optimizer.step()."""

    def __init__(self, owner: "Elastic", number: int, epoch: int, indices: List[int], batch: int) -> None:
        self._owner = owner
        self.number = number  #: from 0, over all epochs
        self.epoch = epoch  #: from 0
        self.indices = indices  #: of the records of this process
        self.batch = batch  #: how many records all processes together have in this step
        self.done = False  #: whether optimizer.step() was; else the step comes again
        self.entered = False

    def reduce(self) -> None:
        """Adds the gradients up before optimizer.step() does, for what needs the sum: clipping them, for one."""
        self._owner._reduce(self)

    def skip(self) -> None:
        """The step is done without optimizer.step(): in all processes alike, where a GradScaler has found that no gradient is finite."""
        self._owner._skip(self)

    def __enter__(self) -> "Step":
        self.entered = True
        self._owner._step = self
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> bool:
        self._owner._step = None
        return self._owner._end(self, error)


class Elastic:
    """The state of a training, which all processes of a role have alike, and the steps in which they change it.

    others: what has state too and changes with the steps, as a scheduler of learning rates has. ddp: gradients are added up
    by DistributedDataParallel while they are computed, with these arguments; `elastic.model` is to be called then. resume:
    called by one process when no process has a state yet; edl.load_checkpoint, say. timeout: of one collective call, seconds.
    alive: a process that stands still for so many seconds while the steps run is killed, so that the others go on; 0: never.

    Its optimizer's step() adds the gradients of all processes up, so a loss is a part of a sum: divide it by `step.batch`.
    Outside of a job all of this works with one process.
    """

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, *others: Any,
                 ddp: Union[bool, Dict[str, Any]] = False, resume: Optional[Callable[[], Optional[edl.Checkpoint]]] = None,
                 timeout: float = 1800.0, alive: float = 3.0) -> None:
        self.model = model  #: to be called
        self.world: Any = None  #: of now: rank, size and generation
        self.done = 0  #: steps that are committed
        self.stopped = False  #: whether the steps ended as this process is being stopped
        self._model = model
        self._optimizer = optimizer
        self._others = others
        self._ddp = ddp
        self._resume = resume
        self._timeout = timeout
        self._alive = alive
        self._sum = Sum(optimizer)
        self._group: Optional[Group] = None
        self._step: Optional[Step] = None
        self._reduced = False
        self._was_here = False
        self._formed = False  # there is a generation, and its members have the same state
        self._leave = False  # all leave it
        self._failure: Optional[RuntimeError] = None  # of the generation of now
        self._failures = 0  # in a row
        self._wrap_optimizer()

    # ---- state ----

    def state_dict(self) -> Dict[str, Any]:
        """All of it, for edl.save_checkpoint."""
        return {"done": self.done, "model": self._model.state_dict(), "optimizer": self._optimizer.state_dict(),
                "others": [other.state_dict() for other in self._others]}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """KeyError, ValueError, RuntimeError: it is of another model."""
        if len(state["others"]) != len(self._others):
            raise ValueError(f"the state has {len(state['others'])} objects beside model and optimizer, here are {len(self._others)}")
        self._model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        for other, its in zip(self._others, state["others"]):
            other.load_state_dict(its)
        self.done = int(state["done"])

    def _level(self) -> None:
        """Everybody has the state of whoever is furthest. RuntimeError: a peer is gone."""
        places = _state.places(self.world.size, _state.Place(self.done, self._was_here))
        source = _state.furthest(places)
        if places[source].steps == 0 and not places[source].was_here and self._resume is not None and self.world.rank == source:
            found = self._resume()
            if found is not None:
                self.load_state_dict(found.tree)
        if any(not place.was_here or place.steps != places[source].steps for place in places) and self.world.size > 1:
            state = _state.from_one(self.world.rank, source, self.state_dict)
            if state is not None:
                self.load_state_dict(state)
        self._was_here = True

    # ---- generations ----

    def _close(self) -> None:
        self._formed = False
        self.model = self._model  # before the group that its wrapper uses
        if self._group is not None:
            self._group.close()
            self._group = None

    def _join(self) -> bool:
        """False: this process is being stopped."""
        before = self.world
        after = before.generation if before is not None else 0
        if self._failure is not None:
            self._close()  # peers that wait for this process fail now
        world = edl.join(after)
        self._close()  # else this late, as no member needs a connection of it any more
        if world is None:
            return False
        self._count_failure(before, world)
        self.world = world
        return True

    def _count_failure(self, before: Any, now: edl.World) -> None:
        """A failure although nobody came or went may come again for ever, so it is raised after some times."""
        failure, self._failure = self._failure, None
        if failure is None:
            return
        same = now.members and [(one.index, one.incarnation) for one in before.members] == [
            (one.index, one.incarnation) for one in now.members]
        self._failures = self._failures + 1 if same else 0
        if self._failures >= TRIES:
            raise failure

    def _make_group(self) -> None:
        self._group = Group(self.world, self._timeout)
        self._level()
        if self._ddp is not False:
            options = {} if self._ddp is True else dict(self._ddp)
            wrapped = torch.nn.parallel.DistributedDataParallel(self._model, **options)
            wrapped.register_comm_hook(None, sum_hook)
            self.model = wrapped
        self._group.watch.formed = True

    def _form(self) -> bool:
        """Until there is a group whose members have the same state. False: this process is being stopped."""
        if not in_job():
            self.world = self.world or _Alone()
            self._level()
            self._formed = True
            return True
        while True:
            if not self._join():
                return False
            self._leave = False
            try:
                self._make_group()
                self._formed = True
                return True
            except RuntimeError as error:
                if not self._is_loss(error):
                    raise
                LOG.warning("generation %d has failed before its first step: %s", self.world.generation, _first_line(error))
                self._failure = error

    # ---- steps ----

    def _wrap_optimizer(self) -> None:
        """A bound method again: schedulers of learning rates wrap it themselves, before this or behind it."""
        plain = self._optimizer.step

        @functools.wraps(plain)
        def step(_optimizer: Any, closure: Any = None) -> Any:
            return self._commit(plain, closure)

        self._optimizer.step = types.MethodType(step, self._optimizer)  # type: ignore[method-assign]

    def _begin_commit(self) -> Step:
        step = self._step
        if step is None or step.done:
            raise RuntimeError("optimizer.step() is to be called once in each `with step:` of elastic.steps(), else the processes differ")
        if not self._reduced:
            self._reduce(step)
        return step

    def _count(self, step: Step) -> None:
        self.done += 1
        step.done = True

    def _skip(self, step: Step) -> None:
        if step is not self._step:
            raise RuntimeError("step.skip() is to be called in `with step:`")
        self._count(self._begin_commit())

    def _commit(self, plain: Callable[..., Any], closure: Any) -> Any:
        if closure is not None:
            raise TypeError("optimizer.step(closure) computes gradients that are those of this process alone: "
                            "compute them before, and call optimizer.step() without a closure")
        step = self._begin_commit()
        result = plain()
        self._count(step)
        return result

    def _reduce(self, step: Step) -> None:
        if step is not self._step or self._reduced:
            raise RuntimeError("step.reduce() is to be called in `with step:`, once and before optimizer.step()")
        if self._group is not None:
            over = self._group.watch.over
            if self._ddp is not False:
                self._leave = any_says(over)
            else:
                self._leave = self._sum.reduce(over) if self.world.size > 1 else over
        self._reduced = True

    def _is_loss(self, error: BaseException) -> bool:
        """Whether a lost peer is why; errors of the program are not."""
        if not isinstance(error, RuntimeError) or not in_job():
            return False
        if (self._group is not None and self._group.is_cut) or any(word in str(error) for word in LOST_WORDS):
            return True
        try:
            return bool(self.world.over(timeout=KNOWN_S))
        except edl.Refused:  # there is no generation for this process any more
            return True

    def _end(self, step: Step, error: Optional[BaseException]) -> bool:
        """Whether the error ends here: then the step comes again, in another generation."""
        self._reduced = False
        if error is None and not step.done:
            raise RuntimeError("the block of `with step:` has ended without optimizer.step()")
        if step.done:
            edl.step(len(step.indices), step=self.done)
        if error is None:
            self._failures = 0
            return False
        if not self._is_loss(error):
            return False
        LOG.warning("step %d of generation %d has lost a peer: %s", step.number, self.world.generation, _first_line(error))
        assert isinstance(error, RuntimeError)
        self._failure = error
        self._optimizer.zero_grad(set_to_none=True)
        return True

    def _is_last_for_all(self) -> bool:
        """A member that has the last step leaves when all have it: else those that lost it would do it without this one."""
        try:
            if self._group is not None:
                any_says(False)
            return True
        except RuntimeError as error:
            if not self._is_loss(error):
                raise
            self._failure = error
            return False

    def _next(self, sampler: edl.Sampler, batch: int) -> Step:
        epoch, place = divmod(self.done, sampler.steps(batch))
        indices = sampler.indices(epoch, place, batch, self.world.rank, self.world.size)
        return Step(self, self.done, epoch, indices, min(batch, sampler.n - place * batch))

    def steps(self, sampler: edl.Sampler, batch: int, last: int) -> Iterator[Step]:
        """The steps that are left of `last`. batch: records of a step, of all processes together. A step whose peer was lost comes
        again. They end early where this process is being stopped (`stopped`); SIGTERM, which says so, interrupts nothing."""
        _state.packed(self.state_dict())  # what cannot be told to others is told now
        restore = _ignore_sigterm()
        promise = _promise(self._alive)
        try:
            while True:
                if not self._formed or self._leave or self._failure is not None:
                    if not self._form():
                        self.stopped = True
                        return
                elif self.done < last:
                    step = self._next(sampler, batch)
                    yield step
                    if not step.entered:
                        raise RuntimeError("a step of elastic.steps() was not used as `with step:`")
                elif self._is_last_for_all():
                    return
        finally:
            self._close()
            if promise is not None:
                promise.stop()
            restore()


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:200]


def _promise(within: float) -> Optional[edl.KeepAlive]:
    """This process says that it is alive, until its steps are over: its peers wait for it."""
    if within == 0 or not in_job():
        return None
    try:
        return edl.keep_alive(within)
    except edl.Refused as error:  # by an agent of a version before, which knows no promise
        if error.status == 400:
            raise
        LOG.warning("nobody sees whether this process stands still: %s", error)
        return None


def _ignore_sigterm() -> Callable[[], None]:
    """The agent's word that this process is being stopped. The end of its generation says the same, and is found between two
    steps. Returns what puts the handler back. A handler of the program stays."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return lambda: None

    def handler(*_: Any) -> None:
        pass

    signal.signal(signal.SIGTERM, handler)

    def restore() -> None:
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is handler:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    return restore
