/* SPDX-License-Identifier: Apache-2.0 */
/* label.h - name=value pairs that nodes carry and roles ask for; fixed size, plain data
 *
 * Known names with a meaning of their own: "rack" (processes of a job are kept in one if they can
 * be), "gpu-type" (the type of a node's GPUs, if they are alike). Kept sorted by name, each name
 * once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct edl_error;

#define LABEL_NAME_MAX 31
#define LABEL_VALUE_MAX 63
#define LABELS_MAX 8
#define LABEL_RACK "rack"
#define LABEL_GPU_TYPE "gpu-type"

struct label {
    char name[LABEL_NAME_MAX + 1];   /* [a-z0-9][a-z0-9._/-]* */
    char value[LABEL_VALUE_MAX + 1]; /* [A-Za-z0-9._-]*, "" allowed */
};

struct labels {
    struct label items[LABELS_MAX];
    uint32_t n;
};

/* labels_set - adds or replaces; -EINVAL for characters that do not belong there, -E2BIG when full,
 * with error */
int labels_set(struct labels *labels, const char *name, const char *value, struct edl_error *error);

/* labels_parse - adds "name=value"; errors as labels_set */
int labels_parse(struct labels *labels, const char *text, struct edl_error *error);

/* labels_fill - those of more whose names are not there yet, in their order, as long as there is
 * room
 */
void labels_fill(struct labels *labels, const struct labels *more);

/* labels_get - the value, or NULL */
const char *labels_get(const struct labels *labels, const char *name);

/* labels_cover - every label of wanted is there with that value */
bool labels_cover(const struct labels *labels, const struct labels *wanted);
bool labels_equal(const struct labels *a, const struct labels *b);

/* labels_describe - "rack=r1,gpu=a100"; returns buffer */
char *labels_describe(const struct labels *labels, char *buffer, uint32_t size);
