# SPDX-License-Identifier: Apache-2.0
"""Evaluators: what is told beside the cost. Here that is the error of classification; no training depends on one."""
from __future__ import annotations

from typing import Any, Optional

from ._errors import ConfigError, checked, without_effect
from ._graph import as_layer

TOLD = "classification_error_evaluator of a cost is what edl-trainer tells beside the cost"
OTHERS = ("auc_evaluator", "pnpair_evaluator", "precision_recall_evaluator", "chunk_evaluator", "sum_evaluator",
          "column_sum_evaluator", "value_printer_evaluator", "gradient_printer_evaluator", "maxid_printer_evaluator",
          "maxframe_printer_evaluator", "seqtext_printer_evaluator", "classification_error_printer_evaluator")


@checked
def classification_error_evaluator(input: Any, label: Any, name: Optional[str] = None, weight: Any = None,
                                   top_k: Optional[int] = None, threshold: Optional[float] = None) -> None:
    """The share of wrong classes, which is told of every cost of classes; another one is not counted."""
    if weight is not None or top_k not in (None, 1) or threshold is not None:
        raise ConfigError("classification_error_evaluator with weight, top_k or threshold is not supported", "leave them out")
    source = as_layer(input)
    as_layer(label, "label")
    if source.activation != "softmax":
        without_effect(f"classification_error_evaluator of {source.name}", TOLD)
    if name is not None:
        without_effect("classification_error_evaluator: name", TOLD)


def _other(word: str) -> Any:
    def evaluator(*args: Any, **kwargs: Any) -> None:
        without_effect(word, TOLD)

    evaluator.__name__ = word
    return evaluator


NAMES = {"classification_error_evaluator": classification_error_evaluator, **{word: _other(word) for word in OTHERS}}


def check_evaluator(given: Any) -> None:
    """classification_cost(evaluator=...): the error of classification is told anyway."""
    for item in given if isinstance(given, (list, tuple)) else [given]:
        if item not in (None, classification_error_evaluator):
            raise ConfigError(f"evaluator is {item!r}", "classification_error_evaluator is possible, and is told anyway")


def v2_names() -> Any:
    """paddle.v2.evaluator: the same without _evaluator behind."""
    return {name[:-len("_evaluator")]: value for name, value in NAMES.items()}
