# SPDX-License-Identifier: Apache-2.0
"""paddle.v2: its modules and what they hold."""
from __future__ import annotations

import os
import pickle
from typing import Any, Dict, Mapping

from . import (_attributes, _evaluators, _events, _imikolov, _infer, _init, _layers, _movielens, _optimizer, _parameters,
               _reader, _sequences, _sets, _sgd, _topology, _types)
from edl.dataset import convert

from ._errors import checked, refused

RENAMED = {"cross_entropy": "cross_entropy_cost", "maxid_layer": "max_id",
           "multi_binary_label_cross_entropy": "multi_binary_label_cross_entropy_cost"}
# those of which no reader is here, and their names
ABSENT_SETS = {"conll05": "test get_dict get_embedding", "sentiment": "train test get_word_dict", "wmt14": "train test gen get_dict model",
               "flowers": "train test valid", "voc2012": "train test val", "mq2007": "train test"}


def _convert(output_path: str, reader: Any, line_count: int, name_prefix: str) -> None:
    """Samples as pickles in numbered RecordIO files, in another order within each file; texts are pickles as well."""
    convert(output_path, reader, line_count, name_prefix, "snappy", encode=lambda sample: pickle.dumps(sample, 2))


def layer_names(v1: Mapping[str, Any], unsupported: Mapping[str, Any]) -> Dict[str, Any]:
    """The names of paddle.layer: those of v1 without _layer behind."""
    ret = {}
    for name, value in {**unsupported, **v1}.items():
        short = name[:-len("_layer")] if name.endswith("_layer") else name
        ret[RENAMED.get(name, short)] = value
    ret["data"] = _layers.typed_data_layer
    ret.update(_sequences.NAMES)
    ret["parse_network"] = _topology.parse_network
    return ret


def modules(v1: Mapping[str, Any], networks: Mapping[str, Any], unsupported: Mapping[str, Any]) -> Dict[str, Dict[str, Any]]:
    """Name of a module below paddle.v2 → its names."""
    sets: Dict[str, Dict[str, Any]] = {
        name: {word: refused(f"dataset.{name}", "a reader of your own reads its files") for word in words.split()}
        for name, words in ABSENT_SETS.items()}
    sets.update(_sets.SETS)
    sets["imikolov"] = _imikolov.NAMES
    sets["movielens"] = _movielens.NAMES
    sets["common"] = {"convert": checked(_convert), "download": _sets.download, "DATA_HOME": os.path.expanduser(_sets.HOME)}
    ret: Dict[str, Dict[str, Any]] = {
        "layer": layer_names(v1, unsupported),
        "networks": dict(networks),
        "activation": {**_attributes.ACTIVATIONS, **_attributes.NO_ACTIVATIONS},
        "pooling": dict(_attributes.POOLINGS),
        "attr": {"Param": _attributes.ParamAttr, "ParamAttr": _attributes.ParamAttr,
                 "Extra": _attributes.ExtraAttr, "ExtraAttr": _attributes.ExtraAttr},
        "data_type": {**_types.SUPPORTED, **_types.CONSTANTS, **_types.REFUSED},
        "optimizer": _optimizer.NAMES,
        "parameters": _parameters.NAMES,
        "trainer": _sgd.NAMES,
        "topology": _topology.NAMES,
        "evaluator": _evaluators.v2_names(),
        "inference": _infer.NAMES,
        "event": _events.NAMES,
        "reader": _reader.DECORATORS,
        "reader.creator": _reader.CREATORS,
        "minibatch": {"batch": _reader.batch},
        "dataset": {},
    }
    ret.update({f"dataset.{name}": names for name, names in sets.items()})
    return ret


TOP: Dict[str, Any] = {
    "init": _init.init, "batch": _reader.batch,
    "infer": _infer.infer}
