/* SPDX-License-Identifier: Apache-2.0 */
/* formula_text.c - profiles as one word of a trace file: power:0.8, table:1=2.5;2=4.8 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "simulator/trace/formula_internal.h"

#define POINTS_MAX 256
#define COUNT_MAX 1000000

static int refuse(const char *text, const char *remedy, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "\"%.80s\" is no speed", text);
    return edl_error_remedy(error, "%s", remedy);
}

/* number - all of the text, in least..most */
static int number(const char *text, double least, double most, double *ret)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !(value >= least && value <= most))
        return -EINVAL;
    *ret = value;
    return 0;
}

static int parse_power(const char *text, const char *value, const char *name, struct profile **ret,
                       struct edl_error *error)
{
    double p;

    if (number(value, 1e-3, 1, &p) < 0)
        return refuse(text, "power:P, speed n^P, P from 0.001 to 1", error);
    *ret = profile_power_new(name, p);
    return 0;
}

static int parse_amdahl(const char *text, const char *value, const char *name, struct profile **ret,
                        struct edl_error *error)
{
    double serial;

    if (number(value, 0, 1, &serial) < 0)
        return refuse(text, "amdahl:S, the part that cannot be divided, from 0 to 1", error);
    *ret = profile_amdahl_new(name, serial);
    return 0;
}

static int parse_pserver(const char *text, const char *value, const char *name,
                         struct profile **ret, struct edl_error *error)
{
    const struct pserver_model *model = pserver_model_find(value);

    (void)name;
    if (model == NULL)
        return refuse(text,
                      "pserver:MODEL: resnet-50, vgg-16, inception-bn, seq2seq, text-cnn, dssm, "
                      "wlm or resnext-110",
                      error);
    *ret = profile_pserver_new(model);
    return 0;
}

/* parse_point - "4=9.5", of a larger count than before */
static int parse_point(char *point, uint32_t before, uint32_t *ret_count, double *ret_rate)
{
    char *equals = strchr(point, '=');
    uint64_t count;

    if (equals == NULL)
        return -EINVAL;
    *equals = '\0';
    if (parse_u64(point, &count) < 0 || count <= before || count > COUNT_MAX)
        return -EINVAL;
    *ret_count = (uint32_t)count;
    return number(equals + 1, 1e-12, 1e12, ret_rate);
}

static int parse_table(const char *text, const char *value, const char *name, struct profile **ret,
                       struct edl_error *error)
{
    static const char remedy[] =
        "table:N=RATE;N=RATE..., rising N and their steps per second, at most 256";
    _cleanup_free_ char *copy = xstrdup(value);
    uint32_t counts[POINTS_MAX];
    double rates[POINTS_MAX];
    char *rest = copy, *point;
    size_t n = 0;

    while ((point = strsep(&rest, ";")) != NULL) {
        if (n == POINTS_MAX ||
            parse_point(point, n > 0 ? counts[n - 1] : 0, &counts[n], &rates[n]) < 0)
            return refuse(text, remedy, error);
        n++;
    }
    *ret = profile_table_new(name, counts, rates, n);
    return 0;
}

static const struct {
    const char *prefix;
    int (*parse)(const char *text, const char *value, const char *name, struct profile **ret,
                 struct edl_error *error);
} kinds[] = {
    { "power:", parse_power },
    { "amdahl:", parse_amdahl },
    { "pserver:", parse_pserver },
    { "table:", parse_table },
};

int profile_parse(const char *text, const char *name, struct profile **ret, struct edl_error *error)
{
    for (size_t i = 0; i < ELEMENTS(kinds); i++) {
        size_t n = strlen(kinds[i].prefix);

        if (strncmp(text, kinds[i].prefix, n) == 0)
            return kinds[i].parse(text, text + n, name, ret, error);
    }
    return refuse(text, "power:P, amdahl:S, table:N=RATE;N=RATE... or pserver:MODEL", error);
}

static char *table_text(const struct formula *self)
{
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);

    if (file == NULL)
        abort();
    (void)fputs("table:", file);
    for (size_t i = 0; i < self->profile.n_counts; i++)
        (void)fprintf(file, "%s%u=%.17g", i > 0 ? ";" : "", self->counts[i], self->rates[i]);
    (void)fclose(file);
    return text;
}

char *profile_text(const struct profile *profile)
{
    const struct formula *self = (const struct formula *)profile;
    char text[100];

    if (profile->ops == &formula_table_ops)
        return table_text(self);
    if (profile->ops == &formula_power_ops)
        (void)snprintf(text, sizeof(text), "power:%.17g", self->parameter);
    else if (profile->ops == &formula_amdahl_ops)
        (void)snprintf(text, sizeof(text), "amdahl:%.17g", self->parameter);
    else if (profile->ops == &formula_pserver_ops)
        (void)snprintf(text, sizeof(text), "pserver:%s", self->model->name);
    else
        return NULL;
    return xstrdup(text);
}
