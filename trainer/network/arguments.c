/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.c - the arguments of a network, and the expressions in its values */
#include "trainer/network/arguments.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
#define DIGITS "0123456789"
#define DEPTH_MAX 32

static const struct argument *find(const struct arguments *arguments, const char *name, size_t size)
{
    for (size_t i = arguments->n; i > 0; i--) {
        const struct argument *item = &arguments->items[i - 1];

        if (strlen(item->name) == size && strncmp(item->name, name, size) == 0)
            return item;
    }
    return NULL;
}

int arguments_push(struct arguments *arguments, const char *name, double value,
                   struct edl_error *error)
{
    struct argument *item = &arguments->items[arguments->n];
    const size_t size = strlen(name);

    if (arguments->n == ARGUMENTS_MAX)
        return edl_error_set(error, -EINVAL, "more than %d arguments", ARGUMENTS_MAX);
    if (size == 0 || size >= sizeof item->name || strspn(name, LETTERS) == 0 ||
        strspn(name, LETTERS DIGITS) != size)
        return edl_error_set(error, -EINVAL,
                             "an argument cannot be called \"%.40s\": letters, digits and _, at "
                             "most %d, a letter first",
                             name, ARGUMENT_NAME_BYTES - 1);
    memcpy(item->name, name, size + 1);
    item->value = value;
    arguments->n++;
    return 0;
}

void arguments_pop(struct arguments *arguments)
{
    arguments->n--;
}

int arguments_set(struct arguments *arguments, const char *name, double value,
                  struct edl_error *error)
{
    const struct argument *found = find(arguments, name, strlen(name));

    if (found == NULL)
        return arguments_push(arguments, name, value, error);
    arguments->items[found - arguments->items].value = value;
    return 0;
}

/* ---- expressions ---- */

struct reader {
    const struct arguments *arguments;
    const char *text, *at, *end;
    unsigned depth;
    struct edl_error *error;
};

static void skip_space(struct reader *r)
{
    while (r->at < r->end && *r->at == ' ')
        r->at++;
}

static bool take(struct reader *r, char c)
{
    skip_space(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static int unreadable(const struct reader *r)
{
    return edl_error_set(r->error, -EINVAL, "\"%.*s\" cannot be read from \"%.20s\" on",
                         (int)MIN_OF(r->end - r->text, (ptrdiff_t)80), r->text,
                         r->at < r->end ? r->at : "its end");
}

static int read_name(struct reader *r, double *ret)
{
    const size_t size = MIN_OF(strspn(r->at, LETTERS DIGITS), (size_t)(r->end - r->at));
    const struct argument *found = find(r->arguments, r->at, size);
    char names[160] = "";

    if (found != NULL) {
        r->at += size;
        *ret = found->value;
        return 0;
    }
    for (size_t i = 0; i < r->arguments->n; i++) {
        const size_t used = strlen(names);

        (void)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                       r->arguments->items[i].name);
    }
    return edl_error_set(r->error, -EINVAL, "there is no argument %.*s; there is: %s",
                         (int)MIN_OF(size, (size_t)40), r->at, *names ? names : "none");
}

static int read_sum(struct reader *r, double *ret);

static int read_factor(struct reader *r, double *ret)
{
    int status;
    char *end;

    if (++r->depth > DEPTH_MAX)
        return edl_error_set(r->error, -EINVAL, "an expression is nested deeper than %d",
                             DEPTH_MAX);
    skip_space(r);
    if (take(r, '(')) {
        status = read_sum(r, ret);
        if (status >= 0 && !take(r, ')'))
            status = unreadable(r);
    } else if (take(r, '-')) {
        status = read_factor(r, ret);
        *ret = -*ret;
    } else if (r->at < r->end && strchr(LETTERS, *r->at) != NULL) {
        status = read_name(r, ret);
    } else {
        *ret = r->at < r->end && strchr(DIGITS ".", *r->at) != NULL ? strtod(r->at, &end)
                                                                    : (end = (char *)r->at, 0);
        status = end == r->at || end > r->end ? unreadable(r) : 0;
        r->at = end;
    }
    r->depth--;
    return status;
}

static int read_product(struct reader *r, double *ret)
{
    int status = read_factor(r, ret);

    while (status >= 0) {
        const bool times = take(r, '*');
        double other = 0;

        if (!times && !take(r, '/'))
            break;
        status = read_factor(r, &other);
        *ret = times ? *ret * other : *ret / other;
    }
    return status;
}

static int read_sum(struct reader *r, double *ret)
{
    int status = read_product(r, ret);

    while (status >= 0) {
        const bool plus = take(r, '+');
        double other = 0;

        if (!plus && !take(r, '-'))
            break;
        status = read_product(r, &other);
        *ret = plus ? *ret + other : *ret - other;
    }
    return status;
}

static int evaluate(const struct arguments *arguments, const char *text, size_t size, double *ret,
                    struct edl_error *error)
{
    struct reader reader = { arguments, text, text, text + size, 0, error };
    double value = 0;
    int r = read_sum(&reader, &value);

    skip_space(&reader);
    if (r >= 0 && reader.at != reader.end)
        r = unreadable(&reader);
    if (r >= 0 && !isfinite(value))
        r = edl_error_set(error, -EINVAL, "\"%.*s\" comes to no number", (int)MIN_OF(size, 80u),
                          text);
    if (r >= 0)
        *ret = value;
    return r;
}

int arguments_evaluate(const struct arguments *arguments, const char *expression, double *ret,
                       struct edl_error *error)
{
    return evaluate(arguments, expression, strlen(expression), ret, error);
}

int arguments_fill(const struct arguments *arguments, const char *text, char *ret, size_t size,
                   struct edl_error *error)
{
    size_t n = 0;

    while (*text != '\0' && n + 1 < size) {
        const char *end = *text == '{' ? strchr(text, '}') : NULL;
        double value;
        int r;

        if (end == NULL) {
            ret[n++] = *text++;
            continue;
        }
        r = evaluate(arguments, text + 1, (size_t)(end - text) - 1, &value, error);
        if (r < 0)
            return r;
        if (value != floor(value) || fabs(value) > 1e15)
            return edl_error_set(error, -EINVAL, "%.*s comes to %g, which is no whole number",
                                 (int)(end + 1 - text), text, value);
        n += (size_t)snprintf(ret + n, size - n, "%.0f", value);
        text = end + 1;
    }
    if (n >= size || *text != '\0')
        return edl_error_set(error, -EINVAL, "a name is longer than %zu characters", size - 1);
    ret[n] = '\0';
    return 0;
}
