# SPDX-License-Identifier: Apache-2.0
"""paddle.v2.event: what an event handler is given. Passes and batches count from 0."""
from __future__ import annotations

from typing import Any, Dict


class WithMetric:
    """`metrics`: name → number; classification_error_evaluator of a network with classes."""

    def __init__(self, metrics: Dict[str, float]) -> None:
        self.metrics = metrics
        self.evaluator = metrics


class TestResult(WithMetric):
    def __init__(self, cost: float, metrics: Dict[str, float]) -> None:
        super().__init__(metrics)
        self.cost = cost


class BeginPass:
    def __init__(self, pass_id: int) -> None:
        self.pass_id = pass_id


class EndPass(WithMetric):
    def __init__(self, pass_id: int, metrics: Dict[str, float]) -> None:
        super().__init__(metrics)
        self.pass_id = pass_id
        self.gm: Any = None


class BeginIteration:
    def __init__(self, pass_id: int, batch_id: int) -> None:
        self.pass_id, self.batch_id = pass_id, batch_id


class EndForwardBackward:
    def __init__(self, pass_id: int, batch_id: int) -> None:
        self.pass_id, self.batch_id = pass_id, batch_id
        self.gm: Any = None


class EndIteration(WithMetric):
    """`cost`: the mean of the batch."""

    def __init__(self, pass_id: int, batch_id: int, cost: float, metrics: Dict[str, float]) -> None:
        super().__init__(metrics)
        self.pass_id, self.batch_id, self.cost = pass_id, batch_id, cost
        self.gm: Any = None


NAMES = {item.__name__: item for item in (TestResult, BeginPass, EndPass, BeginIteration,
                                          EndForwardBackward, EndIteration)}
