# SPDX-License-Identifier: Apache-2.0
"""paddle.v2.optimizer: an optimizer together with the rates that settings() has in a configuration."""
from __future__ import annotations

from typing import Any

from ._errors import ConfigError, nearest, without_effect
from . import _settings as v1


class Optimizer:
    """`training`: what a network says of it."""

    def __init__(self, method: v1.BaseSGDOptimizer, **rates: Any) -> None:
        if rates.pop("batch_size", None) is not None:
            without_effect("optimizer: batch_size", "paddle.batch(reader, batch_size) makes the batches")
        self.training = v1.training(None, learning_method=method, **rates)


RATES = ("learning_rate", "learning_rate_decay_a", "learning_rate_decay_b", "learning_rate_schedule",
         "learning_rate_args", "regularization", "is_async", "model_average", "gradient_clipping_threshold",
         "batch_size", "average_window", "max_average_window", "do_average_in_cpu")


def _kind(name: str, method: type) -> type:
    import inspect
    own = [key for key in inspect.signature(method).parameters if key != "self"]

    class Kind(Optimizer):
        def __init__(self, *args: Any, **given: Any) -> None:
            for key in given:
                if key not in RATES and key not in own:
                    raise ConfigError(f"optimizer.{name} has no argument {key}", nearest(key, RATES + tuple(own)))
            made = method(*args, **{key: value for key, value in given.items() if key in own})
            super().__init__(made, **{key: value for key, value in given.items() if key not in own})

    Kind.__name__ = name
    return Kind


NAMES = {**{name: _kind(name, method) for name, method in v1.OPTIMIZERS.items()}, "Optimizer": Optimizer,
         "L2Regularization": v1.L2Regularization, "L1Regularization": v1.L1Regularization, "ModelAverage": v1.ModelAverage}
