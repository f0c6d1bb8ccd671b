/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.h - one YAML document to a JSON value
 *
 * Plain scalars are typed by the YAML 1.2 core schema (`yes` is a string, `true` is not). Text that
 * has no JSON counterpart or makes documents surprising is refused: aliases, merge keys, duplicate
 * keys, keys that are not scalars, tags of one's own, infinities, a second document, more than 32
 * levels. So are directives (a line that begins with %): libyaml compares each with all before it.
 * Tests: tests/unit/test_yaml.c. */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct document_bounds;
struct edl_error;

#define YAML_DEPTH_MAX 32

/* yaml_to_json - *ret: new reference; an empty text gives JSON null
 * bounds: those of values and texts count; NULL: none. Errors: EDL_EBADSPEC, text starts with
 * "line L, column C: ". */
int yaml_to_json(const char *text, size_t size, const struct document_bounds *bounds, json_t **ret,
                 struct edl_error *error);
