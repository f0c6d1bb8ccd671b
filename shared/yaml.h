/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.h - one YAML document to a JSON value
 *
 * Plain scalars are typed by the YAML 1.2 core schema (`yes` is a string, `true` is not). What has
 * no JSON counterpart or makes documents surprising is refused: aliases, merge keys, duplicate
 * keys, keys that are not scalars, tags of one's own, infinities, a second document, more than 32
 * levels. */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct edl_error;

#define YAML_DEPTH_MAX 32

/* yaml_to_json - *ret: new reference; an empty text gives JSON null
 * Errors: EDL_EBADSPEC, text starts with "line L, column C: ". */
int yaml_to_json(const char *text, size_t size, json_t **ret, struct edl_error *error);
