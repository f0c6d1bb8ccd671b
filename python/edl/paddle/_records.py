# SPDX-License-Identifier: Apache-2.0
"""A data set as edl-trainer reads it: RecordIO files and data.json in a folder."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, Iterable, List, Sequence

from .._recordio import Writer
from ._errors import ConfigError, nearest
from ._graph import Layer
from ._types import encode

CHUNK_RECORDS = 1000
CHUNK_BYTES = 8 << 20


def places_of(inputs: Sequence[Layer], feeding: Any) -> List[int]:
    """For each input its place in a sample."""
    if feeding is None:
        feeding = [layer.name for layer in sorted(inputs, key=lambda item: item.serial)]
    at = dict(feeding) if isinstance(feeding, dict) else {name: i for i, name in enumerate(feeding)}
    for layer in inputs:
        if layer.name not in at:
            raise ConfigError(f"feeding does not name the data layer {layer.name}", nearest(layer.name, at))
    return [at[layer.name] for layer in inputs]


def record(inputs: Sequence[Layer], sample: Sequence[Any], where: str) -> bytes:
    """One sample. where names it in the error for a value that an input cannot have."""
    if len(sample) != len(inputs):
        raise ConfigError(f"{where} has {len(sample)} values, but there are {len(inputs)} inputs: " +
                          ", ".join(layer.name for layer in inputs), "", "")
    parts = []
    for layer, value in zip(inputs, sample):
        try:
            parts.append(encode(layer.input_type, value))
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{where}, input {layer.name} ({layer.input_type}): {error}", "", "") from None
    return b"".join(parts)


def write_file(folder: str, part: str, inputs: Sequence[Layer], samples: Iterable[Sequence[Any]]) -> int:
    """PART-00000-of-00001.recordio of the samples; how many there were."""
    path = os.path.join(folder, f"{part}-00000-of-00001.recordio")
    with Writer(path, "none", CHUNK_BYTES, CHUNK_RECORDS) as writer:
        for i, sample in enumerate(samples):
            writer.write(record(inputs, sample, f"{part} sample {i}"))
    return writer.n


def write_description(folder: str, inputs: Sequence[Layer], counts: Dict[str, int]) -> None:
    """data.json, which says what the records hold."""
    text: Dict[str, Any] = {"inputs": [{"name": layer.name, "kind": layer.input_type.kind, "size": layer.size}
                                       for layer in inputs], **counts}
    with open(os.path.join(folder, "data.json"), "w", encoding="utf-8") as file:
        json.dump(text, file, indent=1)
        file.write("\n")
