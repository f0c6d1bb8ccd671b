# SPDX-License-Identifier: Apache-2.0
"""The layers of the old names that are about images."""
from __future__ import annotations

import math
from typing import Any, List, Optional

from ._attributes import (AvgPooling, BasePoolingType, IdentityActivation, Json, MaxPooling,
                          ReluActivation, one_of)
from ._errors import ConfigError, checked
from ._graph import GRAPH, Layer, Parameter, as_layer
from ._parts import bias, finish, image_of, weights, windows


@checked
def img_conv_layer(input: Any, filter_size: int, num_filters: int, name: Optional[str] = None,
                   num_channels: Optional[int] = None, act: Any = None, groups: int = 1, stride: int = 1,
                   padding: int = 0, bias_attr: Any = None, param_attr: Any = None,
                   shared_biases: bool = True, layer_attr: Any = None) -> Layer:
    if groups != 1 or not shared_biases:
        raise ConfigError("img_conv_layer with groups, or without shared_biases, is not supported",
                          "groups=1, shared_biases=True")
    source = as_layer(input)
    channels, height, width = image_of(source, num_channels)
    high, wide = (windows(side, filter_size, stride, padding, False) for side in (height, width))
    layer = GRAPH.add("conv", GRAPH.name(name, "conv"), [source], num_filters * high * wide)
    layer.image = (num_filters, high, wide)
    entry: Json = {"inputs": [source.name], "filter": filter_size, "filters": num_filters,
                   "channels": channels, "stride": stride, "padding": padding}
    area = channels * filter_size * filter_size
    weights(layer, entry, [(num_filters, area)], param_attr, std=math.sqrt(2.0 / area))
    bias(layer, entry, num_filters, bias_attr)
    return finish(layer, entry, act, ReluActivation, layer_attr)


@checked
def img_pool_layer(input: Any, pool_size: int, name: Optional[str] = None,
                   num_channels: Optional[int] = None, pool_type: Any = None, stride: int = 1,
                   padding: int = 0, layer_attr: Any = None, ceil_mode: bool = True) -> Layer:
    source = as_layer(input)
    channels, height, width = image_of(source, num_channels)
    kind = one_of(pool_type, BasePoolingType, MaxPooling, "pool_type")
    if isinstance(kind, AvgPooling) and kind.word == "sum":
        raise ConfigError("img_pool_layer sums nothing", "MaxPooling() and AvgPooling() are possible")
    high, wide = (windows(side, pool_size, stride, padding, ceil_mode) for side in (height, width))
    layer = GRAPH.add("pool", GRAPH.name(name, "pool"), [source], channels * high * wide)
    layer.image = (channels, high, wide)
    return finish(layer, {"inputs": [source.name], "filter": pool_size, "channels": channels,
                          "stride": stride, "padding": padding, "pooling": kind.word,
                          "ceil": bool(ceil_mode)}, extra=layer_attr)


@checked
def batch_norm_layer(input: Any, act: Any = None, name: Optional[str] = None,
                     num_channels: Optional[int] = None, bias_attr: Any = None, param_attr: Any = None,
                     layer_attr: Any = None, batch_norm_type: Any = None,
                     moving_average_fraction: float = 0.9, use_global_stats: Any = None) -> Layer:
    if use_global_stats is not None or bias_attr is False:
        raise ConfigError("batch_norm_layer with use_global_stats, or without a bias, is not supported",
                          "leave them out")
    if batch_norm_type not in (None, "batch_norm"):
        raise ConfigError(f"batch_norm_type is {batch_norm_type!r}", "there is: batch_norm")
    source = as_layer(input)
    channels = image_of(source, num_channels)[0] if source.image or num_channels else source.size
    layer = GRAPH.add("batch_norm", GRAPH.name(name, "batch_norm"), [source], source.size)
    layer.image = source.image
    entry: Json = {"inputs": [source.name], "moving_average": moving_average_fraction}
    weights(layer, entry, [(1, channels)], param_attr)
    layer.parameters[0] = layer.parameters[0]._replace(fixed=1.0 if param_attr is None else None)
    layer.parameters += [Parameter(f"_{layer.name}.w{i}", (1, channels), None, fixed=0.0)
                         for i in (1, 2)]
    bias(layer, entry, channels, bias_attr)
    return finish(layer, entry, act, ReluActivation, layer_attr)


@checked
def simple_img_conv_pool(input: Any, filter_size: int, num_filters: int, pool_size: int,
                         name: Optional[str] = None, pool_type: Any = None, act: Any = None,
                         groups: int = 1, conv_stride: int = 1, conv_padding: int = 0,
                         bias_attr: Any = None, num_channel: Optional[int] = None, param_attr: Any = None,
                         shared_bias: bool = True, conv_layer_attr: Any = None, pool_stride: int = 1,
                         pool_padding: int = 0, pool_layer_attr: Any = None) -> Layer:
    conv = img_conv_layer(input, filter_size, num_filters, f"{name}_conv" if name else None, num_channel,
                          act, groups, conv_stride, conv_padding, bias_attr, param_attr, shared_bias,
                          conv_layer_attr)
    return img_pool_layer(conv, pool_size, f"{name}_pool" if name else None, None, pool_type, pool_stride,
                          pool_padding, pool_layer_attr)


def _each(value: Any, n: int) -> List[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value] * n


@checked
def img_conv_group(input: Any, conv_num_filter: Any, pool_size: int, num_channels: Optional[int] = None,
                   conv_padding: Any = 1, conv_filter_size: Any = 3, conv_act: Any = None,
                   conv_with_batchnorm: Any = False, conv_batchnorm_drop_rate: Any = 0,
                   pool_stride: int = 1, pool_type: Any = None, param_attr: Any = None) -> Layer:
    from ._attributes import ExtraLayerAttribute
    layer, n = as_layer(input), len(conv_num_filter)
    each = zip(conv_num_filter, _each(conv_padding, n), _each(conv_filter_size, n), _each(conv_act, n),
               _each(conv_with_batchnorm, n), _each(conv_batchnorm_drop_rate, n))
    for i, (filters, padding, size, act, normed, drop) in enumerate(each):
        layer = img_conv_layer(layer, size, filters, num_channels=num_channels if i == 0 else None,
                               act=IdentityActivation() if normed else act, padding=padding,
                               param_attr=param_attr)
        if normed:
            layer = batch_norm_layer(layer, act, layer_attr=ExtraLayerAttribute(drop_rate=drop or None))
    return img_pool_layer(layer, pool_size, pool_type=pool_type, stride=pool_stride)
