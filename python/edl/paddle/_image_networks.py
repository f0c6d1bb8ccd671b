# SPDX-License-Identifier: Apache-2.0
"""Networks of the old names: several layers about images in one call."""
from __future__ import annotations

from typing import Any, List, Optional

from ._attributes import ExtraLayerAttribute, IdentityActivation, MaxPooling, ReluActivation, SoftmaxActivation
from ._errors import ConfigError, checked
from ._graph import Layer, as_layer
from ._images import batch_norm_layer, img_conv_layer, img_pool_layer
from ._layers import dropout_layer, fc_layer


@checked
def simple_img_conv_pool(input: Any, filter_size: int, num_filters: int, pool_size: int,
                         name: Optional[str] = None, pool_type: Any = None, act: Any = None,
                         groups: int = 1, conv_stride: int = 1, conv_padding: int = 0,
                         bias_attr: Any = None, num_channel: Optional[int] = None, param_attr: Any = None,
                         shared_bias: bool = True, conv_layer_attr: Any = None, pool_stride: int = 1,
                         pool_padding: int = 0, pool_layer_attr: Any = None) -> Layer:
    conv = img_conv_layer(input, filter_size, num_filters, f"{name}_conv" if name else None, num_channel,
                          act, groups, conv_stride, conv_padding, bias_attr, param_attr, shared_bias,
                          conv_layer_attr)
    return img_pool_layer(conv, pool_size, f"{name}_pool" if name else None, None, pool_type, pool_stride,
                          pool_padding, pool_layer_attr)


def _each(name: str, value: Any, n: int) -> List[Any]:
    """One value for each of n convolutions."""
    if not isinstance(value, (list, tuple)):
        return [value] * n
    if len(value) != n:
        raise ConfigError(f"img_conv_group: {name} has {len(value)} values, but conv_num_filter has {n}", "one for each, or one for all")
    return list(value)


@checked
def img_conv_group(input: Any, conv_num_filter: Any, pool_size: int, num_channels: Optional[int] = None,
                   conv_padding: Any = 1, conv_filter_size: Any = 3, conv_act: Any = None,
                   conv_with_batchnorm: Any = False, conv_batchnorm_drop_rate: Any = 0,
                   pool_stride: int = 1, pool_type: Any = None, param_attr: Any = None) -> Layer:
    layer, n = as_layer(input), len(conv_num_filter)
    each = zip(conv_num_filter, _each("conv_padding", conv_padding, n), _each("conv_filter_size", conv_filter_size, n),
               _each("conv_act", conv_act, n), _each("conv_with_batchnorm", conv_with_batchnorm, n),
               _each("conv_batchnorm_drop_rate", conv_batchnorm_drop_rate, n))
    for i, (filters, padding, size, act, normed, drop) in enumerate(each):
        layer = img_conv_layer(layer, size, filters, num_channels=num_channels if i == 0 else None,
                               act=IdentityActivation() if normed else act, padding=padding,
                               param_attr=param_attr)
        if normed:
            layer = batch_norm_layer(layer, act, layer_attr=ExtraLayerAttribute(drop_rate=drop or None))
    return img_pool_layer(layer, pool_size, pool_type=pool_type, stride=pool_stride)


@checked
def img_conv_bn_pool(input: Any, filter_size: Any, num_filters: int, pool_size: int, name: Optional[str] = None,
                     pool_type: Any = None, act: Any = None, groups: int = 1, conv_stride: Any = 1,
                     conv_padding: Any = 0, conv_bias_attr: Any = None, num_channel: Optional[int] = None,
                     conv_param_attr: Any = None, shared_bias: bool = True, conv_layer_attr: Any = None,
                     bn_param_attr: Any = None, bn_bias_attr: Any = None, bn_layer_attr: Any = None,
                     pool_stride: int = 1, pool_padding: int = 0, pool_layer_attr: Any = None) -> Layer:
    def part(word: str) -> Optional[str]:
        return f"{name}_{word}" if name else None

    layer = img_conv_layer(input, filter_size, num_filters, part("conv"), num_channel, IdentityActivation(), groups,
                           conv_stride, conv_padding, conv_bias_attr, conv_param_attr, shared_bias, conv_layer_attr)
    layer = batch_norm_layer(layer, act, part("bn"), None, bn_bias_attr, bn_param_attr, bn_layer_attr)
    return img_pool_layer(layer, pool_size, part("pool"), None, pool_type, pool_stride, pool_padding, pool_layer_attr)


# filters, how many times, what batch_norm drops behind each (None: no batch_norm)
SMALL_VGG = ((64, 2, (0.3, 0)), (128, 2, (0.4, 0)), (256, 3, (0.4, 0.4, 0)), (512, 3, (0.4, 0.4, 0)))
VGG_16 = ((64, 2, None), (128, 2, None), (256, 3, None), (512, 3, None), (512, 3, None))


def _groups(layer: Layer, num_channels: int, groups: Any) -> Layer:
    for i, (filters, times, drops) in enumerate(groups):
        layer = img_conv_group(layer, [filters] * times, 2, num_channels if i == 0 else None, conv_act=ReluActivation(),
                               conv_with_batchnorm=drops is not None, conv_batchnorm_drop_rate=drops or 0, pool_stride=2,
                               pool_type=MaxPooling())
    return layer


@checked
def small_vgg(input_image: Any, num_channels: int, num_classes: int) -> Layer:
    layer = _groups(as_layer(input_image, "input_image"), num_channels, SMALL_VGG)
    layer = dropout_layer(img_pool_layer(layer, 2, stride=2), 0.5)
    layer = fc_layer(layer, 512, act=IdentityActivation(), layer_attr=ExtraLayerAttribute(drop_rate=0.5))
    return fc_layer(batch_norm_layer(layer, ReluActivation()), num_classes, act=SoftmaxActivation())


@checked
def vgg_16_network(input_image: Any, num_channels: int, num_classes: int = 1000) -> Layer:
    layer = _groups(as_layer(input_image, "input_image"), num_channels, VGG_16)
    for _ in range(2):
        layer = fc_layer(layer, 4096, act=ReluActivation(), layer_attr=ExtraLayerAttribute(drop_rate=0.5))
    return fc_layer(layer, num_classes, act=SoftmaxActivation())


NETWORKS = {"simple_img_conv_pool": simple_img_conv_pool, "img_conv_group": img_conv_group,
            "img_conv_bn_pool": img_conv_bn_pool, "small_vgg": small_vgg, "vgg_16_network": vgg_16_network}
