/* SPDX-License-Identifier: Apache-2.0 */
/* node_view.h - one machine for people: the words of its agent besides its offer */
#pragma once

#include <jansson.h>

/* node_view_print - what the answer has of it; nothing for an agent of an earlier version */
void node_view_print(const json_t *node);
