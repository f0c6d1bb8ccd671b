/* SPDX-License-Identifier: Apache-2.0 */
/* parser.h - a network while it is read: the parts that its files share, and nobody else */
#pragma once

#include <jansson.h>

#include "trainer/network/network.h"

struct json_lines;

/* A layer whose inputs are still names. */
struct draft {
    struct network_layer layer;
    char inputs[LAYER_INPUTS_MAX][LAYER_NAME_BYTES];
    const json_t *object;
    bool inner; /* a part of a composition: the file cannot count it */
};

struct parser {
    struct network *network;
    struct json_lines *lines;
    struct edl_error *error;
    struct draft *drafts;
    uint32_t n_drafts, room;
    uint32_t rounds;      /* of repetitions so far */
    uint32_t unnamed[64]; /* of each kind, then of compositions */
};

/* ---- values.c ---- */

/* parser_fail - "FILE:LINE: WHERE, KEY: " before the text; where may be NULL; -EINVAL */
int parser_fail(const struct parser *parser, const json_t *object, const char *where,
                const char *key, const char *format, ...) __attribute__((format(printf, 5, 6)));

enum value_kind {
    VALUE_TEXT,  /* char[size] */
    VALUE_COUNT, /* uint32_t */
    VALUE_PLACE, /* int32_t */
    VALUE_REAL,  /* float */
    VALUE_DOUBLE,
    VALUE_FLAG, /* bool */
    VALUE_RATE, /* float; false: -1 */
    VALUE_ACTIVATION,
    VALUE_POOLING,
    VALUE_OTHER /* another function reads it */
};

/* A key of an object and where its value goes. */
struct key {
    const char *name;
    enum value_kind kind;
    size_t offset;
    double min, max;   /* of numbers; of a text max is its size */
    const char *kinds; /* " fc table ": of layers; NULL: all */
};

/* parser_object - every key of an object into ret; unknown keys are errors with the nearest one
 * kind: of a layer, NULL elsewhere. */
int parser_object(struct parser *parser, const json_t *object, const char *where,
                  const struct key *keys, size_t n_keys, const char *kind, void *ret);
/* parser_text - a name with its {expressions} replaced */
int parser_text(struct parser *parser, const json_t *object, const char *where, const char *key,
                const json_t *value, char *ret, size_t size);
/* parser_number - a number or an "=expression" */
int parser_number(struct parser *parser, const json_t *object, const char *where, const char *key,
                  const json_t *value, double *ret);

/* ---- layer_keys.c ---- */

/* parser_layers - an array of layers and of repetitions, as drafts */
int parser_layers(struct parser *parser, const json_t *array, unsigned depth);
/* parser_costs - one cost or an array of them, as drafts behind the rest */
int parser_costs(struct parser *parser, const json_t *root);

/* ---- order.c ---- */

/* parser_order - the drafts in the order they are computed, with shapes and parameters, into the
 * network. output: the layer's name, "": what the first cost takes */
int parser_order(struct parser *parser, const json_t *root, const char *output);
