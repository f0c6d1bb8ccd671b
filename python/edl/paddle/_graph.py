# SPDX-License-Identifier: Apache-2.0
"""The layers of one configuration: how they hang together, their names, their parameters."""
from __future__ import annotations

import itertools
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

from ._attributes import Json, ParameterAttribute
from ._errors import ConfigError, nearest, without_effect

PLAIN_METHODS = ("adam", "adamax")  # without a momentum and a decay
WORDS_OF_DEFAULTS = {"momentum": "default_momentum", "l2": "default_decay_rate"}
IMAGE = Tuple[int, int, int]  # channels, height, width


class Parameter(NamedTuple):
    """One parameter as its layer wants it. fixed: a value that it starts with, as batch_norm's."""
    name: str
    shape: Tuple[int, int]
    attribute: Optional[ParameterAttribute]
    is_bias: bool = False
    std: Optional[float] = None
    fixed: Optional[float] = None


class Layer:
    """One layer or input. `entries` is what stands for it in the network's file."""

    def __init__(self, graph: "Graph", kind: str, name: str, inputs: List["Layer"], size: int) -> None:
        self.graph, self.kind, self.name, self.size = graph, kind, name, size
        self.inputs = inputs
        self.entries: List[Json] = []
        self.parameters: List[Parameter] = []
        self.image: Optional[IMAGE] = None
        self.num_filters: Optional[int] = None
        self.input_type: Any = None
        self.label: Optional["Layer"] = None
        self.is_cost = False
        self.ids_are: Any = None  # of an input whose ids a cost takes as values: the type that makes values of theirs
        self.classes = 0  # of an input that is a label: how many there may be
        self.activation = "linear"
        self.serial = next(graph.serials)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"


class Graph:
    """What one program has defined so far."""

    def __init__(self) -> None:
        self.zero_is_none = True  # v1 keeps an l2_rate of 0; v2 gives it the optimizer's
        self.cos_scale = 5.0
        self.is_v2 = False  # whose inputs stand in the order of their definition
        self.restart()

    def restart(self) -> None:
        """Forgets everything, and counts from 0 again."""
        self.serials = itertools.count()
        self.counts: Dict[str, int] = {}
        self.names: Dict[str, Layer] = {}
        self.settings: Json = {}
        self.outputs: List[Any] = []  # layers; names of layers until settle()
        self.inputs: List[Any] = []  # as inputs() names them: the order of the data
        self.defaults: Json = {}  # of settings, from default_momentum() and its like
        self.sources: Any = None
        self.old_data = ""  # the word that named data which nothing here reads
        self.arguments: Dict[str, str] = {}

    def name(self, given: Optional[str], word: str) -> str:
        """The given name, or __word_N__."""
        if given is None:
            n = self.counts.get(word, 0)
            self.counts[word] = n + 1
            given = f"__{word}_{n}__"
        if given in self.names:
            raise ConfigError(f"two layers are called {given}", "give one another name=")
        return given

    def add(self, kind: str, name: str, inputs: Iterable[Layer], size: int) -> Layer:
        layer = Layer(self, kind, name, list(inputs), size)
        cost = next((item.name for item in layer.inputs if item.is_cost), None)
        if cost is not None:
            raise ConfigError(f"{cost} is a cost, which no layer can take", "outputs(0.5 * a + b) weights two costs")
        self.names[name] = layer
        return layer

    def settle(self) -> None:
        """Names become layers, and defaults settings, once the program has run."""
        def found(item: Any) -> Layer:
            if isinstance(item, Layer):
                return item
            if item not in self.names:
                raise ConfigError(f"there is no layer {item}", nearest(str(item), self.names), "")
            return self.names[item]

        self.outputs = [found(item) for item in self.outputs]
        self.inputs = [found(item) for item in self.inputs]
        unused = [key for key in WORDS_OF_DEFAULTS if key in self.defaults and self.settings.get("method") in PLAIN_METHODS]
        for key in unused:
            without_effect(WORDS_OF_DEFAULTS[key], f"{self.settings['method']} takes none into account")
        self.settings = {**{key: value for key, value in self.defaults.items() if key not in unused}, **self.settings}


GRAPH = Graph()


def behind(outputs: Iterable[Layer]) -> List[Layer]:
    """The layers that outputs need, inputs among them, depth first."""
    found: Dict[int, Layer] = {}

    def visit(layer: Layer) -> None:
        if layer.serial in found:
            return
        for other in layer.inputs:
            visit(other)
        found[layer.serial] = layer

    for output in outputs:
        visit(output)
    return list(found.values())


def as_layers(value: Any, argument: str = "input") -> List[Layer]:
    """One layer or many of them, as a list; an error of ours for anything else."""
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    if not values:
        raise ConfigError(f"{argument} is empty", "name at least one layer")
    for item in values:
        if not isinstance(item, Layer):
            raise ConfigError(f"{argument} is {item!r}, which is no layer")
    return values


def as_layer(value: Any, argument: str = "input") -> Layer:
    """One layer."""
    layers = as_layers(value, argument)
    if len(layers) != 1:
        raise ConfigError(f"{argument} has {len(layers)} layers", "one is possible")
    return layers[0]
