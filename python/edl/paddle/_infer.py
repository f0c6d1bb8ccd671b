# SPDX-License-Identifier: Apache-2.0
"""paddle.v2.infer: what a layer gives for samples without a label."""
from __future__ import annotations

import os
import tempfile
from typing import Any, Iterator, List, Sequence

from . import _child, _init
from . import _model_files as files
from ._errors import ConfigError, checked
from ._graph import Graph, Layer, as_layer, as_layers, behind
from ._network import inputs_of, network, settle_types, to_text
from ._parameters import Parameters, numpy_module
from ._records import places_of, write_description, write_file
from ._types import dense_vector, integer_value

FIELDS = ("value", "id", "prob")
LABEL = "__label_of_infer__"
LAST = 1 << 62  # behind every layer of the program


def _with_cost(output: Layer) -> Layer:
    """A cost behind the layer, as every network has one. Its label may be anything."""
    classes = output.activation == "softmax"
    label = Layer(Graph(), "data", LABEL, [], output.size)
    label.input_type = integer_value(output.size) if classes else dense_vector(output.size)
    cost = Layer(Graph(), "cross_entropy" if classes else "square_error", "__cost_of_infer__", [output, label], 1)
    cost.label = label
    cost.entries = [{"kind": cost.kind, "name": cost.name, "input": output.name, "label": LABEL}]
    label.serial, cost.serial = LAST, LAST + 1
    return cost


def _samples(samples: Sequence[Any], places: Sequence[int], inputs: Sequence[Layer], output: Layer) -> Iterator[Any]:
    label = 0 if output.activation == "softmax" else [0.0] * output.size
    for sample in samples:
        try:
            given = iter([sample[place] for place in places])
        except (IndexError, TypeError):
            raise ConfigError(f"a sample is {sample!r}: it has no value {max(places)}",
                              "one value for each data layer") from None
        yield [label if layer.name == LABEL else next(given) for layer in inputs]


def _rows(output: Layer, parameters: Parameters, samples: Sequence[Any], feeding: Any) -> List[List[float]]:
    cost = _with_cost(output)
    needed = behind([cost])
    settle_types(needed)
    inputs = inputs_of(needed)
    places = places_of([layer for layer in inputs if layer.name != LABEL], feeding)
    names = {parameter.name for layer in needed for parameter in layer.parameters}
    with tempfile.TemporaryDirectory(prefix="edl-paddle-") as folder:
        for part in ("test", "train"):  # a data set has samples to train as well
            n = write_file(folder, part, inputs, _samples(samples, places, inputs, output))
        write_description(folder, inputs, {"test_samples": n})
        path = os.path.join(folder, "network.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(to_text(network([cost], {"method": "momentum"}, "infer")))
        files.write_pass(os.path.join(folder, "given"), {name: parameters.bytes_of(name) for name in names})
        options = [f"--{name}={value}" for name, value in _init.options().items()]
        lines = _child.lines(["infer", f"--config={path}", f"--data={folder}",
                              f"--init_model_path={folder}/given"] + options)
        return [[float(text) for text in line.split(",")] for line in lines]


@checked
def infer(output_layer: Any, parameters: Parameters, input: Sequence[Any], feeding: Any = None,
          field: Any = "value") -> Any:
    """An array with a row for each sample, or the number of its largest value (field "id")."""
    numpy = numpy_module()
    if field not in FIELDS:
        raise ConfigError(f"field is {field!r}", "there are: " + ", ".join(FIELDS))
    if not isinstance(parameters, Parameters):
        raise ConfigError(f"parameters is {parameters!r}", "paddle.parameters.create(cost) makes them")
    many = isinstance(output_layer, (list, tuple))
    found = []
    for layer in as_layers(output_layer, "output_layer"):
        values = numpy.array(_rows(as_layer(layer), parameters, list(input), feeding), dtype="float32")
        found.append(values.argmax(axis=1) if field == "id" else values)
    return found if many else found[0]


class Inference:
    """What a layer gives, for one batch of samples after another."""

    @checked
    def __init__(self, output_layer: Any, parameters: Parameters) -> None:
        self.output_layer, self.parameters = output_layer, parameters

    @checked
    def infer(self, input: Sequence[Any], field: Any = "value", flatten_result: bool = True, feeding: Any = None) -> Any:
        if not flatten_result:
            raise ConfigError("Inference.infer with flatten_result=False is not supported", "leave it out")
        return infer(self.output_layer, self.parameters, input, feeding, field)


NAMES = {"infer": infer, "Inference": Inference}
