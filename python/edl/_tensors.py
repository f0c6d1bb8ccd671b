# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch in the tree of a checkpoint: dense, sparse and quantized, of every type, on any device. The bytes go
without numpy, which has not all of these types and may not be there."""
from __future__ import annotations

import ctypes
import importlib
import math
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional

from ._call import Error
from ._model import flag, items, number, text

if TYPE_CHECKING:
    from ._tree import Packer, Unpacker

# of each layout: the integers that say where the values are; values() has those
_COMPRESSED = {
    "sparse_csr": ("crow_indices", "col_indices"),
    "sparse_bsr": ("crow_indices", "col_indices"),
    "sparse_csc": ("ccol_indices", "row_indices"),
    "sparse_bsc": ("ccol_indices", "row_indices"),
}


class NoTensors(Error):
    """Tensors need PyTorch, of a version that has their type."""


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise NoTensors("the checkpoint has tensors, and PyTorch is not installed", "apt install python3-torch") from None


def _name(of: Any) -> str:
    return str(of).rsplit(".", 1)[-1]  # torch.float32, torch.sparse_coo


def is_one(value: Any) -> bool:
    torch: Any = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "Tensor") and isinstance(value, torch.Tensor)


# ---- packing ----


def _bytes_of(tensor: Any, size: int) -> Iterator[Any]:
    """Of a dense one; from a GPU when it is its turn."""
    for resolve in ("resolve_conj", "resolve_neg"):
        tensor = getattr(tensor, resolve, lambda tensor=tensor: tensor)()
    tensor = tensor.cpu().contiguous()
    if size > 0:
        yield memoryview((ctypes.c_ubyte * size).from_address(tensor.data_ptr()))  # `tensor` lives until the next part


def _dense(packer: "Packer", tensor: Any) -> List[Any]:
    size = tensor.numel() * tensor.element_size()
    return [_name(tensor.dtype), list(tensor.shape), packer.blob(size, lambda: _bytes_of(tensor, size))]


def _sparse(packer: "Packer", tensor: Any) -> Any:
    return [list(tensor.shape), tensor.is_coalesced(), _dense(packer, tensor._indices()), _dense(packer, tensor._values())]


def _compressed(packer: "Packer", tensor: Any, layout: str) -> Any:
    return [list(tensor.shape), layout] + [
        _dense(packer, getattr(tensor, name)()) for name in _COMPRESSED[layout] + ("values",)]


def _quantized(packer: "Packer", tensor: Any) -> Any:
    if "per_tensor" in str(tensor.qscheme()):
        return [tensor.q_scale(), tensor.q_zero_point(), None, _dense(packer, tensor.int_repr())]
    return [_dense(packer, tensor.q_per_channel_scales()), _dense(packer, tensor.q_per_channel_zero_points()),
            tensor.q_per_channel_axis(), _dense(packer, tensor.int_repr())]


def _content(packer: "Packer", where: str, tensor: Any) -> Any:
    layout = _name(tensor.layout)
    if tensor.device.type != "meta" and not getattr(tensor, "is_nested", False):
        if tensor.is_quantized and _name(tensor.dtype) in ("qint8", "quint8", "qint32"):
            return {"quantized": _quantized(packer, tensor)}
        if layout == "strided" and not tensor.is_quantized:
            return {"dense": _dense(packer, tensor)}
        if layout == "sparse_coo":
            return {"sparse": _sparse(packer, tensor)}
        if layout in _COMPRESSED:
            return {"compressed": _compressed(packer, tensor, layout)}
    raise TypeError(f"{where} is a tensor of {_name(tensor.dtype)} on {tensor.device} ({layout}), which no checkpoint can hold: "
                    "give a dense one, or a list of its parts")


def _pack_tensor(packer: "Packer", where: str, value: Any) -> Any:
    torch = _torch()
    is_parameter = type(value) is torch.nn.Parameter
    if type(value) is not torch.Tensor and not is_parameter:
        raise TypeError(f"{where} is a {type(value).__name__}, a tensor of another class, which no checkpoint can hold: give a plain "
                        "tensor, as value.full_tensor() or value.to_local() of a distributed one")
    said = {"device": str(value.device), "grad": bool(value.requires_grad), "parameter": is_parameter}
    return {"tensor": {**said, **_content(packer, where, value.detach())}}


def pack(packer: "Packer", where: str, value: Any) -> Optional[Any]:
    """None: it is none of PyTorch's."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor"):
        return None
    if isinstance(value, torch.Tensor):
        return _pack_tensor(packer, where, value)
    if isinstance(value, torch.Size):
        return {"torch.Size": list(value)}
    if isinstance(value, torch.dtype):
        return {"torch.dtype": _name(value)}
    if isinstance(value, torch.device):
        return {"torch.device": str(value)}
    return None


# ---- unpacking ----


def _dtype(torch: Any, name: Any) -> Any:
    found = getattr(torch, text(name), None)
    if not isinstance(found, torch.dtype):
        raise NoTensors(f"the checkpoint has tensors of {name[:50]!r}, which PyTorch {torch.__version__} does not know",
                        "load it with the version that saved it")
    return found


def _shape(said: Any) -> List[int]:
    return [number(n) for n in items(said)]


def _read_dense(torch: Any, unpacker: "Unpacker", said: Any) -> Any:
    name, shape, blob = items(said)
    dtype, shape, data = _dtype(torch, name), _shape(shape), unpacker.blob(blob)
    if math.prod(shape) * torch.empty((), dtype=dtype).element_size() != len(data):
        raise ValueError("the size of a tensor is not that of its shape")
    if not data:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(data, dtype=dtype).reshape(shape).clone()  # with memory of its own


def _checked(torch: Any) -> Dict[str, Any]:
    """PyTorch before 2.0 always looks whether the numbers of a sparse tensor lie in its shape."""
    return {"check_invariants": True} if hasattr(torch.sparse, "check_sparse_tensor_invariants") else {}


def _read_sparse(torch: Any, unpacker: "Unpacker", said: Any) -> Any:
    shape, is_coalesced, indices, values = items(said)
    tensor = torch.sparse_coo_tensor(_read_dense(torch, unpacker, indices), _read_dense(torch, unpacker, values), _shape(shape),
                                     **_checked(torch))
    return tensor.coalesce() if flag(is_coalesced) else tensor


def _read_compressed(torch: Any, unpacker: "Unpacker", said: Any) -> Any:
    shape, layout, *parts = items(said)
    if layout not in _COMPRESSED:
        raise ValueError(f"a tensor has the layout {layout!r:.50}")
    return torch.sparse_compressed_tensor(*(_read_dense(torch, unpacker, part) for part in parts), size=_shape(shape),
                                          layout=getattr(torch, layout), **_checked(torch))


def _read_quantized(torch: Any, unpacker: "Unpacker", said: Any) -> Any:
    scale, zero, axis, integers = items(said)
    integers = _read_dense(torch, unpacker, integers)
    if axis is None:
        return torch._make_per_tensor_quantized_tensor(integers, float(scale), int(zero))
    return torch._make_per_channel_quantized_tensor(
        integers, _read_dense(torch, unpacker, scale), _read_dense(torch, unpacker, zero), number(axis))


_READ = {"dense": _read_dense, "sparse": _read_sparse, "compressed": _read_compressed, "quantized": _read_quantized}


def _device(torch: Any, was: Any, wanted: Optional[str]) -> Any:
    """Of before where this process has it, else another one of its kind, else the CPU."""
    if wanted is not None:
        return torch.device(wanted)
    if was.type != "cuda" or not torch.cuda.is_available():
        return torch.device("cpu")
    return was if (was.index or 0) < torch.cuda.device_count() else torch.device("cuda", torch.cuda.current_device())


def _tensor(unpacker: "Unpacker", said: Any) -> Any:
    torch = _torch()
    kind, = set(said) & set(_READ)
    is_parameter, needs_gradient = flag(said["parameter"]), flag(said["grad"])
    try:
        tensor = _READ[kind](torch, unpacker, said[kind]).requires_grad_(needs_gradient)
        was = torch.device(text(said["device"]))
    except (RuntimeError, IndexError, OverflowError) as error:  # PyTorch reads what somebody else may have written
        raise ValueError(f"it has a tensor that is none: {error}") from None
    tensor = tensor.detach().to(_device(torch, was, unpacker.device))
    return torch.nn.Parameter(tensor, needs_gradient) if is_parameter else tensor.requires_grad_(needs_gradient)


def _size(unpacker: "Unpacker", said: Any) -> Any:
    return _torch().Size(_shape(said))


def _a_device(unpacker: "Unpacker", said: Any) -> Any:
    try:
        return _torch().device(text(said))
    except RuntimeError as error:
        raise ValueError(f"it has a device that is none: {error}") from None


UNPACK: Dict[str, Callable[["Unpacker", Any], Any]] = {
    "tensor": _tensor,
    "torch.Size": _size,
    "torch.dtype": lambda unpacker, said: _dtype(_torch(), said),
    "torch.device": _a_device,
}
