/* SPDX-License-Identifier: Apache-2.0 */
/* exposition_parse.c - a strict reader of the Prometheus text format, for tests */
#include "tests/unit/exposition_parse.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "shared/macro.h"

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"
#define DIGITS "0123456789"

struct parser {
    struct exposition *out;
    bool has_type, has_sample; /* of the present family */
    unsigned line;
    /* of the present histogram series */
    char buckets_of[402]; /* "(" and the labels; "" none */
    double last_bound, last_count;
};

__attribute__((format(printf, 2, 3))) static bool wrong(struct parser *p, const char *format, ...)
{
    va_list ap;
    int n = snprintf(p->out->error, sizeof p->out->error, "line %u: ", p->line);

    va_start(ap, format);
    (void)vsnprintf(p->out->error + n, sizeof p->out->error - (size_t)n, format, ap);
    va_end(ap);
    return false;
}

static size_t name_length(const char *text, bool colon)
{
    size_t n = strspn(text, colon ? NAME_CHARS ":" : NAME_CHARS);

    return n > 0 && strchr(DIGITS, text[0]) == NULL ? n : 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && streq(text + n - m, end);
}

static struct family *present(const struct parser *p)
{
    return p->out->n_families > 0 ? &p->out->families[p->out->n_families - 1] : NULL;
}

static bool end_family(struct parser *p)
{
    if (present(p) != NULL && (!p->has_type || !p->has_sample))
        return wrong(p, "%s has no TYPE or no sample", present(p)->name);
    if (p->buckets_of[0] != '\0')
        return wrong(p, "the histogram %s does not end with its count", p->buckets_of);
    return true;
}

static bool parse_help(struct parser *p, const char *rest)
{
    size_t n = name_length(rest, true);
    struct family *family;

    if (n == 0 || n >= sizeof family->name || rest[n] != ' ' || rest[n + 1] == '\0')
        return wrong(p, "HELP without a name or text");
    if (!end_family(p))
        return false;
    if (p->out->n_families == FAMILIES_MAX)
        return wrong(p, "too many families");
    family = &p->out->families[p->out->n_families++];
    (void)snprintf(family->name, sizeof family->name, "%.*s", (int)n, rest);
    for (size_t i = 0; i + 1 < p->out->n_families; i++)
        if (streq(p->out->families[i].name, family->name))
            return wrong(p, "the family %s comes twice", family->name);
    for (const char *c = rest + n; *c != '\0'; c++)
        if (*c == '\\' && *++c != '\\' && *c != 'n')
            return wrong(p, "HELP of %s has a bad escape", family->name);
    p->has_type = p->has_sample = false;
    return true;
}

static bool parse_type(struct parser *p, const char *rest)
{
    struct family *family = present(p);
    size_t n = name_length(rest, true);

    if (family == NULL || p->has_type || strlen(family->name) != n ||
        strncmp(rest, family->name, n) != 0 || rest[n] != ' ')
        return wrong(p, "TYPE does not follow its HELP");
    (void)snprintf(family->type, sizeof family->type, "%s", rest + n + 1);
    if (!streq(family->type, "gauge") && !streq(family->type, "counter") &&
        !streq(family->type, "histogram"))
        return wrong(p, "type %s", family->type);
    if (streq(family->type, "counter") != ends_with(family->name, "_total"))
        return wrong(p, "%s is a %s", family->name, family->type);
    p->has_type = true;
    return true;
}

/* Behind the '{'; returns what is behind the '}', or NULL. le: the value of that label; others: the
 * labels without it. */
static const char *parse_labels(struct parser *p, const char *at, char le[40], char others[400])
{
    char seen[10][40];
    size_t n_seen = 0;

    le[0] = others[0] = '\0';
    for (;;) {
        const char *start = at;
        size_t n = name_length(at, false);

        if (n == 0 || n >= sizeof seen[0] || n_seen == ELEMENTS(seen) || at[n] != '=' ||
            at[n + 1] != '"')
            return NULL;
        (void)snprintf(seen[n_seen], sizeof seen[0], "%.*s", (int)n, at);
        for (size_t i = 0; i < n_seen; i++)
            if (streq(seen[i], seen[n_seen]))
                return NULL;
        for (at += n + 2; *at != '"'; at++)
            if (*at == '\0' || (*at == '\\' && *++at != '\\' && *at != '"' && *at != 'n'))
                return NULL;
        at++;
        if (streq(seen[n_seen], "le"))
            (void)snprintf(le, 40, "%.*s", (int)(at - start) - 5, start + 4);
        else
            (void)snprintf(others + strlen(others), 400 - strlen(others), "%.*s;",
                           (int)(at - start), start);
        n_seen++;
        if (*at == '}')
            return at + 1;
        if (*at++ != ',')
            return NULL;
    }
    (void)p;
}

static bool check_bucket(struct parser *p, const char *others, const char *le, double value)
{
    char *end;
    double bound = strtod(le, &end); /* +Inf is infinity */

    if (*le == '\0' || *end != '\0')
        return wrong(p, "the bound \"%s\"", le);
    if (p->buckets_of[0] == '\0') {
        (void)snprintf(p->buckets_of, sizeof p->buckets_of, "(%s", others);
        p->last_bound = -1;
        p->last_count = 0;
    }
    if (!streq(p->buckets_of + 1, others) || bound <= p->last_bound || value < p->last_count)
        return wrong(p, "buckets do not rise");
    p->last_bound = bound;
    p->last_count = value;
    return true;
}

static bool check_histogram(struct parser *p, const char *part, const char *others, const char *le,
                            double value)
{
    if (streq(part, "_bucket"))
        return check_bucket(p, others, le, value);
    if (*le != '\0' || p->buckets_of[0] == '\0' || !streq(p->buckets_of + 1, others) ||
        !isinf(p->last_bound))
        return wrong(p, "%s does not follow its buckets", part);
    if (streq(part, "_sum"))
        return true;
    if (!streq(part, "_count") || value != p->last_count)
        return wrong(p, "%s is not what +Inf says", part);
    p->buckets_of[0] = '\0';
    return true;
}

static bool add_series(struct parser *p, const char *line, size_t length, double value)
{
    struct series *series = &p->out->series[p->out->n_series];

    if (p->out->n_series == SERIES_MAX || length >= sizeof series->key)
        return wrong(p, "too many series, or too long");
    (void)snprintf(series->key, sizeof series->key, "%.*s", (int)length, line);
    series->value = value;
    if (exposition_value(p->out, series->key) != NULL)
        return wrong(p, "%s comes twice", series->key);
    p->out->n_series++;
    return true;
}

static bool parse_sample(struct parser *p, const char *line)
{
    const struct family *family = present(p);
    size_t n = name_length(line, true), own = family != NULL ? strlen(family->name) : 0;
    char le[40] = "", others[400] = "", part[20] = "";
    const char *at = line + n;
    char *end;
    double value;

    if (n == 0 || family == NULL || !p->has_type || n < own || n - own >= sizeof part ||
        strncmp(line, family->name, own) != 0)
        return wrong(p, "a sample outside its family: %.60s", line);
    (void)snprintf(part, sizeof part, "%.*s", (int)(n - own), line + own);
    if (*at == '{')
        at = parse_labels(p, at + 1, le, others);
    if (at == NULL || *at != ' ')
        return wrong(p, "bad labels: %.60s", line);
    value = strtod(at + 1, &end);
    if (strchr(DIGITS, at[1]) == NULL || *end != '\0' || !isfinite(value))
        return wrong(p, "bad value: %.60s", line);
    p->has_sample = true;
    if (streq(family->type, "histogram")) {
        if (!check_histogram(p, part, others, le, value))
            return false;
    } else if (part[0] != '\0') {
        return wrong(p, "a sample outside its family: %.60s", line);
    }
    return add_series(p, line, (size_t)(at - line), value);
}

static bool parse_line(struct parser *p, const char *line)
{
    if (strncmp(line, "# HELP ", 7) == 0)
        return parse_help(p, line + 7);
    if (strncmp(line, "# TYPE ", 7) == 0)
        return parse_type(p, line + 7);
    return parse_sample(p, line);
}

struct exposition *exposition_parse(const char *text)
{
    struct parser p = { .out = xcalloc(1, sizeof(struct exposition)) };
    char *copy = xstrdup(text), *rest = copy;
    bool good = true;

    for (p.line = 1; good && rest != NULL && *rest != '\0'; p.line++) {
        char *line = rest;

        rest = strchr(line, '\n');
        if (rest == NULL)
            good = wrong(&p, "it does not end with a new line");
        else
            *rest++ = '\0';
        good = good && parse_line(&p, line);
    }
    if (good && p.out->n_families == 0)
        (void)wrong(&p, "nothing is there");
    else if (good)
        (void)end_family(&p);
    free(copy);
    return p.out;
}

const double *exposition_value(const struct exposition *exposition, const char *key)
{
    for (size_t i = 0; i < exposition->n_series; i++)
        if (streq(exposition->series[i].key, key))
            return &exposition->series[i].value;
    return NULL;
}
