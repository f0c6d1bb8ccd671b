# SPDX-License-Identifier: Apache-2.0
"""paddle.v2.trainer: SGD, whose work edl-trainer does; this feeds it and tells of its batches."""
from __future__ import annotations

import os
import re
import shutil
import tempfile
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from . import _child, _init, _servers
from . import _events as event
from . import _model_files as files
from ._errors import ConfigError, checked, without_effect
from ._graph import as_layers, behind
from ._network import inputs_of, network, settle_types, to_text
from ._optimizer import Optimizer
from ._parameters import Parameters
from ._records import places_of, write_description, write_file

BATCH = re.compile(r"Pass (\d+), Batch (\d+), Cost (\S+), \{'(\w+)': (\S+)\}")
PASS = re.compile(r"Pass (\d+) done here: .*\{'(\w+)': ([^}]+)\}")
SAVED = re.compile(r"Saving parameters to (.*)")
TESTED = re.compile(r"Test samples=(\d+) cost=(\S+)(?: (\w+)=(\S+))?")
Handler = Callable[[Any], None]


class SGD:
    """Trains the parameters of a cost. They change at the end of each pass, before EndPass."""

    @checked
    def __init__(self, cost: Any, parameters: Parameters, update_equation: Optimizer, extra_layers: Any = None,
                 is_local: bool = True, pserver_spec: Any = None, use_etcd: bool = True) -> None:
        if pserver_spec is not None:
            raise ConfigError("SGD with a pserver_spec is not supported: there is no etcd",
                              "name the servers to paddle.init: pservers=, port=, ports_num=")
        if not use_etcd:
            without_effect("SGD: use_etcd", "there is no etcd")
        self.is_local = is_local
        if extra_layers is not None:
            raise ConfigError("SGD with extra_layers is not supported", "leave them out")
        if not isinstance(parameters, Parameters):
            raise ConfigError(f"parameters is {parameters!r}", "paddle.parameters.create(cost) makes them")
        if not isinstance(update_equation, Optimizer):
            raise ConfigError(f"update_equation is {update_equation!r}", "paddle.optimizer has the optimizers")
        self.costs = as_layers(cost, "cost")
        self.layers = behind(self.costs)
        settle_types(self.layers)
        self.inputs = inputs_of(self.layers)
        self.parameters = parameters
        self.network = network(self.costs, update_equation.training, "program")
        self.optimizer = b""  # its state behind the last pass
        self.has_classes = any(layer.kind == "cross_entropy" for layer in self.costs)

    # ---- samples ----

    def _samples(self, reader: Callable[[], Iterator[Any]], places: Sequence[int], sizes: List[int]) -> Iterator[Any]:
        for batch in reader():
            if not isinstance(batch, (list, tuple)):
                raise ConfigError(f"the reader gives {type(batch).__name__}, not a list of samples",
                                  "paddle.batch(reader, batch_size) makes batches")
            sizes.append(len(batch))
            for sample in batch:
                try:
                    yield [sample[place] for place in places]
                except (IndexError, TypeError):
                    raise ConfigError(f"a sample is {sample!r}: it has no value {max(places)}",
                                      "one value for each data layer") from None

    def _batch_size(self, sizes: List[int]) -> int:
        """All batches but the last are of one size, as edl-trainer cuts them."""
        if not sizes:
            raise ConfigError("the reader gives no batch", "it is a function that returns an iterator anew each time")
        if any(size != sizes[0] for size in sizes[:-1]) or sizes[-1] > sizes[0]:
            raise ConfigError("the batches of the reader have different sizes", "paddle.batch makes equal ones")
        return sizes[0]

    def _prepare(self, folder: str, reader: Callable[[], Iterator[Any]], feeding: Any, part: str) -> Tuple[List[str], int]:
        """Network and data in the folder; the options that name them, and the size of a batch."""
        sizes: List[int] = []
        data = os.path.join(folder, "data")
        os.mkdir(data)
        n = write_file(data, part, self.inputs, self._samples(reader, places_of(self.inputs, feeding), sizes))
        if part == "test":  # a data set has samples to train as well
            shutil.copy(os.path.join(data, "test-00000-of-00001.recordio"),
                        os.path.join(data, "train-00000-of-00001.recordio"))
        write_description(data, self.inputs, {f"{part}_samples": n})
        path = os.path.join(folder, "network.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(to_text(self.network))
        size = self._batch_size(sizes)
        more = [f"--{name}={value}" for name, value in _init.options().items()]
        return [f"--config={path}", f"--data={data}", f"--batch={size}"] + more, size

    def _given(self, folder: str) -> List[str]:
        """The option that names the parameters as they are."""
        path = os.path.join(folder, "given")
        files.write_pass(path, self.parameters.all())
        return [f"--init_model_path={path}"]

    # ---- training ----

    def _metrics(self, name: str, value: str) -> Dict[str, float]:
        return {name: float(value)} if self.has_classes else {}

    def _tell_batch(self, found: "re.Match[str]", handler: Handler) -> None:
        pass_id, batch_id = int(found[1]), int(found[2])
        if batch_id == 0:
            handler(event.BeginPass(pass_id))
        handler(event.BeginIteration(pass_id, batch_id))
        handler(event.EndForwardBackward(pass_id, batch_id))
        handler(event.EndIteration(pass_id, batch_id, float(found[3]), self._metrics(found[4], found[5])))

    def _follow(self, lines: Iterator[str], handler: Handler, saves: bool) -> None:
        """Events of the lines, in their order. A pass ends when it is saved, if this trainer saves."""
        ended = event.EndPass(-1, {})
        for line in lines:
            batch, done, saved = BATCH.match(line), PASS.match(line), SAVED.match(line)
            if batch:
                self._tell_batch(batch, handler)
            elif done:
                ended = event.EndPass(int(done[1]), self._metrics(done[2], done[3]))
                if not saves:
                    handler(ended)
            elif saved:
                self.parameters.take(files.read_pass(saved[1], self.parameters.names()))
                self.optimizer = files.read_optimizer(saved[1])
                shutil.rmtree(saved[1])
                handler(ended)

    @checked
    def train(self, reader: Callable[[], Iterator[Any]], num_passes: int = 1,
              event_handler: Optional[Handler] = None, feeding: Any = None) -> None:
        """Trains so many passes over the samples, which are read once, in their order."""
        handler = event_handler if event_handler is not None else lambda _: None
        with tempfile.TemporaryDirectory(prefix="edl-paddle-") as folder:
            options, _ = self._prepare(folder, reader, feeding, "train")
            if self.parameters.is_set():
                options += self._given(folder)
            if self.optimizer:  # one that trains again goes on as if it had not ended
                files.write_optimizer(os.path.join(folder, "given"), self.optimizer)
                options.append("--init_optimizer=1")
            options += ["--local"] if self.is_local else _servers.options(_init.GIVEN)
            saves = self.is_local or _servers.trainer_id(_init.GIVEN) == 0
            if saves:
                options.append(f"--save_dir={folder}/output")
            lines = _child.lines([f"--num_passes={num_passes}", "--log-period=1", "--shuffle=0"] + options)
            try:
                self._follow(lines, handler, saves)
            finally:
                lines.close()  # type: ignore[attr-defined]

    @checked
    def test(self, reader: Callable[[], Iterator[Any]], feeding: Any = None) -> event.TestResult:
        """Cost and metrics of the parameters on other samples."""
        with tempfile.TemporaryDirectory(prefix="edl-paddle-") as folder:
            options, _ = self._prepare(folder, reader, feeding, "test")
            for line in _child.lines(["test"] + options + self._given(folder)):
                found = TESTED.match(line)
                if found:
                    metrics = {found[3]: float(found[4])} if found[3] else {}
                    return event.TestResult(float(found[2]), metrics)
        raise ConfigError("edl-trainer told no cost")

    def save_parameter_to_tar(self, f: Any) -> None:
        self.parameters.to_tar(f)


NAMES = {"SGD": SGD}
