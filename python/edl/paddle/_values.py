# SPDX-License-Identifier: Apache-2.0
"""Layers that work on each value of a row, and the arithmetic of layers: 2 * x + y, layer_math.exp(x)."""
from __future__ import annotations

import copy
from typing import Any, Callable, Dict, List, Optional

from ._attributes import ACTIVATIONS, Json, extra_of
from ._errors import ConfigError, checked
from ._graph import GRAPH, Layer, as_layer, as_layers
from ._parts import finish


def _made(kind: str, word: str, name: Optional[str], inputs: List[Layer], size: int, act: Any = None,
          extra: Any = None, **keys: Any) -> Layer:
    layer = GRAPH.add(kind, GRAPH.name(name, word), inputs, size)
    layer.image = next((item.image for item in inputs if item.size == size), None)
    entry: Json = {"inputs": [item.name for item in inputs], **keys}
    return finish(layer, entry, act, extra=extra)


def _like(a: Layer, b: Layer) -> None:
    if a.size != b.size:
        raise ConfigError(f"{a.name} has {a.size} values, but {b.name} has {b.size}", "give both the same size")


def _factor(weight: Any) -> Layer:
    factor = as_layer(weight, "weight")
    if factor.size != 1:
        raise ConfigError(f"weight is {factor.name}, of {factor.size} values", "one value for each row")
    return factor


@checked
def slope_intercept_layer(input: Any, name: Optional[str] = None, slope: float = 1.0, intercept: float = 0.0,
                          layer_attr: Any = None) -> Layer:
    source = as_layer(input)
    return _made("slope", "slope_intercept_layer", name, [source], source.size, extra=layer_attr, slope=slope,
                 intercept=intercept)


def difference(a: Layer, b: Layer) -> Layer:
    """a - b."""
    _like(a, b)
    return _made("addition", "addto", None, [a, slope_intercept_layer(b, slope=-1.0)], a.size)


@checked
def scaling_layer(input: Any, weight: Any, name: Optional[str] = None, layer_attr: Any = None) -> Layer:
    source, factor = as_layer(input), _factor(weight)
    return _made("product", "scaling_layer", name, [factor, source], source.size, extra=layer_attr)


@checked
def interpolation_layer(input: Any, weight: Any, name: Optional[str] = None, layer_attr: Any = None) -> Layer:
    """weight * a + (1 - weight) * b"""
    both, factor = as_layers(input), _factor(weight)
    if len(both) != 2:
        raise ConfigError(f"interpolation_layer has {len(both)} inputs", "give it two: input=[a, b]")
    _like(*both)
    name = GRAPH.name(name, "interpolation_layer")
    rest = slope_intercept_layer(factor, name=f"{name}_rest", slope=-1.0, intercept=1.0)
    parts = [scaling_layer(both[0], factor, name=f"{name}_a"), scaling_layer(both[1], rest, name=f"{name}_b")]
    return _made("addition", "", name, parts, both[0].size, extra=layer_attr)


@checked
def power_layer(input: Any, weight: Any, name: Optional[str] = None, layer_attr: Any = None) -> Layer:
    """input ^ weight, of values above 0: exp(weight * log(input))"""
    source, name = as_layer(input), GRAPH.name(name, "power_layer")
    log = _made("addition", "", f"{name}_log", [source], source.size, act=ACTIVATIONS["Log"])
    layer = _made("product", "", name, [_factor(weight), log], source.size, act=ACTIVATIONS["Exp"], extra=layer_attr)
    layer.inputs.reverse()  # the order of a sample's values is that of PaddlePaddle: the input comes first
    return layer


@checked
def dotmul(a: Any, b: Any, scale: float = 1.0, name: Optional[str] = None) -> Layer:
    """The product of two layers, value by value."""
    first, second = as_layer(a, "a"), as_layer(b, "b")
    _like(first, second)
    return _made("product", "dotmul", name, [first, second], first.size, **({"scale": scale} if scale != 1 else {}))


@checked
def maxid_layer(input: Any, name: Optional[str] = None, layer_attr: Any = None) -> Layer:
    """The number of the largest value of a row: for outputs, since nothing is learnt through it."""
    extra_of(layer_attr, False, "maxid_layer")
    source = as_layer(input)
    layer = GRAPH.add("maxid", GRAPH.name(name, "maxid_layer"), [source], 1)
    return finish(layer, {"inputs": [source.name]})


# ---- arithmetic ----

def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _wide(a: Layer, b: Layer) -> List[Layer]:
    """Both of one size: one of a single value is repeated, by a matrix of ones that no training moves."""
    if a.size == b.size or 1 not in (a.size, b.size):
        _like(a, b)
        return [a, b]
    small, size = (a, b.size) if a.size == 1 else (b, a.size)
    layer = GRAPH.add("repeat_row", GRAPH.name(None, "repeat_layer"), [small], size)
    finish(layer, {"inputs": [small.name], "size": size})
    return [layer, b] if small is a else [a, layer]


def add(self: Layer, other: Any) -> Any:
    if _number(other):
        return slope_intercept_layer(self, intercept=float(other))
    if not isinstance(other, Layer):
        return NotImplemented
    both = _wide(self, other)
    return _made("addition", "addto", None, both, both[0].size)


def subtract(self: Layer, other: Any) -> Any:
    if _number(other):
        return slope_intercept_layer(self, intercept=-float(other))
    return difference(*_wide(self, other)) if isinstance(other, Layer) else NotImplemented


def subtract_from(self: Layer, other: Any) -> Any:
    if not _number(other):
        return NotImplemented
    return slope_intercept_layer(self, slope=-1.0, intercept=float(other))


def multiply(self: Layer, other: Any) -> Any:
    if _number(other):
        return slope_intercept_layer(self, slope=float(other))
    if not isinstance(other, Layer):
        return NotImplemented
    if 1 not in (self.size, other.size):
        raise ConfigError(f"{self.name} * {other.name}: neither has a single value", "dotmul_operator(a, b) in a mixed_layer")
    return scaling_layer(self, other) if other.size == 1 else scaling_layer(other, self)


# ---- arithmetic of costs ----

class CostSum(List[Layer]):
    """Costs whose sum is trained. It adds up and is multiplied with a number, as one cost is; nothing else."""

    def __add__(self, other: Any) -> Any:
        return CostSum([*self, *_costs_of(self, other)])

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        return CostSum([_scaled(cost, other) for cost in self])

    __rmul__ = __mul__

    def refuse(self, *_: Any) -> Any:
        raise ConfigError(f"this is not done with {' + '.join(cost.name for cost in self)}",
                          "costs are added to one another and multiplied with numbers: 0.5 * a + b")

    __sub__ = __rsub__ = __truediv__ = __rtruediv__ = __neg__ = refuse


def _costs_of(self: CostSum, other: Any) -> List[Layer]:
    costs = other if isinstance(other, CostSum) else [other]
    return costs if all(isinstance(cost, Layer) and cost.is_cost for cost in costs) else self.refuse()


def _scaled(cost: Layer, factor: Any) -> Layer:
    """The cost with another coefficient, in its place."""
    if not _number(factor):
        CostSum([cost]).refuse()
    ret = copy.copy(cost)
    ret.serial = next(cost.graph.serials)
    ret.entries = [{**entry, "coeff": entry.get("coeff", 1.0) * factor} for entry in cost.entries]
    return ret


def _of_costs(word: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The operator as it is where one side is a cost."""
    def operator(self: Layer, other: Any) -> Any:
        if self.is_cost:
            return getattr(CostSum([self]), word)(other)
        if isinstance(other, Layer) and other.is_cost:
            return CostSum([other]).refuse()
        return function(self, other)
    return operator


OPERATORS = {"__add__": add, "__radd__": add, "__sub__": subtract, "__rsub__": subtract_from, "__mul__": multiply,
             "__rmul__": multiply}
for _name, _function in OPERATORS.items():
    setattr(Layer, _name, _of_costs(_name, _function))


def _of(word: str) -> Callable[..., Layer]:
    def function(input: Any, name: Optional[str] = None) -> Layer:
        source = as_layer(input)
        return _made("addition", "addto", name, [source], source.size, act=ACTIVATIONS[word])

    function.__name__ = word.lower()
    return checked(function)


MATH: Dict[str, Any] = {word.lower(): _of(word) for word in ("Exp", "Log", "Abs", "Sigmoid", "Tanh", "Square", "Relu")}
LAYERS: Dict[str, Any] = {
    "slope_intercept_layer": slope_intercept_layer, "scaling_layer": scaling_layer,
    "interpolation_layer": interpolation_layer, "power_layer": power_layer, "maxid_layer": maxid_layer}
