# SPDX-License-Identifier: Apache-2.0
"""What a configuration says as a whole: its inputs and outputs, defaults, and the words of before settings()."""
from __future__ import annotations

from typing import Any, Optional

from . import _settings
from ._errors import ConfigError, checked, refused, without_effect
from ._graph import GRAPH, Layer, as_layers


def outputs(layers: Any, *more: Any) -> None:
    """What the configuration is for: its costs, or the layers whose values are wanted."""
    GRAPH.outputs = as_layers(layers, "outputs")
    for item in more:
        GRAPH.outputs += as_layers(item, "outputs")


def inputs(layers: Any, *more: Any) -> None:
    """The order of a sample's values."""
    GRAPH.inputs = as_layers(layers, "inputs")
    for item in more:
        GRAPH.inputs += as_layers(item, "inputs")


def _named(word: str, names: Any) -> Any:
    for name in names:
        if not isinstance(name, str):
            raise ConfigError(f"{word} takes names, not {name!r}", f"{word.lower()}(LAYER) takes layers")
    return list(names)


def Outputs(*args: str) -> None:
    """Outputs by their names, which may come later."""
    GRAPH.outputs = _named("Outputs", args)


def Inputs(*args: str) -> None:
    GRAPH.inputs = _named("Inputs", args)


# ---- settings of before settings() ----

METHODS = {"momentum": "momentum", "adam": "adam", "adamax": "adamax", "adagrad": "adagrad",
           "decayed_adagrad": "decayed_adagrad", "adadelta": "adadelta", "rmsprop": "rmsprop"}


@checked
def Settings(algorithm: str = "sgd", batch_size: Optional[int] = None, learning_rate: float = 1.0,
             learning_rate_decay_a: float = 0.0, learning_rate_decay_b: float = 0.0,
             learning_rate_schedule: Optional[str] = "poly", learning_rate_args: str = "",
             learning_method: str = "momentum", average_window: float = 0.0, max_average_window: Optional[int] = None,
             gradient_clipping_threshold: Optional[float] = None) -> None:
    if algorithm not in ("sgd", "async_sgd"):
        raise ConfigError(f"algorithm is {algorithm!r}", "there are: sgd, async_sgd")
    if learning_method not in METHODS:
        raise ConfigError(f"learning_method is {learning_method!r}", "there are: " + ", ".join(METHODS))
    _settings.settings(batch_size, learning_rate, learning_rate_decay_a, learning_rate_decay_b, learning_rate_schedule,
                       learning_rate_args, _settings.BaseSGDOptimizer(METHODS[learning_method]), None,
                       algorithm == "async_sgd" or None, gradient_clipping_threshold=gradient_clipping_threshold,
                       average_window=average_window, max_average_window=max_average_window)


def _default(key: str) -> Any:
    def default(val: float) -> None:
        GRAPH.defaults[key] = val
    return checked(default)


def _told(word: str, why: str) -> Any:
    def told(val: Any) -> None:
        without_effect(word, why)

    told.__name__ = word
    return told


ELSEWHERE = "give the samples with define_py_data_sources2, or with --data"


class OldData:
    """A source of data that nothing here reads: an error when samples are wanted, not before."""

    def __init__(self, *args: Any, **keys: Any) -> None:
        self.keys = keys


def _old_source(part: str) -> Any:
    def source(data_config: Any, async_load_data: Any = None) -> None:
        GRAPH.old_data = part

    source.__name__ = part
    return source


NAMES = {
    "outputs": outputs, "inputs": inputs, "Outputs": Outputs, "Inputs": Inputs, "Settings": Settings,
    "default_momentum": _default("momentum"), "default_decay_rate": _default("l2"),
    "default_gradient_clipping_threshold": _default("clipping"),
    "default_initial_std": _told("default_initial_std", "each layer of the helpers has start values of its own"),
    "default_initial_mean": _told("default_initial_mean", "each layer of the helpers has start values of its own"),
    "default_device": _told("default_device", "one device computes all layers"),
    "default_num_batches_regularization": _told("default_num_batches_regularization", "an L2 acts with each batch"),
    "model_type": _told("model_type", "the layers tell the kind of the network"),
    "TrainData": _old_source("TrainData"), "TestData": _old_source("TestData"),
    **{name: type(name, (OldData,), {}) for name in ("ProtoData", "SimpleData", "PyData")},
}
