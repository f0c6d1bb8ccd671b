/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - where a window goes on an image: the common part of convolution and pooling */
#pragma once

#include <stdbool.h>

struct edl_error;
struct network;
struct network_layer;
struct window;

/* window_image - *ret is the image that the layer's first input has, of the channels that the layer
 * may name; -EINVAL */
int window_image(const struct network *network, const struct network_layer *layer,
                 struct window *ret, struct edl_error *error);
/* window_shape - layer->window from the options and the input's image; -EINVAL
 * ceil: a last window that is only partly on the image counts (pooling), else it does not */
int window_shape(const struct network *network, struct network_layer *layer, bool ceil,
                 struct edl_error *error);
