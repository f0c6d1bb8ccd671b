# SPDX-License-Identifier: Apache-2.0
"""DistillReader by the name of its module in elasticdeeplearning/edl."""
from ._reader import DistillReader

__all__ = ["DistillReader"]
