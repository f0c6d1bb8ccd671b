# SPDX-License-Identifier: Apache-2.0
"""The layers of the old names that are not about images, and the costs."""
from __future__ import annotations

from typing import Any, Optional

from ._attributes import BasePoolingType, MaxPooling, TanhActivation, extra_of, one_of
from ._errors import ConfigError, checked
from ._graph import GRAPH, Layer, as_layer, as_layers
from ._mixed import concat_projections, is_projections
from ._parts import bias, finish, weights
from ._types import InputType


@checked
def data_layer(name: str, size: int, height: Optional[int] = None, width: Optional[int] = None,
               layer_attr: Any = None) -> Layer:
    if not isinstance(size, int) or size < 1:
        raise ConfigError(f"data_layer {name}: size is {size!r}", "a whole number of at least 1")
    if (height is None) != (width is None):
        raise ConfigError(f"data_layer {name} has one of height and width", "give both: an image has two sides")
    extra_of(layer_attr, False, f"data_layer {name}")
    layer = GRAPH.add("data", GRAPH.name(name, "data"), [], size)
    if height and width:
        layer.image = (size // (height * width), height, width)
    return layer


@checked
def typed_data_layer(name: str, type: InputType, height: Optional[int] = None,
                     width: Optional[int] = None, layer_attr: Any = None) -> Layer:
    """The data layer of paddle.v2: its type is known from the start."""
    if not isinstance(type, InputType):
        raise ConfigError(f"data layer {name}: type is {type!r}", "paddle.data_type has the types")
    layer = data_layer(name, type.dim, height, width, layer_attr)
    layer.input_type = type
    return layer


@checked
def fc_layer(input: Any, size: int, act: Any = None, name: Optional[str] = None, param_attr: Any = None,
             bias_attr: Any = None, layer_attr: Any = None) -> Layer:
    inputs = as_layers(input)
    layer = GRAPH.add("fc", GRAPH.name(name, "fc_layer"), inputs, size)
    entry = {"inputs": [item.name for item in inputs], "size": size}
    weights(layer, entry, [(item.size, size) for item in inputs], param_attr)
    bias(layer, entry, size, bias_attr)
    return finish(layer, entry, act, TanhActivation, layer_attr)


@checked
def embedding_layer(input: Any, size: int, name: Optional[str] = None, param_attr: Any = None,
                    layer_attr: Any = None) -> Layer:
    source = as_layer(input)
    layer = GRAPH.add("table", GRAPH.name(name, "embedding"), [source], size)
    entry = {"inputs": [source.name], "size": size}
    weights(layer, entry, [(source.size, size)], param_attr, table=True)
    return finish(layer, entry, extra=layer_attr)


@checked
def sequence_conv_pool(input: Any, context_len: int, hidden_size: int, name: Optional[str] = None,
                       context_start: Optional[int] = None, pool_type: Any = None,
                       fc_param_attr: Any = None, fc_bias_attr: Any = None, fc_act: Any = None) -> Layer:
    source = as_layer(input)
    layer = GRAPH.add("text_conv_pool", GRAPH.name(name, "sequence_conv_pooling"), [source], hidden_size)
    start = -(context_len // 2) if context_start is None else context_start
    entry = {"inputs": [source.name], "size": hidden_size, "context": context_len,
             "context_start": start,
             "pooling": one_of(pool_type, BasePoolingType, MaxPooling, "pool_type").word}
    inner = f"{layer.name}_conv_fc"
    weights(layer, entry, [(context_len * source.size, hidden_size)], fc_param_attr)
    bias(layer, entry, hidden_size, fc_bias_attr)
    # the parameters are those of the layer inside, and are called after it
    layer.parameters = [p._replace(name=p.name.replace(f"_{layer.name}.", f"_{inner}.", 1))
                        for p in layer.parameters]
    return finish(layer, entry, fc_act, TanhActivation)


@checked
def pooling_layer(input: Any, pooling_type: Any = None, name: Optional[str] = None,
                  bias_attr: Any = False, agg_level: Any = None, layer_attr: Any = None) -> Layer:
    if bias_attr not in (False, None) or agg_level not in (None, 0):
        raise ConfigError("pooling_layer with a bias or an agg_level is not supported", "leave them out")
    source = as_layer(input)
    layer = GRAPH.add("seqpool", GRAPH.name(name, "seq_pooling"), [source], source.size)
    word = one_of(pooling_type, BasePoolingType, MaxPooling, "pooling_type").word
    return finish(layer, {"inputs": [source.name], "pooling": word}, extra=layer_attr)


@checked
def concat_layer(input: Any, act: Any = None, name: Optional[str] = None, layer_attr: Any = None,
                 bias_attr: Any = None) -> Layer:
    values = list(input) if isinstance(input, (list, tuple)) else [input]
    if is_projections(values):
        return concat_projections(values, act, name, bias_attr, layer_attr)
    inputs = as_layers(values)
    if bias_attr not in (False, None):
        raise ConfigError("concat_layer with a bias is not supported", "bias_attr=False")
    layer = GRAPH.add("concat", GRAPH.name(name, "concat"), inputs, sum(item.size for item in inputs))
    return finish(layer, {"inputs": [item.name for item in inputs]}, act, extra=layer_attr)


@checked
def addto_layer(input: Any, act: Any = None, name: Optional[str] = None, bias_attr: Any = None,
                layer_attr: Any = None) -> Layer:
    inputs = as_layers(input)
    if bias_attr not in (False, None):
        raise ConfigError("addto_layer with a bias is not supported", "bias_attr=False")
    layer = GRAPH.add("addition", GRAPH.name(name, "addto"), inputs, inputs[0].size)
    layer.image = inputs[0].image
    return finish(layer, {"inputs": [item.name for item in inputs]}, act, extra=layer_attr)


@checked
def dropout_layer(input: Any, dropout_rate: float, name: Optional[str] = None) -> Layer:
    source = as_layer(input)
    layer = GRAPH.add("dropout", GRAPH.name(name, "dropout"), [source], source.size)
    layer.image = source.image
    return finish(layer, {"inputs": [source.name], "dropout": dropout_rate})


@checked
def cos_sim(a: Any, b: Any, scale: Optional[float] = None, size: int = 1, name: Optional[str] = None,
            layer_attr: Any = None) -> Layer:
    if size != 1:
        raise ConfigError(f"cos_sim with size={size} is not supported", "size=1")
    first, second = as_layer(a, "a"), as_layer(b, "b")
    layer = GRAPH.add("cos_sim", GRAPH.name(name, "cos_sim"), [first, second], 1)
    scale = GRAPH.cos_scale if scale is None else scale
    return finish(layer, {"inputs": [first.name, second.name], "scale": scale}, extra=layer_attr)


def _cost(kind: str, word: str, input: Any, label: Any, name: Optional[str], coeff: float,
          weight: Any, layer_attr: Any) -> Layer:
    extra_of(layer_attr, False, "a cost")
    if coeff != 1 or weight is not None:
        raise ConfigError("a cost with coeff or weight is not supported", "leave them out")
    source, target = as_layer(input), as_layer(label, "label")
    if target.kind != "data":
        raise ConfigError(f"label is {target.name}, which is computed", "a data layer is possible")
    if kind == "cross_entropy" and source.activation != "softmax":
        raise ConfigError(f"{source.name} has activation {source.activation}, but this cost needs a "
                          "softmax", "give it act=SoftmaxActivation()")
    layer = GRAPH.add(kind, GRAPH.name(name, word), [source, target], 1)
    layer.label = target
    layer.entries.append({"kind": kind, "name": layer.name, "input": source.name, "label": target.name})
    return layer


@checked
def regression_cost(input: Any, label: Any, weight: Any = None, name: Optional[str] = None,
                    coeff: float = 1.0, layer_attr: Any = None) -> Layer:
    return _cost("square_error", "square_error_cost", input, label, name, coeff, weight, layer_attr)


@checked
def classification_cost(input: Any, label: Any, weight: Any = None, name: Optional[str] = None,
                        evaluator: Any = None, layer_attr: Any = None, coeff: float = 1.0) -> Layer:
    if evaluator is not None:
        raise ConfigError("classification_cost with an evaluator is not supported",
                          "leave it out: the error of classification is told anyway")
    return _cost("cross_entropy", "cost", input, label, name, coeff, weight, layer_attr)


@checked
def cross_entropy(input: Any, label: Any, name: Optional[str] = None, coeff: float = 1.0,
                  weight: Any = None, layer_attr: Any = None) -> Layer:
    return _cost("cross_entropy", "cross_entropy", input, label, name, coeff, weight, layer_attr)


def outputs(layers: Any, *more: Any) -> None:
    """What the configuration is for: its costs."""
    GRAPH.outputs = as_layers(layers, "outputs") + [as_layer(item, "outputs") for item in more]
