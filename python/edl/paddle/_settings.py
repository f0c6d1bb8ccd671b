# SPDX-License-Identifier: Apache-2.0
"""How a configuration is to be trained: settings(), optimizers, and arguments from outside."""
from __future__ import annotations

import functools
from typing import Any, Dict, Optional

from ._attributes import Json
from ._errors import ConfigError, checked, without_effect
from ._graph import GRAPH


class BaseSGDOptimizer:
    """An optimizer: its keys in a network's training; whether an L2 acts, and whether it follows a schedule."""
    decays = follows = True

    def __init__(self, method: str, **keys: Any) -> None:
        self.keys: Json = {"method": method, **{k: v for k, v in keys.items() if v is not None}}


class MomentumOptimizer(BaseSGDOptimizer):
    @checked
    def __init__(self, momentum: Optional[float] = None, sparse: bool = False) -> None:
        if sparse:
            raise ConfigError("MomentumOptimizer(sparse=True) is not supported",
                              "momentum=0 moves only the rows of a batch")
        super().__init__("momentum", momentum=momentum)


class AdamOptimizer(BaseSGDOptimizer):
    decays = False

    @checked
    def __init__(self, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8) -> None:
        super().__init__("adam", beta1=beta1, beta2=beta2, epsilon=epsilon)


class AdamaxOptimizer(BaseSGDOptimizer):
    decays = follows = False

    @checked
    def __init__(self, beta1: float = 0.9, beta2: float = 0.999) -> None:
        super().__init__("adamax", beta1=beta1, beta2=beta2)


class AdaGradOptimizer(BaseSGDOptimizer):
    follows = False

    @checked
    def __init__(self) -> None:
        super().__init__("adagrad")


class DecayedAdaGradOptimizer(BaseSGDOptimizer):
    @checked
    def __init__(self, rho: float = 0.95, epsilon: float = 1e-6) -> None:
        super().__init__("decayed_adagrad", rho=rho, epsilon=epsilon)


class AdaDeltaOptimizer(BaseSGDOptimizer):
    @checked
    def __init__(self, rho: float = 0.95, epsilon: float = 1e-6) -> None:
        super().__init__("adadelta", rho=rho, epsilon=epsilon)


class RMSPropOptimizer(BaseSGDOptimizer):
    @checked
    def __init__(self, rho: float = 0.95, epsilon: float = 1e-6) -> None:
        super().__init__("rmsprop", rho=rho, epsilon=epsilon)


OPTIMIZERS = {"Momentum": MomentumOptimizer, "Adam": AdamOptimizer, "Adamax": AdamaxOptimizer,
              "AdaGrad": AdaGradOptimizer, "DecayedAdaGrad": DecayedAdaGradOptimizer,
              "AdaDelta": AdaDeltaOptimizer, "RMSProp": RMSPropOptimizer}


class L2Regularization:
    @checked
    def __init__(self, rate: float) -> None:
        self.rate = rate


class L1Regularization:
    @checked
    def __init__(self, rate: float) -> None:
        self.rate = rate


class ModelAverage:
    """What is tested and saved is the mean of the values over the last updates, not the last values."""

    @checked
    def __init__(self, average_window: float, max_average_window: Optional[int] = None,
                 do_average_in_cpu: bool = False) -> None:
        if do_average_in_cpu:
            without_effect("ModelAverage: do_average_in_cpu", "the average is always in the program's memory")
        self.keys: Json = {"average_window": average_window}
        if max_average_window is not None:
            self.keys["max_average_window"] = max_average_window


REGULARIZATIONS = {"L2Regularization": (L2Regularization, "l2"), "L1Regularization": (L1Regularization, "l1")}
_SCHEDULES = ("constant", "poly", "caffe_poly", "exp", "discexp", "linear", "manual", "pass_manual")


def _schedule(name: str, a: float, b: float, args: str) -> Json:
    if name not in _SCHEDULES:
        raise ConfigError(f"learning_rate_schedule is {name!r}", "there are: " + ", ".join(_SCHEDULES))
    steps = name in ("manual", "pass_manual")
    if args and not steps:
        raise ConfigError(f"learning_rate_args is {args!r}, but the schedule {name} has no use for it",
                          "learning_rate_decay_a and learning_rate_decay_b are its numbers")
    if (a or b) and (steps or name == "constant"):
        raise ConfigError(f"learning_rate_decay_a is {a}, learning_rate_decay_b {b}, but the schedule {name} has no "
                          "use for them", "leave them out")
    if name == "constant" or (name == "poly" and not a and not b):
        return {}
    return {"schedule": name, **({"schedule_args": args} if steps else {"schedule_a": a, "schedule_b": b})}


@checked
def training(batch_size: Optional[int], learning_rate: float = 1e-3, learning_rate_decay_a: float = 0.0,
             learning_rate_decay_b: float = 0.0, learning_rate_schedule: Optional[str] = "poly",
             learning_rate_args: str = "", learning_method: Optional[BaseSGDOptimizer] = None,
             regularization: Any = None, is_async: Optional[bool] = None, model_average: Any = None,
             gradient_clipping_threshold: Optional[float] = None, average_window: float = 0,
             max_average_window: Optional[int] = None, do_average_in_cpu: bool = False) -> Json:
    """What a network's training says. is_async=False: an error where several trainers share servers."""
    method = MomentumOptimizer() if learning_method is None else learning_method
    if isinstance(method, type):
        method = method()
    if not isinstance(method, BaseSGDOptimizer):
        raise ConfigError(f"learning_method is {method!r}",
                          "there are: " + ", ".join(f"{name}Optimizer" for name in OPTIMIZERS))
    if average_window:
        model_average = ModelAverage(average_window, max_average_window, do_average_in_cpu)
    elif max_average_window or do_average_in_cpu:
        raise ConfigError("max_average_window and do_average_in_cpu are about an average, and there is no average_window",
                          "average_window=0.5")
    if model_average is not None and not isinstance(model_average, ModelAverage):
        raise ConfigError(f"model_average is {model_average!r}", "there is: ModelAverage(average_window)")
    rules = regularization if isinstance(regularization, (list, tuple)) else [regularization]
    ret: Json = {**method.keys, "learning_rate": learning_rate}
    if batch_size is not None:
        ret["batch_size"] = batch_size
    for rule in rules:
        key = next((key for kind, key in REGULARIZATIONS.values() if isinstance(rule, kind)), "")
        if key:
            ret[key] = rule.rate
        elif rule is not None:
            raise ConfigError(f"regularization is {rule!r}", "there are: " + ", ".join(REGULARIZATIONS))
    if model_average is not None:
        ret.update(model_average.keys)
    if gradient_clipping_threshold:
        ret["clipping"] = gradient_clipping_threshold
    ret.update(_schedule(learning_rate_schedule or "constant", learning_rate_decay_a, learning_rate_decay_b,
                         learning_rate_args))
    if is_async is not None:
        ret["asynchronous"] = int(bool(is_async))
    if (ret.get("l2") or ret.get("l1")) and not method.decays:
        for key in ("l1", "l2"):
            ret.pop(key, None)
        without_effect("regularization", f"{type(method).__name__} takes none into account, as in PaddlePaddle")
    if "schedule" in ret and not method.follows:
        raise ConfigError(f"{type(method).__name__} follows no schedule", "leave learning_rate_schedule and the numbers "
                          "of its decay out")
    return ret


@functools.wraps(training)
def settings(*args: Any, **kwargs: Any) -> None:
    """Sets what the network's training says."""
    GRAPH.settings = training(*args, **kwargs)


_TRUTH: Dict[str, bool] = {"True": True, "true": True, "1": True, "False": False, "false": False,
                           "0": False}


@checked
def get_config_arg(name: str, type: Any, default: Any = None) -> Any:
    """An argument of --config_args=NAME=VALUE,... as the type says; the default if it is not there."""
    text = GRAPH.arguments.get(name)
    if text is None:
        return default
    if type is bool:
        if text not in _TRUTH:
            raise ConfigError(f"--config_args: {name} is {text!r}", "True or False are possible")
        return _TRUTH[text]
    try:
        return type(text)
    except ValueError:
        raise ConfigError(f"--config_args: {name} is {text!r}, which is no {type.__name__}",
                          f"--config_args={name}=VALUE") from None
