# SPDX-License-Identifier: Apache-2.0
"""What a layer is given beside its inputs: attributes of parameters, activations, kinds of pooling."""
from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Sequence, Union

from ._errors import ConfigError, checked, refused, without_effect

Json = Dict[str, Any]


class ParameterAttribute:
    """What a parameter has of its own. `learning_rate` is a factor."""

    @checked
    def __init__(self, name: Optional[str] = None, initial_std: Optional[float] = None,
                 initial_mean: Optional[float] = None, initial_max: Optional[float] = None,
                 initial_min: Optional[float] = None, l1_rate: Optional[float] = None,
                 l2_rate: Optional[float] = None, learning_rate: Optional[float] = None,
                 momentum: Optional[float] = None, gradient_clipping_threshold: Optional[float] = None,
                 sparse_update: bool = False, is_static: bool = False) -> None:
        if is_static:  # as good: no gradient and no decay moves it
            learning_rate = 0.0
        if (initial_max is None) != (initial_min is None):
            raise ConfigError("ParamAttr has one of initial_min and initial_max", "give both: even values between them")
        if initial_max is not None and (initial_std is not None or initial_mean is not None):
            raise ConfigError("ParamAttr has initial_min and initial_max, and initial_mean or initial_std",
                              "give two of them: even values, or normal ones")
        self.name = name
        self.values = {"initial_std": initial_std, "initial_mean": initial_mean,
                       "initial_min": initial_min, "initial_max": initial_max, "l1": l1_rate,
                       "l2": l2_rate, "learning_rate": learning_rate, "momentum": momentum,
                       "clipping": gradient_clipping_threshold, "sparse": sparse_update or None}
        for key, value in self.values.items():
            if value is not None and (not isinstance(value, (int, float)) or not math.isfinite(value)):
                raise ConfigError(f"ParamAttr: {key} is {value!r}", "a finite number is possible")

    def json(self, zero_is_none: bool) -> Json:
        """The keys of edl-network(5). zero_is_none: a rate of 0 is one, and not the optimizer's."""
        ret: Json = {} if self.name is None else {"name": self.name}
        for key, value in self.values.items():
            if value is None or (key == "learning_rate" and value == 1):
                continue
            if key in ("l1", "l2", "momentum", "clipping") and value == 0:
                if zero_is_none:
                    ret[key] = False
                continue
            ret[key] = value
        return ret


class ExtraLayerAttribute:
    """What a layer has beside its parameters."""

    @checked
    def __init__(self, error_clipping_threshold: Optional[float] = None, drop_rate: Optional[float] = None,
                 device: Optional[int] = None) -> None:
        if error_clipping_threshold:
            raise ConfigError("ExtraAttr with an error_clipping_threshold is not supported",
                              "gradient_clipping_threshold of settings or of a ParamAttr bounds gradients")
        if device not in (None, -1):
            without_effect("ExtraAttr: device", "one device computes all layers")
        self.drop_rate = drop_rate


def extra_of(given: Any, possible: bool = True, what: str = "") -> ExtraLayerAttribute:
    """A layer_attr that is one; an error where it says what the layer cannot have."""
    if given is not None and not isinstance(given, ExtraLayerAttribute):
        raise ConfigError(f"layer_attr is {given!r}, which is no ExtraAttr")
    extra = ExtraLayerAttribute() if given is None else given
    if extra.drop_rate and not possible:
        raise ConfigError(f"{what} has a drop_rate in its layer_attr, but no values of its own to drop",
                          "leave it out, or put a dropout_layer behind it")
    return extra


ParamAttr = ParameterAttribute
ExtraAttr = ExtraLayerAttribute
Attributes = Union[None, bool, ParameterAttribute, Sequence[ParameterAttribute]]


class BaseActivation:
    """An activation; `word` is its name in a network, empty if no layer has it."""
    word = ""


class TanhActivation(BaseActivation):
    word = "tanh"


class SigmoidActivation(BaseActivation):
    word = "sigmoid"


class SoftmaxActivation(BaseActivation):
    word = "softmax"


class IdentityActivation(BaseActivation):
    word = "linear"


class ReluActivation(BaseActivation):
    word = "relu"


LinearActivation = IdentityActivation


class ExpActivation(BaseActivation):
    word = "exponential"


class LogActivation(BaseActivation):
    word = "log"


class AbsActivation(BaseActivation):
    word = "abs"


class SquareActivation(BaseActivation):
    word = "square"


class BReluActivation(BaseActivation):
    word = "brelu"


class SoftReluActivation(BaseActivation):
    word = "softrelu"


class STanhActivation(BaseActivation):
    word = "stanh"


ACTIVATIONS = {"Tanh": TanhActivation, "Sigmoid": SigmoidActivation, "Softmax": SoftmaxActivation,
               "Identity": IdentityActivation, "Linear": IdentityActivation, "Relu": ReluActivation, "Exp": ExpActivation, "Log": LogActivation,
               "Abs": AbsActivation, "Square": SquareActivation, "BRelu": BReluActivation,
               "SoftRelu": SoftReluActivation, "STanh": STanhActivation}
NO_ACTIVATIONS = {name: refused(f"{name}Activation", "there are: " + ", ".join(sorted(ACTIVATIONS)))
                  for name in ("Sqrt", "Reciprocal", "SequenceSoftmax")}


class BasePoolingType:
    """How many rows become one; `word` as in a network."""
    word = ""


class MaxPooling(BasePoolingType):
    word = "max"

    @checked
    def __init__(self, output_max_index: Optional[bool] = None) -> None:
        if output_max_index:
            raise ConfigError("MaxPooling(output_max_index=True) is not supported", "leave it out: values are pooled")


class AvgPooling(BasePoolingType):
    STRATEGY_AVG = "average"
    STRATEGY_SUM = "sum"
    STRATEGY_SQROOTN = "squarerootn"
    WORDS = {STRATEGY_AVG: "average", STRATEGY_SUM: "sum", STRATEGY_SQROOTN: "square_root"}

    @checked
    def __init__(self, strategy: str = STRATEGY_AVG) -> None:
        if strategy not in self.WORDS:
            raise ConfigError(f"AvgPooling has no strategy {strategy!r} here", "there are: " + ", ".join(self.WORDS))
        self.word = self.WORDS[strategy]


class SumPooling(AvgPooling):
    def __init__(self) -> None:
        super().__init__(AvgPooling.STRATEGY_SUM)


class SquareRootNPooling(AvgPooling):
    def __init__(self) -> None:
        super().__init__(AvgPooling.STRATEGY_SQROOTN)


class CudnnMaxPooling(MaxPooling):
    def __init__(self) -> None:
        super().__init__()


class CudnnAvgPooling(AvgPooling):
    def __init__(self) -> None:
        super().__init__()


POOLINGS = {"Max": MaxPooling, "Avg": AvgPooling, "Sum": SumPooling, "SquareRootN": SquareRootNPooling,
            "CudnnMax": CudnnMaxPooling, "CudnnAvg": CudnnAvgPooling}


def one_of(value: Any, base: type, default: type, argument: str) -> Any:
    """An object of base: the one that was given, as a class or an object, or the default."""
    value = default if value is None else value
    value = value() if isinstance(value, type) else value
    if not isinstance(value, base):
        raise ConfigError(f"{argument} is {value!r}, which is no {base.__name__}")
    return value


def attribute_list(given: Attributes, n: int) -> List[Optional[ParameterAttribute]]:
    """An attribute, or None, for each of n inputs."""
    if isinstance(given, (list, tuple)):
        if len(given) != n:
            raise ConfigError(f"param_attr has {len(given)} attributes for {n} inputs",
                              "give one for each")
        return list(given)
    if given is not None and not isinstance(given, ParameterAttribute):
        raise ConfigError(f"param_attr is {given!r}, which is no ParamAttr")
    return [given] * n
