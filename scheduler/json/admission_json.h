/* SPDX-License-Identifier: Apache-2.0 */
/* admission_json.h - whether a deadline can be kept, as the API shows it */
#pragma once

#include <jansson.h>

struct admission;

/* admission_to_json - new reference */
json_t *admission_to_json(const struct admission *admission);
