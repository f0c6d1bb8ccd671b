# SPDX-License-Identifier: Apache-2.0
"""The layers of the old names over sequences of rows, but for sequence_conv_pool."""
from __future__ import annotations

from typing import Any, Optional

from ._attributes import BasePoolingType, MaxPooling, one_of
from ._errors import ConfigError, checked
from ._graph import GRAPH, Layer, as_layer
from ._parts import finish_biased


class AggregateLevel:
    """A sequence is of rows here, never of sequences."""
    TO_NO_SEQUENCE = EACH_TIMESTEP = "non-seq"
    TO_SEQUENCE = EACH_SEQUENCE = "seq"


class ExpandLevel:
    FROM_NO_SEQUENCE = FROM_TIMESTEP = AggregateLevel.TO_NO_SEQUENCE
    FROM_SEQUENCE = AggregateLevel.TO_SEQUENCE


def _whole(what: str, level: Any) -> None:
    if level not in (None, 0, AggregateLevel.TO_NO_SEQUENCE):
        raise ConfigError(f"{what} is {level!r}: sequences of sequences are not supported", "leave it out")


def _pooled(word: str, input: Any, pooling: str, name: Optional[str], bias_attr: Any, layer_attr: Any) -> Layer:
    source = as_layer(input)
    layer = GRAPH.add("seqpool", GRAPH.name(name, word), [source], source.size)
    return finish_biased(layer, {"inputs": [source.name], "pooling": pooling}, bias_attr, extra=layer_attr)


@checked
def pooling_layer(input: Any, pooling_type: Any = None, name: Optional[str] = None, bias_attr: Any = None,
                  agg_level: Any = None, layer_attr: Any = None) -> Layer:
    _whole("agg_level", agg_level)
    kind = one_of(pooling_type, BasePoolingType, MaxPooling, "pooling_type")
    return _pooled("seq_pooling", input, kind.word, name, bias_attr or False, layer_attr)


def _end(word: str, pooling: str) -> Any:
    def end(input: Any, name: Optional[str] = None, agg_level: Any = None, stride: int = -1,
            layer_attr: Any = None) -> Layer:
        _whole("agg_level", agg_level)
        if stride != -1:
            raise ConfigError(f"{word} with a stride is not supported", "leave it out")
        return _pooled(word, input, pooling, name, False, layer_attr)

    end.__name__ = word
    return checked(end)


@checked
def expand_layer(input: Any, expand_as: Any, name: Optional[str] = None, bias_attr: Any = False,
                 expand_level: Any = None, layer_attr: Any = None) -> Layer:
    """The one row of a sample at each place of its sequence."""
    _whole("expand_level", expand_level)
    source, like = as_layer(input), as_layer(expand_as, "expand_as")
    layer = GRAPH.add("expand", GRAPH.name(name, "expand_layer"), [source, like], source.size)
    return finish_biased(layer, {"inputs": [source.name, like.name]}, bias_attr or False, extra=layer_attr)


first_seq, last_seq = _end("first_seq", "first"), _end("last_seq", "last")
LAYERS = {"pooling_layer": pooling_layer, "first_seq": first_seq, "last_seq": last_seq,
          "expand_layer": expand_layer}
NAMES = {"AggregateLevel": AggregateLevel, "ExpandLevel": ExpandLevel}
