/* SPDX-License-Identifier: Apache-2.0 */
/* json_mask.h - answers of the server made fit for a terminal */
#pragma once

#include <jansson.h>

/* json_mask - every control character in the texts of value, names of members too, becomes '?' */
void json_mask(json_t *value);
