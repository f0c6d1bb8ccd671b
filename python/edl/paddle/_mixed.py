# SPDX-License-Identifier: Apache-2.0
"""Projections, and the two layers that take them: mixed (their sum) and concat (side by side)."""
from __future__ import annotations

from typing import Any, List, Optional, Tuple

from ._attributes import IdentityActivation, Json, ParameterAttribute, extra_of
from ._errors import ConfigError, checked
from ._graph import GRAPH, IMAGE, Layer, as_layer
from ._parts import bias, finish, finish_biased, weights


class Projection:
    """What one input contributes. Its size may be that of the layer that takes it."""

    def __init__(self, kind: str, source: Layer, size: int, attribute: Any = None, **more: Any) -> None:
        self.kind, self.source, self.size = kind, source, size
        self.attribute: Optional[ParameterAttribute] = attribute
        self.more = more
        self.image: Optional[IMAGE] = None


@checked
def table_projection(input: Any, size: int = 0, param_attr: Any = None) -> Projection:
    return Projection("table", as_layer(input), size, param_attr)


@checked
def full_matrix_projection(input: Any, size: int = 0, param_attr: Any = None) -> Projection:
    return Projection("fc", as_layer(input), size, param_attr)


@checked
def trans_full_matrix_projection(input: Any, size: int = 0, param_attr: Any = None) -> Projection:
    return Projection("fc", as_layer(input), size, param_attr, transposed=True)


@checked
def identity_projection(input: Any, offset: Optional[int] = None) -> Projection:
    source = as_layer(input)
    if offset is None:
        return Projection("identity", source, source.size)
    if not 0 <= offset < source.size:
        raise ConfigError(f"identity_projection: offset is {offset}", f"{source.name} has the values 0 to {source.size - 1}")
    return Projection("slice", source, 0, offset=offset)


@checked
def dotmul_projection(input: Any, param_attr: Any = None) -> Projection:
    source = as_layer(input)
    return Projection("dotmul", source, source.size, param_attr)


@checked
def scaling_projection(input: Any, param_attr: Any = None) -> Projection:
    source = as_layer(input)
    return Projection("dotmul", source, source.size, param_attr, scalar=True)


@checked
def dotmul_operator(a: Any = None, b: Any = None, scale: float = 1.0, x: Any = None, y: Any = None) -> Projection:
    from ._values import dotmul
    product = dotmul(a if a is not None else x, b if b is not None else y, scale)
    return Projection("identity", product, product.size)


@checked
def conv_projection(input: Any, filter_size: Any, num_filters: int, num_channels: Optional[int] = None, stride: Any = 1,
                    padding: Any = 0, filter_size_y: Optional[int] = None, stride_y: Optional[int] = None,
                    padding_y: Optional[int] = None, groups: int = 1, param_attr: Any = None) -> Projection:
    from ._images import conv_keys
    source = as_layer(input)
    image, keys = conv_keys(source, num_channels, filter_size, filter_size_y, stride, stride_y, padding, padding_y,
                            groups, num_filters)
    ret = Projection("conv", source, image[0] * image[1] * image[2], param_attr, **keys)
    ret.image = image
    return ret


@checked
def context_projection(input: Any, context_len: int, context_start: Optional[int] = None,
                       padding_attr: Any = False) -> Projection:
    if padding_attr is not False:
        raise ConfigError("context_projection with a padding_attr is not supported",
                          "padding_attr=False has zeros outside of the sequence")
    source = as_layer(input)
    start = -(context_len // 2) if context_start is None else context_start
    return Projection("context", source, context_len * source.size, context=context_len,
                      context_start=start)


def _shape(projection: Projection) -> Tuple[int, int]:
    inner = projection.source.size
    if projection.kind == "dotmul":
        return (1, 1) if projection.more.get("scalar") else (1, inner)
    if projection.kind == "conv":
        area = projection.more["channels"] // projection.more.get("groups", 1)
        return (projection.more["filters"], area * projection.more["filter"] * projection.more.get("filter_y", projection.more["filter"]))
    return (projection.size, inner) if projection.more.get("transposed") else (inner, projection.size)


def conv_std(keys: Json) -> float:
    """The deviation with which the weights of a convolution start."""
    return float((2.0 / (keys["channels"] * keys["filter"] ** 2)) ** 0.5)


def _part(layer: Layer, projection: Projection, i: int, bias_attr: Any = False) -> str:
    """Adds the layer that does the i-th projection; the name that its values have."""
    if projection.kind == "identity":
        return projection.source.name
    name = f"{layer.name}_part_{i}"
    entry: Json = {"kind": projection.kind, "name": name, "inputs": [projection.source.name]}
    if projection.kind == "context":
        entry.update(projection.more)
    elif projection.kind == "slice":
        entry.update(projection.more, size=projection.size)
    elif projection.kind in ("dotmul", "conv"):
        entry.update(projection.more)
        if projection.kind == "conv":
            entry.update(bias=False, activation="linear")
        shape = _shape(projection)
        weights(layer, entry, [shape], projection.attribute, owner=layer.name, first=i,
                std=conv_std(projection.more) if projection.kind == "conv" else None)
    else:
        entry["size"] = projection.size
        weights(layer, entry, [_shape(projection)], projection.attribute, owner=layer.name, first=i,
                table=projection.kind == "table")
    if projection.kind == "fc":
        entry["activation"] = "linear"
        entry.update(projection.more)
        bias(layer, entry, projection.size, bias_attr, owner=layer.name)
    layer.entries.append(entry)
    return name


def _shared_table(projections: List[Projection]) -> bool:
    """All are tables of one parameter with a name: a table of several inputs is just that."""
    first = projections[0]
    return all(p.kind == "table" and p.size == first.size and p.attribute is not None and
               p.attribute.name is not None and first.attribute is not None and
               p.attribute.name == first.attribute.name for p in projections)


def is_projections(values: List[Any]) -> bool:
    return any(isinstance(item, Projection) for item in values)


def concat_projections(values: List[Any], act: Any, name: Optional[str], bias_attr: Any,
                       layer_attr: Any) -> Layer:
    """A concat of projections; a layer among them stands for itself."""
    projections = [p if isinstance(p, Projection) else identity_projection(p) for p in values]
    for p in projections:
        if p.size == 0:
            raise ConfigError("a projection in a concat_layer needs a size", "give size=")
    layer = GRAPH.add("concat", GRAPH.name(name, "concat"), [p.source for p in projections],
                      sum(p.size for p in projections))
    linear = act is None and not extra_of(layer_attr).drop_rate and not bias_attr
    if _shared_table(projections) and linear:
        layer.kind = "table"
        entry: Json = {"inputs": [p.source.name for p in projections], "size": projections[0].size}
        weights(layer, entry, [_shape(projections[0])], projections[0].attribute, table=True)
        return finish(layer, entry)
    names = [_part(layer, p, i) for i, p in enumerate(projections)]
    images = [p.image for p in projections]
    one = images[0]
    if one is not None and all(image is not None and image[1:] == one[1:] for image in images):
        layer.image = (sum(image[0] for image in images if image is not None), one[1], one[2])
    return finish_biased(layer, {"inputs": names}, bias_attr or False, act, layer_attr,
                         layer.image[0] if layer.image else 0)


class MixedLayer(Layer):
    """A layer whose terms come one by one: with mixed_layer(size=...) as m: m += projection."""

    def __init__(self, name: str, size: int, act: Any, bias_attr: Any, layer_attr: Any) -> None:
        super().__init__(GRAPH, "mixed", name, [], size)
        GRAPH.names[name] = self
        self.terms: List[Projection] = []
        self.given = (act, bias_attr, layer_attr)

    def __iadd__(self, term: Any) -> "MixedLayer":
        if self.entries:
            raise ConfigError(f"{self.name} is complete", "add what it sums inside of its with block")
        self.terms.append(term if isinstance(term, Projection) else identity_projection(term))
        return self

    def __enter__(self) -> "MixedLayer":
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            self.complete()

    def complete(self) -> None:
        """Makes entries of the terms."""
        if not self.terms:
            raise ConfigError(f"{self.name} sums nothing", "m += full_matrix_projection(...)")
        self.size = self.size or next((t.size for t in self.terms if t.size), 0)
        for term in self.terms:
            term.size = term.size or self.size
            if term.size != self.size or self.size == 0:
                raise ConfigError(f"{self.name} has size {self.size}, but a projection of "
                                  f"{term.source.name} has {term.size}", "give all the same size=")
        self.inputs = [t.source for t in self.terms]
        self._emit()

    def _emit(self) -> None:
        act, bias_attr, extra = self.given
        bias_attr = False if bias_attr is None else bias_attr
        first = self.terms[0]
        entry: Json = {"inputs": [t.source.name for t in self.terms], "size": self.size}
        plain = isinstance(act, IdentityActivation) or act in (None, IdentityActivation)
        if len(self.terms) == 1 and first.kind == "table" and plain and bias_attr is False and not (
                extra_of(extra).drop_rate):
            self.kind = "table"
            weights(self, entry, [_shape(first)], first.attribute, table=True)
            finish(self, entry)
        elif all(t.kind == "fc" and t.more == first.more for t in self.terms):
            self.kind = "fc"
            entry.update(first.more)
            attributes = [t.attribute or ParameterAttribute() for t in self.terms]
            weights(self, entry, [_shape(t) for t in self.terms], attributes)
            bias(self, entry, self.size, bias_attr)
            finish(self, entry, act, extra=extra)
        else:
            self._emit_sum(act, bias_attr, extra)

    def _emit_sum(self, act: Any, bias_attr: Any, extra: Any) -> None:
        """Terms of several kinds: a layer for each, and their sum. A bias goes into the first fc."""
        takes_bias = next((i for i, t in enumerate(self.terms) if t.kind == "fc"), None)
        self.kind = "addition"
        self.image = self.terms[0].image
        names = [_part(self, t, i, bias_attr if i == takes_bias else False)
                 for i, t in enumerate(self.terms)]
        finish_biased(self, {"inputs": names}, bias_attr if takes_bias is None else False, act, extra,
                      self.image[0] if self.image else 0)


@checked
def mixed_layer(size: int = 0, input: Any = None, name: Optional[str] = None, act: Any = None,
                bias_attr: Any = False, layer_attr: Any = None) -> MixedLayer:
    layer = MixedLayer(GRAPH.name(name, "mixed"), size, act, bias_attr, layer_attr)
    if input is not None:
        for term in input if isinstance(input, (list, tuple)) else [input]:
            layer += term
        layer.complete()
    return layer


LAYERS = {
    "mixed_layer": mixed_layer, "table_projection": table_projection, "full_matrix_projection": full_matrix_projection,
    "trans_full_matrix_projection": trans_full_matrix_projection, "identity_projection": identity_projection,
    "context_projection": context_projection, "dotmul_projection": dotmul_projection, "conv_projection": conv_projection,
    "scaling_projection": scaling_projection, "dotmul_operator": dotmul_operator,
}
