/* SPDX-License-Identifier: Apache-2.0 */
/* node_view.h - one machine for people: what its agent tells of it besides what it offers */
#pragma once

#include <jansson.h>

/* node_view_print - what the answer has of it; nothing for an agent of an earlier version */
void node_view_print(const json_t *node);
