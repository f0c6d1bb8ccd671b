# SPDX-License-Identifier: Apache-2.0
"""paddle.v2.topology: the layers behind some outputs, and the network that they are."""
from __future__ import annotations

from typing import Any, Dict, List, Tuple

from . import _model_files as files
from ._errors import ConfigError, nearest
from ._graph import Layer, as_layers, behind
from ._network import inputs_of, network, settle_types, to_text
from ._types import InputType


class Topology:
    """What `layers` need. Its text is that of edl-network(5), not PaddlePaddle's ModelConfig."""

    def __init__(self, layers: Any, extra_layers: Any = None) -> None:
        self.outputs = as_layers(layers, "layers") + ([] if extra_layers is None else as_layers(extra_layers, "extra_layers"))
        self.layers: List[Layer] = behind(self.outputs)

    def proto(self) -> str:
        settle_types(self.layers)
        return to_text(network(self.outputs, {}, "topology"))

    def get_layer(self, name: str) -> Layer:
        found = {layer.name: layer for layer in self.layers}
        if name not in found:
            raise ConfigError(f"there is no layer {name}", nearest(name, found))
        return found[name]

    def data_layers(self) -> Dict[str, Layer]:
        return {layer.name: layer for layer in inputs_of(self.layers)}

    def data_type(self) -> List[Tuple[str, InputType]]:
        settle_types(self.layers)
        return [(layer.name, layer.input_type) for layer in inputs_of(self.layers)]

    def serialize_for_inference(self, stream: Any) -> None:
        """The network's text, which edl-trainer infer takes with --config."""
        files.binary(stream).write(self.proto().encode())


def parse_network(*outputs: Any) -> str:
    """The text of the network of these layers."""
    return Topology(list(outputs[0]) if len(outputs) == 1 and isinstance(outputs[0], (list, tuple)) else list(outputs)).proto()


NAMES = {"Topology": Topology}
