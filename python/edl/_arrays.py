# SPDX-License-Identifier: Apache-2.0
"""Arrays and scalars of numpy in the tree of a checkpoint: their type, their shape and their bytes."""
from __future__ import annotations

import importlib
import math
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Optional, Tuple

from ._call import Error
from ._model import items, number, text

if TYPE_CHECKING:
    from ._tree import Packer, Unpacker


class NoArrays(Error):
    """Arrays need numpy."""


def numpy() -> Any:
    try:
        return importlib.import_module("numpy")
    except ImportError:
        raise NoArrays("the checkpoint has arrays, and numpy is not installed", "apt install python3-numpy") from None


def _described(where: str, dtype: Any) -> Any:
    """What makes the same type again. TypeError."""
    if dtype.hasobject:
        raise TypeError(f"{where} is an array of Python objects, which only a pickle can hold: give a list, or another dtype")
    form: Any = importlib.import_module("numpy.lib.format")
    try:
        said = form.dtype_to_descr(dtype)
        if form.descr_to_dtype(said) == dtype:
            return said
    except (ValueError, TypeError):
        pass
    raise TypeError(f"{where} is an array of {dtype}, which numpy cannot name: give value.astype('float32'), or value.view('uint8')")


def _bytes_of(np: Any, array: Any, order: str) -> Callable[[], Iterable[Any]]:
    def parts() -> Iterable[Any]:
        if array.nbytes == 0:
            return []
        return [memoryview(np.ascontiguousarray(array.reshape(-1, order=order)).view(np.uint8))]

    return parts


def pack(packer: "Packer", where: str, value: Any) -> Optional[Any]:
    """None: it is none of numpy's, nor one that can become such an array."""
    np: Any = sys.modules.get("numpy")
    if np is None or not isinstance(value, (np.ndarray, np.generic)):
        if not (hasattr(value, "__array__") and hasattr(value, "dtype") and hasattr(value, "shape")):
            return None
        np = numpy()
        value = np.asarray(value)
    if isinstance(value, np.generic):
        array = np.asarray(value)
        return {"scalar": [_node(packer, where, array.dtype), packer.blob(array.nbytes, _bytes_of(np, array, "C"))]}
    if type(value) not in (np.ndarray, np.memmap):
        raise TypeError(f"{where} is a {type(value).__name__} of numpy, which no checkpoint can hold: give numpy.asarray(value), "
                        "and what it has beside (a mask, say) under another name")
    order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    return {"array": [_node(packer, where, value.dtype), list(value.shape), order,
                      packer.blob(value.nbytes, _bytes_of(np, value, order))]}


def _node(packer: "Packer", where: str, dtype: Any) -> Any:
    return packer.node(f"the dtype of {where}", _described(where, dtype))


def _read(unpacker: "Unpacker", descr: Any, shape: Tuple[int, ...], order: str, blob: Any) -> Any:
    """ValueError"""
    np = numpy()
    data = unpacker.blob(blob)
    try:
        dtype = importlib.import_module("numpy.lib.format").descr_to_dtype(unpacker.value(descr))
        if dtype.itemsize == 0 and math.prod(shape) > 0:
            raise ValueError("its elements have no size")
        if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(data):
            raise ValueError("its size is not that of its shape")
        array = np.frombuffer(data, dtype) if data else np.zeros(math.prod(shape), dtype)
        return array.reshape(shape, order=order).copy(order="K")  # with memory of its own
    except Exception as error:  # of any kind: numpy reads what somebody else may have written
        raise ValueError(f"it has an array that is none: {error}") from None


def _array(unpacker: "Unpacker", said: Any) -> Any:
    descr, shape, order, blob = items(said)
    if order not in ("C", "F"):
        raise ValueError("an array has no order")
    return _read(unpacker, descr, tuple(number(n) for n in items(shape)), text(order), blob)


def _scalar(unpacker: "Unpacker", said: Any) -> Any:
    descr, blob = items(said)
    return _read(unpacker, descr, (), "C", blob)[()]


UNPACK: Dict[str, Callable[["Unpacker", Any], Any]] = {"array": _array, "scalar": _scalar}
