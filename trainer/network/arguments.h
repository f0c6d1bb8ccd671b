/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.h - the arguments of a network, and the expressions in its values
 *
 * An argument is a number with a name: depth = 32. A value "=(depth-2)/6" is the result of the
 * expression; in a name, "word{i}" takes the number in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct edl_error;

#define ARGUMENTS_MAX 64
#define ARGUMENT_NAME_BYTES 32

struct argument {
    char name[ARGUMENT_NAME_BYTES];
    double value;
};

struct arguments {
    struct argument items[ARGUMENTS_MAX]; /* a later one of the same name hides the earlier */
    size_t n;
};

/* arguments_set - a new value, or a new argument; -EINVAL: no such name is possible, or too many */
int arguments_set(struct arguments *arguments, const char *name, double value,
                  struct edl_error *error);

/* arguments_push, arguments_pop - a name that holds inside a repetition only */
int arguments_push(struct arguments *arguments, const char *name, double value,
                   struct edl_error *error);
void arguments_pop(struct arguments *arguments);

/* arguments_evaluate - numbers, names, + - * / ( ); -EINVAL names what cannot be read */
int arguments_evaluate(const struct arguments *arguments, const char *expression, double *ret,
                       struct edl_error *error);

/* arguments_fill - a text with its {expression}s replaced by whole numbers; -EINVAL */
int arguments_fill(const struct arguments *arguments, const char *text, char *ret, size_t size,
                   struct edl_error *error);
