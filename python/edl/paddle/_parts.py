# SPDX-License-Identifier: Apache-2.0
"""Layers as entries of a network's file: what several functions of the old names share."""
from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence, Tuple

from ._attributes import (Attributes, BaseActivation, IdentityActivation, Json, ParameterAttribute, attribute_list,
                          extra_of, one_of)
from ._errors import ConfigError
from ._graph import Layer, Parameter


NO_ACTIVATION = ("table", "context", "cos_sim", "maxid")


def finish(layer: Layer, entry: Json, act: Any = None, default: type = IdentityActivation,
           extra: Any = None) -> Layer:
    """Puts the entry of a layer behind those of its parts, with its activation and its dropout."""
    word = one_of(act, BaseActivation, default, "act").word
    entry = {"kind": layer.kind, "name": layer.name, **entry}
    if layer.kind not in NO_ACTIVATION:
        entry["activation"] = word
        layer.activation = word
    elif word != "linear":
        raise ConfigError(f"{layer.name} has an activation, but a {layer.kind} has none",
                          "put an addto_layer with the activation behind it")
    extra = extra_of(extra)
    if extra.drop_rate:
        if layer.kind in NO_ACTIVATION:
            raise ConfigError(f"{layer.name} has a drop_rate, but a {layer.kind} has none",
                              "put a dropout_layer behind it")
        entry["dropout"] = extra.drop_rate
    layer.entries.append(entry)
    return layer


def finish_biased(layer: Layer, entry: Json, bias_attr: Any, act: Any = None, extra: Any = None,
                  channels: int = 0) -> Layer:
    """The same for a layer whose kind has no bias: where one is wanted, it is added behind the layer's own values.

    channels: it is one for each of them, not one for each value."""
    if bias_attr is False:
        return finish(layer, entry, act, extra=extra)
    inner = f"{layer.name}_values"
    layer.entries.append({"kind": layer.kind, "name": inner, **entry})
    layer.kind = "shift"
    behind: Json = {"inputs": [inner], **({"channels": channels} if channels else {})}
    bias(layer, behind, channels or layer.size, bias_attr)
    return finish(layer, behind, act, extra=extra)


def _no_rows(layer: Layer, text: Json) -> None:
    if text.get("sparse"):
        raise ConfigError(f"{layer.name} has sparse_update=True, but trains all of its parameters with each batch",
                          "leave it out; embedding_layer and table_projection update single rows")


def weights(layer: Layer, entry: Json, shapes: Sequence[Tuple[int, int]], given: Attributes,
            owner: Optional[str] = None, first: int = 0, std: Optional[float] = None,
            table: bool = False) -> None:
    """The weights of a layer, one for each shape, with what param_attr says of them.

    owner: the layer that they are called after, when the entry has another name. table: of single rows, so they may be sparse.
    """
    attributes = attribute_list(given, len(shapes))
    texts: List[Json] = []
    for i, (shape, attribute) in enumerate(zip(shapes, attributes)):
        default = f"_{owner or layer.name}.w{first + i}"
        text = attribute.json(layer.graph.zero_is_none) if attribute is not None else {}
        if owner is not None and "name" not in text:
            text["name"] = default
        if not table:
            _no_rows(layer, text)
        layer.parameters.append(Parameter(text.get("name", default), shape, attribute, std=std))
        texts.append(text)
    if not any(texts):
        return
    if len(texts) == 1:
        entry["param"] = texts[0]
    else:
        entry["params"] = texts


def bias(layer: Layer, entry: Json, size: int, given: Any, owner: Optional[str] = None) -> None:
    """The bias of a layer: False for none, an attribute, or None for one that starts at 0."""
    if given is False:
        entry["bias"] = False
        return
    if given not in (None, True) and not isinstance(given, ParameterAttribute):
        raise ConfigError(f"bias_attr is {given!r}", "False, None or a ParamAttr are possible")
    attribute = given if isinstance(given, ParameterAttribute) else None
    text = attribute.json(layer.graph.zero_is_none) if attribute is not None else {}
    _no_rows(layer, text)
    default = f"_{owner or layer.name}.wbias"
    if owner is not None and owner != entry.get("name", layer.name) and "name" not in text:
        text["name"] = default
        if attribute is None:
            text["initial_std"] = 0
    layer.parameters.append(Parameter(text.get("name", default), (1, size), attribute, is_bias=True))
    if text or attribute is not None:
        entry["bias_param"] = text


def image_of(layer: Layer, channels: Optional[int]) -> Tuple[int, int, int]:
    """Channels, height and width of what a layer gives; a square image where nothing is said."""
    if layer.image is not None:
        if channels not in (None, layer.image[0]):
            raise ConfigError(f"num_channels is {channels}, but {layer.name} has {layer.image[0]}")
        return layer.image
    channels = channels or 1
    side = math.isqrt(layer.size // channels)
    if side * side * channels != layer.size:
        raise ConfigError(f"{layer.name} has {layer.size} values: no {channels} square images",
                          "give num_channels, or height and width of the data_layer")
    layer.image = (channels, side, side)
    return layer.image


def windows(side: int, size: int, stride: int, padding: int, ceil: bool) -> int:
    """How many windows fit along one side; a last one with no pixel under it does not count."""
    room = side + 2 * padding - size
    if min(size, stride) < 1 or padding < 0:
        raise ConfigError(f"a window of {size} with stride {stride} and padding {padding}", "size and stride are 1 or more, padding is 0 or more")
    if room < 0:
        raise ConfigError(f"a window of {size} does not fit on {side} pixels with padding {padding}")
    n = (room + (stride - 1 if ceil else 0)) // stride + 1
    while n > 1 and (n - 1) * stride >= side + padding:
        n -= 1
    return n
