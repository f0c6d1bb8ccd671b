# SPDX-License-Identifier: Apache-2.0
"""A configuration as the network that edl-trainer reads: edl-network(5)."""
from __future__ import annotations

import json
from typing import Any, Dict, List, Sequence, Tuple

from ._attributes import Json
from ._errors import ConfigError
from ._graph import Layer, behind
from ._types import InputType, dense_vector, dense_vector_sequence, integer_value, integer_value_sequence

POOLS = ("text_conv_pool", "seqpool")  # make one row of a sequence
COSTS = ("cross_entropy", "square_error", "binary_cross_entropy", "rank", "smooth_l1", "sum", "crf", "class_tree")


def inputs_of(layers: Sequence[Layer]) -> List[Layer]:
    """The data layers among them, in the order of inputs(), else in that in which the outputs need them, or of v2 are defined."""
    found = [layer for layer in layers if layer.kind == "data"]
    order = {layer.serial: i for i, layer in enumerate(found[0].graph.inputs if found else [])}
    if not order:
        return sorted(found, key=lambda layer: layer.serial) if found and found[0].graph.is_v2 else found
    missing = next((layer.name for layer in found if layer.serial not in order), None)
    if missing is not None:
        raise ConfigError(f"inputs() leaves out {missing}, which the outputs need", f"inputs(..., {missing})", "")
    return sorted(found, key=lambda layer: order[layer.serial])


def fed_of(layers: Sequence[Layer]) -> List[Layer]:
    """What a sample has values of: all of inputs(), also those that nothing needs."""
    needed = inputs_of(layers)
    return list(needed[0].graph.inputs or needed) if needed else []


def _takes_ids(layer: Layer) -> List[Layer]:
    """The inputs whose ids a layer looks up, in a table of its own or in one of its parts."""
    by_name = {item.name: item for item in layer.inputs}
    return [by_name[name] for entry in layer.entries if entry["kind"] == "table"
            for name in entry["inputs"] if name in by_name]


def _sequences(layers: Sequence[Layer]) -> Dict[int, Layer]:
    """The data layers that a layer over a sequence is behind, without a pooling between."""
    found: Dict[int, Layer] = {}
    seen: Dict[int, Layer] = {}

    def back(layer: Layer) -> None:
        if layer.serial in seen:
            return
        seen[layer.serial] = layer
        if layer.kind == "data":
            found[layer.serial] = layer
        elif layer.kind not in POOLS:
            for item in layer.inputs[1:] if layer.kind == "expand" else layer.inputs:
                back(item)

    for layer in layers:
        kinds = {entry["kind"] for entry in layer.entries}
        if layer.kind in POOLS or kinds & {"seqpool", "context", "lstm", "gru", "recurrent"}:
            for item in layer.inputs:
                back(item)
        elif layer.kind in ("expand", "crf"):
            back(layer.inputs[1 if layer.kind == "expand" else 0])
    return found


def _has_places(layer: Layer, sequences: Dict[int, Layer]) -> bool:
    """A layer has a row for each place of a sequence, not one a sample."""
    if layer.kind == "data":
        return layer.serial in sequences or (layer.input_type is not None and "sequence" in layer.input_type.kind)
    if layer.kind in POOLS or any(entry["kind"] in POOLS for entry in layer.entries):
        return False
    return any(_has_places(item, sequences) for item in (layer.inputs[1:] if layer.kind == "expand" else layer.inputs))


def _check_classes(layer: Layer, at_places: bool) -> None:
    """A label has the classes of its data; where nothing tells them, as many as its softmax has outputs."""
    if layer.input_type is None:
        kind = integer_value_sequence if at_places else integer_value
        layer.input_type = kind(layer.size if 1 < layer.size <= layer.classes else layer.classes)
    if layer.input_type.kind not in ("integer", "integer_sequence") or layer.input_type.dim > layer.classes:
        raise ConfigError(f"the label {layer.name} is {layer.input_type}, but its layer has {layer.classes} outputs",
                          f"integer_value({layer.classes})", "")
    layer.size = layer.input_type.dim


def settle_types(layers: Sequence[Layer]) -> None:
    """Gives each data layer without a type the one that its use tells: ids, a sequence, values."""
    ids = {item.serial for layer in layers for item in _takes_ids(layer)}
    sequences = _sequences(layers)
    for layer in inputs_of(layers):
        if layer.ids_are is not None and layer.input_type is not None and layer.input_type.kind == "integer":
            layer.input_type = layer.ids_are(layer.input_type)
            layer.size = layer.input_type.dim
        if layer.classes:
            of = next((item.inputs[0] for item in layers if item.label is layer), layer)
            _check_classes(layer, _has_places(of, sequences))
        elif layer.input_type is None:
            if layer.serial not in ids:
                layer.input_type = (dense_vector_sequence if layer.serial in sequences else dense_vector)(layer.size)
            elif layer.serial in sequences:
                layer.input_type = integer_value_sequence(layer.size)
            else:
                layer.input_type = integer_value(layer.size)


def check_types(layers: Sequence[Layer], types: Sequence[InputType]) -> None:
    """Takes the types of the data; an error where a layer has another size."""
    inputs = fed_of(layers)
    if len(types) != len(inputs):
        raise ConfigError(f"the data have {len(types)} inputs, but the network has {len(inputs)}: " +
                          ", ".join(layer.name for layer in inputs), "one type for each", "")
    for layer, kind in zip(inputs, types):
        of_ids = layer.ids_are(kind) if layer.ids_are is not None and kind.kind == "integer" else kind
        if of_ids.dim != layer.size and not layer.classes:
            raise ConfigError(f"data layer {layer.name} has size {layer.size}, but its data are {kind}",
                              "give both the same size", "")
        layer.input_type = kind


def _input(layer: Layer) -> Json:
    ret: Json = {"name": layer.name, "type": layer.input_type.kind, "size": layer.size}
    if layer.image is not None:
        ret.update(zip(("channels", "height", "width"), layer.image))
    return ret


def _softmax_copies(layers: Sequence[Layer]) -> Dict[int, Layer]:
    """The layers whose softmax a cross entropy takes, and something else as well. A cross entropy keeps its softmax to itself."""
    ret = {}
    for cost in layers:
        if cost.kind == "cross_entropy" and "dropout" not in cost.inputs[0].entries[-1]:
            source = cost.inputs[0]
            if sum(source in layer.inputs for layer in layers) > 1:
                ret[source.serial] = source
    return ret


def _softmax_of(name: str, source: str) -> Json:
    return {"kind": "addition", "name": name, "inputs": [source], "activation": "softmax"}


def _split(layers: Sequence[Layer], outputs: Sequence[Layer]) -> Tuple[Dict[int, List[Json]], Dict[int, str]]:
    """Entries of each layer, where shared softmaxes are computed once for each cost, and once for all others; the names of outputs.

    The layer itself keeps its name, after which its parameters are called, and becomes linear."""
    shared = {source.name: source for source in _softmax_copies(layers).values()}
    others = {source.name: f"{source.name}_softmax" for source in shared.values()
              if source in outputs or any(source in layer.inputs and layer.kind != "cross_entropy" for layer in layers)}
    entries: Dict[int, List[Json]] = {}
    for layer in layers:
        own = []
        for entry in layer.entries:
            entry = {**entry, **({"inputs": [others.get(name, name) for name in entry["inputs"]]} if "inputs" in entry else {})}
            if entry["name"] in shared:
                own.append({**entry, "activation": "linear"})
                own += [_softmax_of(others[name], name) for name in [entry["name"]] if name in others]
                own += [_softmax_of(f"{cost.name}_softmax", entry["name"]) for cost in layers
                        if cost.kind == "cross_entropy" and cost.inputs[0] is layer]
                continue
            if entry.get("input") in shared:
                entry["input"] = f"{layer.name}_softmax" if layer.kind == "cross_entropy" else others[entry["input"]]
            own.append(entry)
        entries[layer.serial] = own
    return entries, {layer.serial: others.get(layer.name, layer.name) for layer in outputs}


def network(outputs: Sequence[Layer], training: Json, name: str) -> Json:
    """The network of these outputs: costs, and layers whose values are wanted. Every data layer has its type."""
    costs = [layer for layer in outputs if layer.kind in COSTS]
    values = [layer for layer in outputs if layer.kind not in COSTS]
    if any(layer.kind == "data" for layer in values):
        raise ConfigError("outputs() has a data_layer, which computes nothing", "name a layer behind it", "")
    layers = behind(outputs)
    decoding = next((layer.name for layer in layers if layer.kind == "crf_decoding"), None)
    if decoding is not None:
        raise ConfigError(f"{decoding}: the values of a crf_decoding_layer are not supported", "name crf_layer for a training", "")
    split, names = _split(layers, outputs)
    entries = [entry for layer in sorted(layers, key=lambda item: item.serial)
               if layer.kind not in COSTS for entry in split[layer.serial]]
    texts = [split[cost.serial][0] for cost in costs]
    ret: Json = {"name": name, "inputs": [_input(layer) for layer in inputs_of(layers)], "layers": entries}
    if values:
        ret["outputs"] = [names[layer.serial] for layer in values]
    if texts:
        ret["cost"] = texts[0] if len(texts) == 1 else texts
    return {**ret, "training": training}


def to_text(value: Json) -> str:
    """JSON with a line for each input and layer, so that an error's line is one of them."""
    def lines(items: Sequence[Any]) -> str:
        return "[\n" + ",\n".join("    " + json.dumps(item) for item in items) + "\n  ]"

    parts = [f"  {json.dumps(key)}: " + (lines(item) if key in ("inputs", "layers") else json.dumps(item))
             for key, item in value.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"
