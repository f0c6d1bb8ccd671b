# SPDX-License-Identifier: Apache-2.0
"""The layers of the old names that are about images."""
from __future__ import annotations

import math
from typing import Any, List, Optional, Tuple

from ._attributes import (AvgPooling, BasePoolingType, IdentityActivation, Json, MaxPooling,
                          ReluActivation, one_of)
from ._errors import ConfigError, checked, without_effect
from ._graph import GRAPH, IMAGE, Layer, Parameter, as_layer
from ._parts import bias, finish, image_of, weights, windows


def _sides(value: Any, other: Any) -> Tuple[int, int]:
    """Along x and along y: one number, a pair of them, or the second beside the first."""
    if isinstance(value, (list, tuple)):
        x, y = value
        return x, y
    return value, value if other is None else other


def _both(**sides: Tuple[int, int]) -> Json:
    """Keys of a network, with one for y only where it differs."""
    ret: Json = {}
    for key, (x, y) in sides.items():
        ret[key] = x
        if x != y:
            ret[f"{key}_y"] = y
    return ret


def conv_keys(source: Layer, channels: Optional[int], filter_size: Any, filter_size_y: Any, stride: Any, stride_y: Any,
              padding: Any, padding_y: Any, groups: int, num_filters: int, trans: bool = False) -> Tuple[IMAGE, Json]:
    """The image that a convolution makes, and what a network says of it."""
    channels, height, width = image_of(source, channels)
    size, step, rim = _sides(filter_size, filter_size_y), _sides(stride, stride_y), _sides(padding, padding_y)
    if groups < 1 or channels % groups or num_filters % groups:
        raise ConfigError(f"{groups} groups of {channels} channels and {num_filters} filters", "both must be multiples of groups")
    if trans:
        made = [(side - 1) * step[i] + size[i] - 2 * rim[i] for i, side in enumerate((width, height))]
    else:
        made = [windows(side, size[i], step[i], rim[i], False) for i, side in enumerate((width, height))]
    keys = {**_both(filter=size), "filters": num_filters, "channels": channels, **_both(stride=step, padding=rim)}
    if groups > 1:
        keys["groups"] = groups
    return (num_filters, made[1], made[0]), keys


def _area(keys: Json) -> int:
    return keys["channels"] // keys.get("groups", 1) * keys["filter"] * keys.get("filter_y", keys["filter"])


@checked
def img_conv_layer(input: Any, filter_size: Any, num_filters: int, name: Optional[str] = None,
                   num_channels: Optional[int] = None, act: Any = None, groups: int = 1, stride: Any = 1,
                   padding: Any = 0, bias_attr: Any = None, param_attr: Any = None,
                   shared_biases: bool = True, layer_attr: Any = None, filter_size_y: Optional[int] = None,
                   stride_y: Optional[int] = None, padding_y: Optional[int] = None, trans: bool = False,
                   layer_type: Optional[str] = None) -> Layer:
    if not shared_biases:
        raise ConfigError("img_conv_layer without shared_biases is not supported", "shared_biases=True")
    if layer_type is not None:
        without_effect("img_conv_layer: layer_type", "there is one way to compute a convolution")
    if trans and groups != 1:
        raise ConfigError("img_conv_layer with trans and groups is not supported", "groups=1")
    source = as_layer(input)
    image, keys = conv_keys(source, num_channels, filter_size, filter_size_y, stride, stride_y, padding, padding_y, groups,
                            num_filters, trans)
    layer = GRAPH.add("deconv" if trans else "conv", GRAPH.name(name, "conv"), [source],
                      image[0] * image[1] * image[2])
    layer.image, layer.num_filters = image, num_filters
    entry: Json = {"inputs": [source.name], **keys}
    size = keys["filter"] * keys.get("filter_y", keys["filter"])
    shape = (keys["channels"], num_filters * size) if trans else (num_filters, _area(keys))
    weights(layer, entry, [shape], param_attr, std=math.sqrt(2.0 / (keys["channels"] * keys["filter"] ** 2)))
    bias(layer, entry, num_filters, bias_attr)
    return finish(layer, entry, act, ReluActivation, layer_attr)


@checked
def img_pool_layer(input: Any, pool_size: int, name: Optional[str] = None,
                   num_channels: Optional[int] = None, pool_type: Any = None, stride: int = 1,
                   padding: int = 0, layer_attr: Any = None, ceil_mode: bool = True, pool_size_y: Optional[int] = None,
                   stride_y: Optional[int] = None, padding_y: Optional[int] = None,
                   img_width: Optional[int] = None) -> Layer:
    source = as_layer(input)
    channels, height, width = image_of(source, num_channels)
    if img_width not in (None, width):
        raise ConfigError(f"img_width is {img_width}, but {source.name} is {width} wide", "leave it out")
    kind = one_of(pool_type, BasePoolingType, MaxPooling, "pool_type")
    if isinstance(kind, AvgPooling) and kind.word != "average":
        raise ConfigError("img_pool_layer sums nothing", "MaxPooling() and AvgPooling() are possible")
    size, step, rim = _sides(pool_size, pool_size_y), _sides(stride, stride_y), _sides(padding, padding_y)
    wide, high = (windows(side, size[i], step[i], rim[i], ceil_mode) for i, side in enumerate((width, height)))
    layer = GRAPH.add("pool", GRAPH.name(name, "pool"), [source], channels * high * wide)
    layer.image, layer.num_filters = (channels, high, wide), channels
    return finish(layer, {"inputs": [source.name], **_both(filter=size), "channels": channels,
                          **_both(stride=step, padding=rim), "pooling": kind.word, "ceil": bool(ceil_mode)},
                  extra=layer_attr)


@checked
def img_cmrnorm_layer(input: Any, size: int, scale: float = 0.0128, power: float = 0.75, name: Optional[str] = None,
                      num_channels: Optional[int] = None, layer_attr: Any = None) -> Layer:
    """Each pixel over (1 + scale / size * the squares of the channels around it) ^ power."""
    source = as_layer(input)
    if size < 1:
        raise ConfigError(f"img_cmrnorm_layer: size is {size}", "so many channels are summed: 1 or more")
    layer = GRAPH.add("map_norm", GRAPH.name(name, "crmnorm"), [source], source.size)
    layer.image = image_of(source, num_channels)
    layer.num_filters = layer.image[0]
    return finish(layer, {"inputs": [source.name], "size": size, "channels": layer.image[0], "scale": scale / size,
                          "power": power}, extra=layer_attr)


@checked
def maxout_layer(input: Any, groups: int, num_channels: Optional[int] = None, name: Optional[str] = None,
                 layer_attr: Any = None) -> Layer:
    """The largest of each so many channels that lie side by side."""
    source = as_layer(input)
    channels, height, width = image_of(source, num_channels)
    if groups < 2 or channels % groups:
        raise ConfigError(f"maxout_layer: {groups} groups of {channels} channels", "groups is 2 or more, and divides the channels")
    layer = GRAPH.add("maxout", GRAPH.name(name, "maxout_layer"), [source], source.size // groups)
    layer.image = (channels // groups, height, width)
    layer.num_filters = layer.image[0]
    return finish(layer, {"inputs": [source.name], "groups": groups, "channels": channels}, extra=layer_attr)


@checked
def pad_layer(input: Any, pad_c: Any = None, pad_h: Any = None, pad_w: Any = None, name: Optional[str] = None,
              layer_attr: Any = None) -> Layer:
    """Zeros before and behind the channels, the rows and the columns of an image."""
    source = as_layer(input)
    image = image_of(source, None)
    pads = [tuple(pad) if pad is not None else (0, 0) for pad in (pad_c, pad_h, pad_w)]
    channels, high, wide = (side + sum(pad) for side, pad in zip(image, pads))
    layer = GRAPH.add("pad", GRAPH.name(name, "pad"), [source], channels * high * wide)
    layer.image, layer.num_filters = (channels, high, wide), channels
    return finish(layer, {"inputs": [source.name], "channels": image[0],
                          "pad": [int(value) for pad in pads for value in pad]}, extra=layer_attr)


def _channels(source: Layer, num_channels: Optional[int]) -> int:
    """Those of a batch_norm: what the layer before has filters of, else one for each value."""
    channels = num_channels or source.num_filters or source.size
    if source.size % channels:
        raise ConfigError(f"{source.name} has {source.size} values, no multiple of {channels} channels",
                          "give the num_channels that it has")
    if num_channels and source.image is None and math.isqrt(source.size // channels) ** 2 == source.size // channels:
        source.image = image_of(source, channels)
    return channels


@checked
def batch_norm_layer(input: Any, act: Any = None, name: Optional[str] = None,
                     num_channels: Optional[int] = None, bias_attr: Any = None, param_attr: Any = None,
                     layer_attr: Any = None, batch_norm_type: Any = None,
                     moving_average_fraction: float = 0.9, use_global_stats: Any = None) -> Layer:
    if batch_norm_type not in (None, "batch_norm", "cudnn_batch_norm"):
        raise ConfigError(f"batch_norm_type is {batch_norm_type!r}", "there are: batch_norm, cudnn_batch_norm")
    source = as_layer(input)
    channels = _channels(source, num_channels)
    layer = GRAPH.add("batch_norm", GRAPH.name(name, "batch_norm"), [source], source.size)
    layer.image = source.image
    layer.num_filters = num_channels or source.num_filters
    entry: Json = {"inputs": [source.name], "channels": channels, "moving_average": moving_average_fraction}
    if use_global_stats is False:
        entry["batch_statistics"] = True
    weights(layer, entry, [(1, channels)], param_attr)
    layer.parameters[0] = layer.parameters[0]._replace(fixed=1.0 if param_attr is None else None)
    layer.parameters += [Parameter(f"_{layer.name}.w{i}", (1, channels), None, fixed=0.0)
                         for i in (1, 2)]
    bias(layer, entry, channels, bias_attr)
    return finish(layer, entry, act, ReluActivation, layer_attr)


LAYERS = {"img_conv_layer": img_conv_layer, "img_pool_layer": img_pool_layer, "batch_norm_layer": batch_norm_layer,
          "img_cmrnorm_layer": img_cmrnorm_layer, "maxout_layer": maxout_layer, "pad_layer": pad_layer}
