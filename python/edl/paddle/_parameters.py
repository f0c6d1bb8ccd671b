# SPDX-License-Identifier: Apache-2.0
"""paddle.v2.parameters: the values of a network, as arrays and in a tar."""
from __future__ import annotations

import array
import random
import sys
from typing import Any, Dict, Iterator, List, Tuple

from . import _model_files as files
from ._errors import ConfigError, nearest
from ._graph import Layer, Parameter, as_layers, behind


def numpy_module() -> Any:
    """numpy, or an error that says how to come to it."""
    try:
        import numpy
    except ModuleNotFoundError:
        raise ConfigError("arrays of parameters need numpy, which is not there",
                          "apt-get install python3-numpy; to_tar and from_tar go without") from None
    return numpy


def _start(parameter: Parameter) -> bytes:
    """Values as edl-network(5) has them at the start, of the same distributions."""
    count = parameter.shape[0] * parameter.shape[1]
    given: Dict[str, Any] = parameter.attribute.values if parameter.attribute is not None else {}
    draw = random.Random(parameter.name)
    if given.get("initial_max") is not None:
        low, high = given["initial_min"], given["initial_max"]
        values = array.array("f", (draw.uniform(low, high) for _ in range(count)))
    else:
        named = given.get("initial_std") is not None or given.get("initial_mean") is not None
        bare = parameter.std if parameter.std is not None else (parameter.shape[0] or 1) ** -0.5
        std = (given["initial_std"] if given["initial_std"] is not None else 0.01) if named else bare
        if parameter.is_bias and parameter.attribute is None:
            std = 0.0
        mean = given.get("initial_mean") or 0.0
        if parameter.fixed is not None:
            mean, std = parameter.fixed, 0.0
        values = array.array("f", (draw.gauss(mean, std) for _ in range(count)) if std else [mean] * count)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


class Parameters:
    """Names → arrays of 32-bit floats. Before a training they are drawn when someone asks for them."""

    def __init__(self) -> None:
        self._specs: Dict[str, Parameter] = {}
        self._shapes: Dict[str, Tuple[int, int]] = {}
        self._values: Dict[str, bytes] = {}

    def append(self, parameter: Parameter) -> None:
        """One more; a name that is there already is shared."""
        there = self._shapes.setdefault(parameter.name, parameter.shape)
        if there != parameter.shape:
            raise ConfigError(f"the parameter {parameter.name} is of {there[0]} x {there[1]} and of "
                              f"{parameter.shape[0]} x {parameter.shape[1]}", "give one another name")
        self._specs.setdefault(parameter.name, parameter)

    def names(self) -> List[str]:
        return list(self._shapes)

    keys = names

    def has_key(self, name: str) -> bool:
        return name in self._shapes

    __contains__ = has_key

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)

    def get_shape(self, name: str) -> Tuple[int, int]:
        if name not in self._shapes:
            raise ConfigError(f"there is no parameter {name}", nearest(name, self._shapes))
        return self._shapes[name]

    def bytes_of(self, name: str) -> bytes:
        """The floats of a parameter, little-endian."""
        self.get_shape(name)
        if name not in self._values:
            self._values[name] = _start(self._specs[name])
        return self._values[name]

    def get(self, name: str) -> Any:
        numpy = numpy_module()
        return numpy.frombuffer(self.bytes_of(name), dtype="<f4").reshape(self.get_shape(name)).copy()

    __getitem__ = get

    def get_grad(self, name: str) -> Any:
        raise ConfigError("Parameters.get_grad is not supported", "gradients stay in edl-trainer")

    def set(self, name: str, value: Any) -> None:
        numpy = numpy_module()
        values = numpy.asarray(value, dtype="<f4")
        shape = self.get_shape(name)
        if values.size != shape[0] * shape[1]:
            raise ConfigError(f"{name} has the shape {shape}, not {values.shape}", "give an array of its shape")
        self._values[name] = values.tobytes()

    __setitem__ = set

    def is_set(self) -> bool:
        """Whether somebody has asked for values, or given them."""
        return bool(self._values)

    def all(self) -> Dict[str, bytes]:
        return {name: self.bytes_of(name) for name in self._shapes}

    def take(self, values: Dict[str, bytes]) -> None:
        """What a training has made of them."""
        self._values.update(values)

    def to_tar(self, f: Any) -> None:
        files.write_tar(f, self.all(), self._shapes)

    @staticmethod
    def from_tar(f: Any) -> "Parameters":
        ret = Parameters()
        ret._values, ret._shapes = files.read_tar(f)
        return ret

    def init_from_tar(self, f: Any, exclude_params: Any = ()) -> None:
        """Takes the parameters of a tar that this has too."""
        values, _ = files.read_tar(f)
        for name, data in values.items():
            if name in self._shapes and name not in exclude_params:
                shape = self._shapes[name]
                if len(data) != 4 * shape[0] * shape[1]:
                    raise ConfigError(f"{name} of the tar has {len(data) // 4} values, not {shape[0]} x {shape[1]}",
                                      "it is of another network")
                self._values[name] = data


def create(layers: Any) -> Parameters:
    """The parameters of the layers that these need, in the order in which they were defined."""
    ret = Parameters()
    needed: List[Layer] = behind(as_layers(layers, "layers"))
    for layer in sorted(needed, key=lambda item: item.serial):
        for parameter in layer.parameters:
            ret.append(parameter)
    return ret


NAMES = {"create": create, "Parameters": Parameters}
