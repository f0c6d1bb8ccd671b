# SPDX-License-Identifier: Apache-2.0
"""The modules called paddle, put where `import` finds them."""
from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Dict, List, Mapping, Tuple

from . import (_attributes, _costs, _evaluators, _image_networks, _images, _layers, _mixed, _program_words, _provider,
               _recurrent, _refused, _sequences, _settings, _types, _v2, _values)
from ._errors import ConfigError, nearest, working
from ._graph import GRAPH

V1_LAYERS: Dict[str, Any] = {**_layers.LAYERS, **_mixed.LAYERS, **_sequences.LAYERS, **_values.LAYERS, **_images.LAYERS,
                             **_recurrent.LAYERS, **_costs.LAYERS}
NETWORKS: Dict[str, Any] = {"sequence_conv_pool": _layers.sequence_conv_pool, "text_conv_pool": _layers.sequence_conv_pool,
                            **_image_networks.NETWORKS, **_recurrent.NETWORKS}
MORE_V1: Dict[str, Any] = {
    "settings": _settings.settings, "get_config_arg": _settings.get_config_arg,
    "define_py_data_sources2": _provider.define_py_data_sources2, **_program_words.NAMES, **_evaluators.NAMES,
    "L2Regularization": _settings.L2Regularization, "L1Regularization": _settings.L1Regularization,
    "ModelAverage": _settings.ModelAverage,
    "ParamAttr": _attributes.ParamAttr, "ParameterAttribute": _attributes.ParamAttr,
    "ExtraAttr": _attributes.ExtraAttr, "ExtraLayerAttribute": _attributes.ExtraAttr,
    "BaseSGDOptimizer": _settings.BaseSGDOptimizer, **_sequences.NAMES,
}
PARTS = ("layers", "networks", "attrs", "activations", "poolings", "optimizers", "data_sources", "evaluators")


def _module(name: str, names: Dict[str, Any], text: str) -> ModuleType:
    """A module with these names. An unknown one is an error that tells which there are."""
    module = ModuleType(name, text)
    module.__dict__.update(names)
    module.__dict__["__all__"] = [item for item in names if not item.startswith("_")]

    def absent(item: str) -> Any:
        if item.startswith("__"):
            raise AttributeError(item)
        raise ConfigError(f"{name} has no {item}", nearest(item, working(names)))

    module.__dict__["__getattr__"] = absent
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], last, module)
    return module


def v1_names() -> Dict[str, Any]:
    """What `from paddle.trainer_config_helpers import *` gives."""
    names = {**_refused.NAMES, **V1_LAYERS, **NETWORKS, **MORE_V1}
    tables: List[Tuple[Mapping[str, Any], str]] = [
        (_attributes.ACTIVATIONS, "Activation"), (_attributes.NO_ACTIVATIONS, "Activation"),
        (_attributes.POOLINGS, "Pooling"), (_settings.OPTIMIZERS, "Optimizer")]
    for table, suffix in tables:
        names.update({name + suffix: value for name, value in table.items()})
    return names


def install(version: int) -> None:
    """Puts the modules called paddle in front of any that is installed, in this process only.

    version: 1 or 2, by whose defaults cos_sim has a scale, inputs an order, and an l2_rate of 0 a meaning.
    """
    GRAPH.is_v2 = version == 2
    GRAPH.zero_is_none = version == 1
    GRAPH.cos_scale = 5.0 if version == 1 else 1.0
    for name in [item for item in sys.modules if item == "paddle" or item.startswith("paddle.")]:
        del sys.modules[name]
    package = _module("paddle", {}, "EDL's names of PaddlePaddle")
    package.__path__ = []
    helpers = _module("paddle.trainer_config_helpers", v1_names(), "names of trainer_config.py")
    helpers.__path__ = []
    for part in PARTS:
        _module(f"paddle.trainer_config_helpers.{part}", v1_names(), "names of trainer_config.py")
    for math in ("math", "layer_math"):
        _module(f"paddle.trainer_config_helpers.{math}", dict(_values.MATH), "functions of layers")
    helpers.__dict__["__all__"].append("layer_math")
    helpers.__dict__.update({"layer_math": sys.modules["paddle.trainer_config_helpers.layer_math"]})
    trainer = _module("paddle.trainer", {}, "data providers")
    trainer.__path__ = []
    data = {**_types.SUPPORTED, **_types.CONSTANTS, **_types.REFUSED, "provider": _provider.provider,
            "CacheType": _provider.CacheType}
    _module("paddle.trainer.PyDataProvider2", data, "data providers")
    _module("paddle.trainer.config_parser", v1_names(), "names of trainer_config.py")
    _module("paddle.v2", dict(_v2.TOP), "paddle.v2").__path__ = []
    for name, inside in _v2.modules(V1_LAYERS, NETWORKS, _refused.NAMES).items():
        _module(f"paddle.v2.{name}", inside, "names of paddle.v2").__path__ = []
