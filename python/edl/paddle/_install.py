# SPDX-License-Identifier: Apache-2.0
"""The modules called paddle, put where `import` finds them."""
from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Dict, List, Mapping, Tuple

from . import _attributes, _images, _layers, _mixed, _provider, _settings, _types, _v2
from ._errors import ConfigError, nearest, refused
from ._graph import GRAPH

V1_LAYERS: Dict[str, Any] = {
    "data_layer": _layers.data_layer, "fc_layer": _layers.fc_layer,
    "embedding_layer": _layers.embedding_layer, "mixed_layer": _mixed.mixed_layer,
    "pooling_layer": _layers.pooling_layer, "concat_layer": _layers.concat_layer,
    "addto_layer": _layers.addto_layer, "dropout_layer": _layers.dropout_layer,
    "cos_sim": _layers.cos_sim, "img_conv_layer": _images.img_conv_layer,
    "img_pool_layer": _images.img_pool_layer, "batch_norm_layer": _images.batch_norm_layer,
    "regression_cost": _layers.regression_cost, "square_error_cost": _layers.regression_cost,
    "mse_cost": _layers.regression_cost, "classification_cost": _layers.classification_cost,
    "cross_entropy": _layers.cross_entropy, "table_projection": _mixed.table_projection,
    "full_matrix_projection": _mixed.full_matrix_projection,
    "trans_full_matrix_projection": _mixed.trans_full_matrix_projection,
    "identity_projection": _mixed.identity_projection,
    "context_projection": _mixed.context_projection,
}
NETWORKS: Dict[str, Any] = {
    "sequence_conv_pool": _layers.sequence_conv_pool, "text_conv_pool": _layers.sequence_conv_pool,
    "simple_img_conv_pool": _images.simple_img_conv_pool, "img_conv_group": _images.img_conv_group,
}
MORE_V1: Dict[str, Any] = {
    "settings": _settings.settings, "get_config_arg": _settings.get_config_arg,
    "define_py_data_sources2": _provider.define_py_data_sources2, "outputs": _layers.outputs,
    "L2Regularization": _settings.L2Regularization, "ModelAverage": _settings.ModelAverage,
    "ParamAttr": _attributes.ParamAttr, "ParameterAttribute": _attributes.ParamAttr,
    "ExtraAttr": _attributes.ExtraAttr, "ExtraLayerAttribute": _attributes.ExtraAttr,
    "BaseSGDOptimizer": _settings.BaseSGDOptimizer,
}
PARTS = ("layers", "networks", "attrs", "activations", "poolings", "optimizers", "data_sources")
UNSUPPORTED = (
    "lstmemory", "grumemory", "simple_lstm", "simple_gru", "bidirectional_lstm", "recurrent_layer",
    "recurrent_group", "memory", "first_seq", "last_seq", "expand_layer", "maxid_layer", "hsigmoid",
    "nce_layer", "crf_layer", "crf_decoding_layer", "ctc_layer", "rank_cost", "huber_cost",
    "multi_binary_label_cross_entropy", "dotmul_projection", "dotmul_operator", "conv_operator",
    "scaling_layer", "interpolation_layer", "power_layer", "slope_intercept_layer", "tensor_layer",
    "selective_fc_layer", "sampling_id_layer", "maxout_layer", "img_cmrnorm_layer", "small_vgg",
    "vgg_16_network", "beam_search", "eos_layer", "classification_error_evaluator", "auc_evaluator",
    "sum_evaluator", "define_py_data_sources")


def _module(name: str, names: Dict[str, Any], text: str) -> ModuleType:
    """A module with these names. An unknown one is an error that tells which there are."""
    module = ModuleType(name, text)
    module.__dict__.update(names)
    module.__dict__["__all__"] = [item for item in names if not item.startswith("_")]

    def absent(item: str) -> Any:
        if item.startswith("__"):
            raise AttributeError(item)
        raise ConfigError(f"{name} has no {item}",
                          nearest(item, [key for key in names if key not in UNSUPPORTED]))

    module.__dict__["__getattr__"] = absent
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], last, module)
    return module


def v1_names() -> Dict[str, Any]:
    """What `from paddle.trainer_config_helpers import *` gives."""
    names = {**V1_LAYERS, **NETWORKS, **MORE_V1}
    names.update({name: refused(name, "edl-trainer-config(5) lists what there is") for name in UNSUPPORTED})
    tables: List[Tuple[Mapping[str, Any], str]] = [
        (_attributes.ACTIVATIONS, "Activation"), (_attributes.NO_ACTIVATIONS, "Activation"),
        (_attributes.POOLINGS, "Pooling"), (_attributes.NO_POOLINGS, "Pooling"),
        (_settings.OPTIMIZERS, "Optimizer")]
    for table, suffix in tables:
        names.update({name + suffix: value for name, value in table.items()})
    return names


def install(version: int) -> None:
    """Puts the modules called paddle in front of any that is installed, in this process only.

    version: 1 or 2, by whose defaults cos_sim has a scale, and an l2_rate of 0 a meaning.
    """
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
    trainer = _module("paddle.trainer", {}, "data providers")
    trainer.__path__ = []
    data = {**_types.SUPPORTED, **_types.REFUSED, "provider": _provider.provider,
            "CacheType": _provider.CacheType}
    _module("paddle.trainer.PyDataProvider2", data, "data providers")
    _module("paddle.v2", dict(_v2.TOP), "paddle.v2").__path__ = []
    absent = {name: v1_names()[name] for name in UNSUPPORTED}
    for name, inside in _v2.modules(V1_LAYERS, NETWORKS, absent).items():
        _module(f"paddle.v2.{name}", inside, "names of paddle.v2").__path__ = []
