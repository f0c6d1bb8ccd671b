/* SPDX-License-Identifier: Apache-2.0 */
/* forecast_json.h - a forecast as the API shows it */
#pragma once

#include <jansson.h>

struct forecast;

/* forecast_to_json - new reference */
json_t *forecast_to_json(const struct forecast *forecast);
