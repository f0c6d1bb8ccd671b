# SPDX-License-Identifier: Apache-2.0
"""The order of the records of an epoch, as a function of numbers. libedl/sampler.c gives the same numbers and tells how."""
from __future__ import annotations

import math
import operator
from typing import List, Tuple

ROUNDS = 8
RECORDS_MAX = 2**63 - 1
WORD = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def _mix(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & WORD
    return x ^ x >> 31


def _whole(name: str, value: int, least: int, most: int) -> int:
    value = operator.index(value)
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}, not a whole number from {least} to {most}")
    return value


class Sampler:
    """Which records a step of training takes: a pure function of (seed, epoch, step, batch).

    Nothing is remembered, so a program that has another number of processes now, or began in the middle of an epoch,
    takes the same records in the same steps. Each record comes once in an epoch; another epoch has another order.
    """

    def __init__(self, n: int, seed: int = 0) -> None:
        self.n = _whole("n", n, 0, RECORDS_MAX)
        self.seed = _whole("seed", seed, 0, WORD)
        root = math.isqrt(self.n)
        self._a = root if root * root == self.n else root + 1
        self._b = -(-self.n // self._a) if self.n else 0
        self._of: Tuple[int, List[int]] = (-1, [])

    def __len__(self) -> int:
        return self.n

    def _keys(self, epoch: int) -> List[int]:
        """Of the rounds; those of the last epoch are kept."""
        known, keys = self._of
        if known != epoch:
            base = _mix(_mix(self.seed) + _whole("epoch", epoch, 0, WORD) & WORD)
            keys = [_mix(base + (i + 1) * GOLDEN & WORD) for i in range(ROUNDS)]
            self._of = (epoch, keys)
        return keys

    def _at(self, keys: List[int], place: int) -> int:
        a, b, n = self._a, self._b, self.n
        while True:
            high, low = divmod(place, b)
            for i in range(0, ROUNDS, 2):
                high = (high + _mix(low ^ keys[i])) % a
                low = (low + _mix(high ^ keys[i + 1])) % b
            place = high * b + low
            if place < n:
                return place

    def index(self, epoch: int, place: int) -> int:
        """The number of the record that comes at a place, 0 to n - 1, of an epoch."""
        return self._at(self._keys(epoch), _whole("place", place, 0, self.n - 1))

    def steps(self, batch: int) -> int:
        """How many steps an epoch has; the last one may have fewer records than the batch."""
        return -(-self.n // _whole("batch", batch, 1, RECORDS_MAX))

    def indices(self, epoch: int, step: int, batch: int, rank: int = 0, size: int = 1) -> List[int]:
        """The numbers of the records of a step, of which this process takes one part of `size` parts.

        batch: of all processes together. The parts of all ranks, one behind the other, are the same list for any size.
        """
        first = _whole("step", step, 0, self.steps(batch) - 1) * batch
        size = _whole("size", size, 1, WORD)
        rank = _whole("rank", rank, 0, size - 1)
        m = min(batch, self.n - first)
        keys = self._keys(epoch)
        return [self._at(keys, first + i) for i in range(m * rank // size, m * (rank + 1) // size)]
