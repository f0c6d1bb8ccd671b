# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers of the old names, and the networks that are made of one."""
from __future__ import annotations

import inspect
from typing import Any, Dict, Optional

from ._attributes import BaseActivation, IdentityActivation, Json, SigmoidActivation, TanhActivation, extra_of, one_of
from ._errors import ConfigError, checked, nearest
from ._graph import GRAPH, Layer, as_layer
from ._layers import concat_layer
from ._mixed import full_matrix_projection, mixed_layer
from ._parts import bias, weights
from ._sequences import first_seq, last_seq

UNITS = ("linear", "sigmoid", "tanh", "relu")


def _unit(given: Any, default: type, argument: str) -> str:
    word: str = one_of(given, BaseActivation, default, argument).word
    if word not in UNITS:
        raise ConfigError(f"{argument} is {word}, which a recurrent layer has not", "there are: Linear, Sigmoid, Tanh, Relu")
    return word


def _made(kind: str, word: str, parts: int, biases: int, input: Any, name: Optional[str], size: Optional[int], reverse: bool,
          units: Json, bias_attr: Any, param_attr: Any, layer_attr: Any) -> Layer:
    source = as_layer(input)
    if source.size % parts:
        raise ConfigError(f"{source.name} has {source.size} values at each place, which are not {parts} times as many as {word} has",
                          f"give the layer before it size={parts} * the size of {word}")
    own = source.size // parts
    if size not in (None, own):
        raise ConfigError(f"{word}: size is {size}, but {source.name} has {source.size} values, {parts} for each of {own}",
                          f"size={own}")
    layer = GRAPH.add(kind, GRAPH.name(name, word), [source], own)
    entry: Json = {"inputs": [source.name], **units}
    if reverse:
        entry["reverse"] = True
    weights(layer, entry, [(own, parts * own)], param_attr)
    bias(layer, entry, biases * own, bias_attr)
    extra = extra_of(layer_attr)
    if extra.drop_rate:
        entry["dropout"] = extra.drop_rate
    layer.entries.append({"kind": kind, "name": layer.name, **entry})
    return layer


@checked
def lstmemory(input: Any, name: Optional[str] = None, reverse: bool = False, act: Any = None, gate_act: Any = None,
              size: Optional[int] = None, state_act: Any = None, bias_attr: Any = None, param_attr: Any = None,
              layer_attr: Any = None) -> Layer:
    units = {"cell_activation": _unit(act, TanhActivation, "act"), "gate_activation": _unit(gate_act, SigmoidActivation, "gate_act"),
             "state_activation": _unit(state_act, TanhActivation, "state_act")}
    return _made("lstm", "lstmemory", 4, 7, input, name, size, reverse, units, bias_attr, param_attr, layer_attr)


@checked
def grumemory(input: Any, name: Optional[str] = None, reverse: bool = False, act: Any = None, gate_act: Any = None,
              size: Optional[int] = None, bias_attr: Any = None, param_attr: Any = None, layer_attr: Any = None) -> Layer:
    units = {"cell_activation": _unit(act, TanhActivation, "act"), "gate_activation": _unit(gate_act, SigmoidActivation, "gate_act")}
    return _made("gru", "gru", 3, 3, input, name, size, reverse, units, bias_attr, param_attr, layer_attr)


@checked
def recurrent_layer(input: Any, act: Any = None, bias_attr: Any = None, param_attr: Any = None, name: Optional[str] = None,
                    reverse: bool = False, layer_attr: Any = None) -> Layer:
    units = {"cell_activation": _unit(act, TanhActivation, "act")}
    return _made("recurrent", "recurrent_layer", 1, 1, input, name, None, reverse, units, bias_attr, param_attr, layer_attr)


@checked
def simple_lstm(input: Any, size: int, name: Optional[str] = None, reverse: bool = False, mat_param_attr: Any = None,
                bias_param_attr: Any = None, inner_param_attr: Any = None, act: Any = None, gate_act: Any = None,
                state_act: Any = None, mixed_layer_attr: Any = None, lstm_cell_attr: Any = None) -> Layer:
    name = GRAPH.name(name, "lstm")
    entered = mixed_layer(size=4 * size, input=full_matrix_projection(input, param_attr=mat_param_attr),
                          name=f"lstm_transform_{name}", act=IdentityActivation(), layer_attr=mixed_layer_attr)
    return lstmemory(entered, name, reverse, act, gate_act, None, state_act, bias_param_attr, inner_param_attr, lstm_cell_attr)


@checked
def simple_gru(input: Any, size: int, name: Optional[str] = None, reverse: bool = False, mixed_param_attr: Any = None,
               mixed_bias_param_attr: Any = None, mixed_layer_attr: Any = None, gru_bias_attr: Any = None,
               gru_param_attr: Any = None, act: Any = None, gate_act: Any = None, gru_layer_attr: Any = None) -> Layer:
    name = GRAPH.name(name, "simple_gru")
    entered = mixed_layer(size=3 * size, input=full_matrix_projection(input, param_attr=mixed_param_attr),
                          name=f"{name}_transform", bias_attr=True if mixed_bias_param_attr is None else mixed_bias_param_attr,
                          layer_attr=mixed_layer_attr)
    return grumemory(entered, name, reverse, act, gate_act, None, gru_bias_attr, gru_param_attr, gru_layer_attr)


@checked
def simple_gru2(input: Any, size: int, name: Optional[str] = None, reverse: bool = False, mixed_param_attr: Any = None,
                mixed_bias_attr: Any = None, gru_param_attr: Any = None, gru_bias_attr: Any = None, act: Any = None,
                gate_act: Any = None, mixed_layer_attr: Any = None, gru_cell_attr: Any = None) -> Layer:
    return simple_gru(input, size, GRAPH.name(name, "simple_gru2"), reverse, mixed_param_attr, mixed_bias_attr, mixed_layer_attr,
                      gru_bias_attr, gru_param_attr, act, gate_act, gru_cell_attr)


def _split(word: str, one: Any, given: Dict[str, Any]) -> Dict[str, Dict[str, Any]]:
    """fwd_NAME and bwd_NAME: arguments of the two directions."""
    ret: Dict[str, Dict[str, Any]] = {"fwd_": {}, "bwd_": {}}
    known = [name for name in inspect.signature(one).parameters if name not in ("input", "size", "name", "reverse")]
    for name, value in given.items():
        prefix = name[:4]
        if prefix not in ret or name[4:] not in known:
            raise ConfigError(f"{word} has no argument {name} here", nearest(name, [way + item for way in ret for item in known]))
        ret[prefix][name[4:]] = value
    return ret


def _bidirectional(word: str, one: Any) -> Any:
    def both(input: Any, size: int, name: Optional[str] = None, return_seq: bool = False, last_seq_attr: Any = None,
             first_seq_attr: Any = None, concat_attr: Any = None, concat_act: Any = None, **directions: Any) -> Layer:
        """One from the first place on and one from the last, side by side; their last places, or with return_seq all."""
        name, ways = GRAPH.name(name, word), _split(word, one, directions)
        forth = one(input, size, name=f"{name}_fw", **ways["fwd_"])
        back = one(input, size, name=f"{name}_bw", reverse=True, **ways["bwd_"])
        if not return_seq:
            forth = last_seq(forth, name=f"{name}_fw_last", layer_attr=last_seq_attr)
            back = first_seq(back, name=f"{name}_bw_last", layer_attr=first_seq_attr)
        return concat_layer([forth, back], concat_act, name, concat_attr)

    both.__name__ = word
    return both


LAYERS = {"lstmemory": lstmemory, "grumemory": grumemory, "recurrent_layer": recurrent_layer}
NETWORKS = {"simple_lstm": simple_lstm, "simple_gru": simple_gru, "simple_gru2": simple_gru2,
            "bidirectional_lstm": _bidirectional("bidirectional_lstm", simple_lstm),
            "bidirectional_gru": _bidirectional("bidirectional_gru", simple_gru2)}
