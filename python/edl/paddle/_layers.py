# SPDX-License-Identifier: Apache-2.0
"""The layers of the old names that are neither about images nor about sequences."""
from __future__ import annotations

from typing import Any, Optional

from ._attributes import BasePoolingType, MaxPooling, TanhActivation, extra_of, one_of
from ._errors import ConfigError, checked
from ._graph import GRAPH, Layer, as_layer, as_layers
from ._mixed import concat_projections, is_projections
from ._parts import bias, finish, finish_biased, weights
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
def concat_layer(input: Any, act: Any = None, name: Optional[str] = None, layer_attr: Any = None,
                 bias_attr: Any = None) -> Layer:
    values = list(input) if isinstance(input, (list, tuple)) else [input]
    if is_projections(values):
        return concat_projections(values, act, name, bias_attr, layer_attr)
    inputs = as_layers(values)
    layer = GRAPH.add("concat", GRAPH.name(name, "concat"), inputs, sum(item.size for item in inputs))
    images = [item.image for item in inputs]
    if images[0] is not None and all(image is not None and image[1:] == images[0][1:] for image in images):
        layer.image = (sum(image[0] for image in images if image is not None), *images[0][1:])
    return finish_biased(layer, {"inputs": [item.name for item in inputs]}, bias_attr or False, act, layer_attr)


@checked
def addto_layer(input: Any, act: Any = None, name: Optional[str] = None, bias_attr: Any = None,
                layer_attr: Any = None) -> Layer:
    inputs = as_layers(input)
    layer = GRAPH.add("addition", GRAPH.name(name, "addto"), inputs, inputs[0].size)
    layer.image, layer.num_filters = inputs[0].image, inputs[0].num_filters
    return finish_biased(layer, {"inputs": [item.name for item in inputs]}, bias_attr or False, act, layer_attr)


@checked
def dropout_layer(input: Any, dropout_rate: float, name: Optional[str] = None) -> Layer:
    source = as_layer(input)
    layer = GRAPH.add("dropout", GRAPH.name(name, "dropout"), [source], source.size)
    layer.image, layer.num_filters = source.image, source.num_filters
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


LAYERS = {"data_layer": data_layer, "fc_layer": fc_layer, "embedding_layer": embedding_layer, "concat_layer": concat_layer,
          "addto_layer": addto_layer, "dropout_layer": dropout_layer, "cos_sim": cos_sim}
