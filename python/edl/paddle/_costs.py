# SPDX-License-Identifier: Apache-2.0
"""The costs of the old names."""
from __future__ import annotations

from typing import Any, Optional

from ._attributes import IdentityActivation, ParameterAttribute, attribute_list, extra_of
from ._errors import ConfigError, checked
from ._evaluators import check_evaluator
from ._graph import GRAPH, Layer, as_layer, as_layers
from ._layers import fc_layer
from ._parts import weights
from ._types import one_hot, zero_or_one
from ._values import difference


def _weight(entry: Any, layer: Layer, coeff: float, weight: Any) -> None:
    """What the cost of a sample is multiplied with."""
    if coeff != 1:
        entry["coeff"] = coeff
    if weight is None:
        return
    factor = as_layer(weight, "weight")
    if factor.kind != "data" or factor.size != 1:
        raise ConfigError(f"weight is {factor.name}, of {factor.size} values", "a data_layer of size 1: a factor for each sample")
    layer.inputs.append(factor)
    entry["weight"] = factor.name


def _cost(kind: str, word: str, source: Layer, label: Any, name: Optional[str], coeff: float = 1.0,
          weight: Any = None, layer_attr: Any = None) -> Layer:
    extra_of(layer_attr, False, "a cost")
    target = as_layer(label, "label")
    if target.kind != "data":
        raise ConfigError(f"label is {target.name}, which is computed", "a data layer is possible")
    layer = GRAPH.add(kind, GRAPH.name(name, word), [source, target], 1)
    layer.label, layer.is_cost = target, True
    entry = {"kind": kind, "name": layer.name, "input": source.name, "label": target.name}
    _weight(entry, layer, coeff, weight)
    layer.entries.append(entry)
    return layer


def _of_classes(word: str, input: Any, label: Any, name: Optional[str], coeff: float, weight: Any, layer_attr: Any) -> Layer:
    source, target = as_layer(input), as_layer(label, "label")
    if source.activation != "softmax":
        raise ConfigError(f"{source.name} has activation {source.activation}, but this cost needs a "
                          "softmax", "give it act=SoftmaxActivation()")
    layer = _cost("cross_entropy", word, source, target, name, coeff, weight, layer_attr)
    target.classes = source.size
    return layer


@checked
def regression_cost(input: Any, label: Any, weight: Any = None, name: Optional[str] = None,
                    coeff: float = 1.0, layer_attr: Any = None) -> Layer:
    return _cost("square_error", "square_error_cost", as_layer(input), label, name, coeff, weight, layer_attr)


@checked
def classification_cost(input: Any, label: Any, weight: Any = None, name: Optional[str] = None,
                        evaluator: Any = None, layer_attr: Any = None, coeff: float = 1.0) -> Layer:
    check_evaluator(evaluator)
    return _of_classes("cost", input, label, name, coeff, weight, layer_attr)


@checked
def cross_entropy(input: Any, label: Any, name: Optional[str] = None, coeff: float = 1.0,
                  weight: Any = None, layer_attr: Any = None) -> Layer:
    return _of_classes("cross_entropy", input, label, name, coeff, weight, layer_attr)


@checked
def multi_binary_label_cross_entropy(input: Any, label: Any, name: Optional[str] = None, coeff: float = 1.0,
                                     layer_attr: Any = None) -> Layer:
    source = as_layer(input)
    if source.activation != "sigmoid":
        raise ConfigError(f"{source.name} has activation {source.activation}, but this cost needs values between 0 and 1",
                          "give it act=SigmoidActivation()")
    layer = _cost("binary_cross_entropy", "multi_binary_label_cross_entropy", source, label, name, coeff, None, layer_attr)
    as_layer(label, "label").ids_are = one_hot
    return layer


@checked
def rank_cost(left: Any, right: Any, label: Any, weight: Any = None, name: Optional[str] = None, coeff: float = 1.0,
              layer_attr: Any = None) -> Layer:
    layer = _cost("rank", "rank_cost", difference(as_layer(left, "left"), as_layer(right, "right")), label, name, coeff,
                  weight, layer_attr)
    as_layer(label, "label").ids_are = zero_or_one
    return layer


@checked
def smooth_l1_cost(input: Any, label: Any, name: Optional[str] = None, coeff: float = 1.0, layer_attr: Any = None) -> Layer:
    return _cost("smooth_l1", "smooth_l1_cost", as_layer(input), label, name, coeff, None, layer_attr)


@checked
def sum_cost(input: Any, name: Optional[str] = None, layer_attr: Any = None) -> Layer:
    extra_of(layer_attr, False, "a cost")
    source = as_layer(input)
    layer = GRAPH.add("sum", GRAPH.name(name, "sum_cost"), [source], 1)
    layer.is_cost = True
    layer.entries.append({"kind": "sum", "name": layer.name, "input": source.name})
    return layer


@checked
def crf_layer(input: Any, label: Any, size: Optional[int] = None, weight: Any = None, param_attr: Any = None,
              name: Optional[str] = None, coeff: float = 1.0, layer_attr: Any = None) -> Layer:
    source = as_layer(input)
    if weight is not None:
        raise ConfigError("crf_layer with a weight is not supported", "leave it out")
    if size not in (None, source.size):
        raise ConfigError(f"crf_layer: size is {size}, but {source.name} has {source.size} values", "leave it out")
    layer = _cost("crf", "crf_layer", source, label, name, coeff, None, layer_attr)
    weights(layer, layer.entries[0], [(source.size + 2, source.size)], param_attr)
    as_layer(label).classes = source.size
    return layer


@checked
def crf_decoding_layer(input: Any, size: int, label: Any = None, param_attr: Any = None, name: Optional[str] = None,
                       layer_attr: Any = None) -> Layer:
    """For evaluators, which are not told here. What needs its values is refused by network()."""
    source = as_layer(input)
    if size != source.size:
        raise ConfigError(f"crf_decoding_layer: size is {size}, but {source.name} has {source.size} values", f"size={source.size}")
    return GRAPH.add("crf_decoding", GRAPH.name(name, "crf_decoding_layer"), [source], 1)


@checked
def hsigmoid(input: Any, label: Any, num_classes: Optional[int] = None, name: Optional[str] = None, bias_attr: Any = None,
             param_attr: Any = None, layer_attr: Any = None) -> Layer:
    """The cost of a class by the turns on the way to it in a binary tree; a weight for each of its inner nodes."""
    target = as_layer(label, "label")
    classes = target.size if num_classes is None else num_classes
    if classes < 3:
        raise ConfigError(f"hsigmoid has {classes} classes", "num_classes of 3 or more")
    name, nodes = GRAPH.name(name, "hsigmoid"), classes - 1
    given = attribute_list(param_attr, len(as_layers(input)))
    turns = fc_layer(input, nodes, IdentityActivation(), f"{name}_nodes",
                     [ParameterAttribute(initial_std=nodes ** -0.5) if item is None else item for item in given], bias_attr)
    entry = turns.entries[0]
    entry["transposed"] = True
    turns.parameters = [item._replace(name=item.name.replace(f"_{name}_nodes.", f"_{name}.", 1),
                                      shape=item.shape if item.is_bias else (item.shape[1], item.shape[0]))
                        for item in turns.parameters]
    _named(entry, turns)
    layer = _cost("class_tree", "hsigmoid", turns, target, name, layer_attr=layer_attr)
    target.classes = classes
    return layer


def _named(entry: Any, turns: Layer) -> None:
    """The parameters of the layer inside are called after the cost."""
    weight_texts = entry.pop("params", None) or [entry.pop("param", {})]
    names = [item.name for item in turns.parameters if not item.is_bias]
    entry["params"] = [{**text, "name": name} for text, name in zip(weight_texts, names)]
    for item in turns.parameters:
        if item.is_bias:
            entry["bias_param"] = {**({"initial_std": 0} if item.attribute is None else entry.get("bias_param", {})), "name": item.name}


LAYERS = {
    "hsigmoid": hsigmoid,
    "crf_layer": crf_layer, "crf_decoding_layer": crf_decoding_layer,
    "regression_cost": regression_cost, "square_error_cost": regression_cost, "mse_cost": regression_cost,
    "classification_cost": classification_cost, "cross_entropy": cross_entropy, "rank_cost": rank_cost,
    "multi_binary_label_cross_entropy": multi_binary_label_cross_entropy, "smooth_l1_cost": smooth_l1_cost,
    "sum_cost": sum_cost,
}
