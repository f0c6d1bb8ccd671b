# SPDX-License-Identifier: Apache-2.0
"""Types of inputs, and a sample's value as bytes of a record."""
from __future__ import annotations

import struct
from typing import Any, Callable, Dict, List

from ._errors import ConfigError, refused

SEQUENCE_MAX = 65536  # ids of one sequence
SPARSE_MAX = 65536  # a sparse vector is written out whole


class InputType:
    """One input of a sample: `kind` as in data.json, `dim` ids or values, `form` how it is given."""

    def __init__(self, kind: str, dim: int, form: str) -> None:
        if not isinstance(dim, int) or dim < 1:
            raise ConfigError(f"an input of {dim!r} values", "a whole number of at least 1 is possible")
        self.kind, self.dim, self.form = kind, dim, form

    def __repr__(self) -> str:
        return f"{self.form}({self.dim})"


class SequenceType:
    """What an input type may be given as seq_type."""
    NO_SEQUENCE = 0
    SEQUENCE = 1
    SUB_SEQUENCE = 2


def _one(form: str, seq_type: int) -> None:
    """An error for a sequence of what comes alone here."""
    if seq_type != SequenceType.NO_SEQUENCE:
        raise ConfigError(f"{form} with seq_type={seq_type!r} is not supported", "sequences of sequences are not there")


def _type(kind: str, form: str) -> Callable[..., InputType]:
    def make(dim: int, seq_type: int = SequenceType.NO_SEQUENCE) -> InputType:
        if seq_type == SequenceType.SEQUENCE and kind == "dense":
            return _type("dense_sequence", f"{form}_sequence")(dim)
        _one(form, seq_type)
        if form.startswith("sparse") and isinstance(dim, int) and dim > SPARSE_MAX:
            raise ConfigError(f"{form}({dim}): more than {SPARSE_MAX} values",
                              "give the ids as integer_value_sequence, and pool a table of them")
        return InputType(kind, dim, form)

    make.__name__ = form
    return make


def integer_value(value_range: int, seq_type: int = SequenceType.NO_SEQUENCE) -> InputType:
    if seq_type == SequenceType.SEQUENCE:
        return integer_value_sequence(value_range)
    _one("integer_value", seq_type)
    return InputType("integer", value_range, "integer_value")


def integer_value_sequence(value_range: int) -> InputType:
    return InputType("integer_sequence", value_range, "integer_value_sequence")


dense_vector = _type("dense", "dense_vector")
sparse_binary_vector = _type("dense", "sparse_binary_vector")
sparse_float_vector = _type("dense", "sparse_float_vector")
dense_slot, index_slot, integer_sequence = dense_vector, integer_value, integer_value_sequence
sparse_vector, sparse_non_value_slot, sparse_value_slot = (
    sparse_float_vector, sparse_binary_vector, sparse_float_vector)

dense_vector_sequence = _type("dense_sequence", "dense_vector_sequence")
sparse_binary_vector_sequence = _type("dense_sequence", "sparse_binary_vector_sequence")
sparse_float_vector_sequence = _type("dense_sequence", "sparse_float_vector_sequence")
SUPPORTED: Dict[str, Any] = {
    name: globals()[name] for name in (
        "integer_value", "integer_value_sequence", "dense_vector", "sparse_binary_vector",
        "sparse_float_vector", "sparse_vector", "dense_slot", "index_slot", "integer_sequence",
        "sparse_non_value_slot", "sparse_value_slot", "dense_vector_sequence", "sparse_binary_vector_sequence",
        "sparse_float_vector_sequence")}
CONSTANTS: Dict[str, Any] = {"SequenceType": SequenceType}
REFUSED = {name: refused(name, "there are: " + ", ".join(sorted(SUPPORTED))) for name in (
    "dense_vector_sub_sequence", "integer_value_sub_sequence", "sparse_binary_vector_sub_sequence",
    "sparse_float_vector_sub_sequence")}


def _id(value: Any, dim: int) -> int:
    if isinstance(value, float) or not 0 <= int(value) < dim:
        raise ValueError(f"{value!r} is no id from 0 to {dim - 1}")
    return int(value)


def _integer(value: Any, dim: int) -> bytes:
    return struct.pack("<i", _id(value, dim))


def _sequence(value: Any, dim: int) -> bytes:
    ids: List[int] = [_id(item, dim) for item in value]
    if not 1 <= len(ids) <= SEQUENCE_MAX:
        raise ValueError(f"a sequence of {len(ids)} ids; 1 to {SEQUENCE_MAX} are possible")
    return struct.pack(f"<I{len(ids)}i", len(ids), *ids)


def _dense(value: Any, dim: int) -> bytes:
    values = list(value) if hasattr(value, "__iter__") else [value]
    if len(values) != dim:
        raise ValueError(f"{len(values)} values, not {dim}")
    return struct.pack(f"<{dim}f", *values)


def _sparse_binary(value: Any, dim: int) -> bytes:
    row = [0.0] * dim
    for item in value:
        row[_id(item, dim)] = 1.0
    return struct.pack(f"<{dim}f", *row)


def _sparse_float(value: Any, dim: int) -> bytes:
    row = [0.0] * dim
    for item, weight in value:
        row[_id(item, dim)] = weight
    return struct.pack(f"<{dim}f", *row)


def _one_hot(value: Any, dim: int) -> bytes:
    return _sparse_binary([value], dim)


def _zero_or_one(value: Any, dim: int) -> bytes:
    return struct.pack("<f", _id(value, 2))


def one_hot(ids: InputType) -> InputType:
    """Ids as rows of zeros, with a one at the id."""
    return InputType("dense", ids.dim, "integer_value as one-hot")


def zero_or_one(_: InputType) -> InputType:
    """Ids as the value that they are."""
    return InputType("dense", 1, "integer_value as value")


def _places(one: Callable[[Any, int], bytes]) -> Callable[[Any, int], bytes]:
    def encode_places(value: Any, dim: int) -> bytes:
        places = [one(item, dim) for item in value]
        if not 1 <= len(places) <= SEQUENCE_MAX:
            raise ValueError(f"a sequence of {len(places)} places; 1 to {SEQUENCE_MAX} are possible")
        return struct.pack("<I", len(places)) + b"".join(places)
    return encode_places


_ENCODE = {"integer_value as one-hot": _one_hot, "integer_value as value": _zero_or_one, "integer_value": _integer, "integer_value_sequence": _sequence, "dense_vector": _dense,
           "sparse_binary_vector": _sparse_binary, "sparse_float_vector": _sparse_float,
           "dense_vector_sequence": _places(_dense), "sparse_binary_vector_sequence": _places(_sparse_binary),
           "sparse_float_vector_sequence": _places(_sparse_float)}


def encode(kind: InputType, value: Any) -> bytes:
    """The bytes of a value; ValueError or TypeError with what is wrong."""
    try:
        return _ENCODE[kind.form](value, kind.dim)
    except (struct.error, OverflowError) as error:
        raise ValueError(str(error)) from None
