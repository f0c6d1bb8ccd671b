/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - one table-driven option parser for every verb
 *
 * getopt_long would keep its state in globals and would need the conversion of every value written
 * out again in each verb. Here the table says where a value goes and what it must look like. A
 * wrong value is refused with the option's own name in the message. */
#include "client/options.h"

#include <errno.h>
#include <string.h>

#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "shared/nearest.h"
#include "shared/parse.h"

const struct option_spec server_option_specs[] = {
    { "server", 0, OPTION_TEXT, "URL",
      "the scheduler (default: $EDL_SERVER, then the running edl dev)",
      offsetof(struct common_options, server) },
    { "token-file", 0, OPTION_TEXT, "FILE",
      "file with the token (default: $EDL_TOKEN_FILE, $EDL_TOKEN)",
      offsetof(struct common_options, token_file) },
    { "ca", 0, OPTION_TEXT, "FILE", "certificate of an https server's authority (default: $EDL_CA)",
      offsetof(struct common_options, ca) },
    { .name = NULL },
};

const struct option_spec common_option_specs[] = {
    { "json", 0, OPTION_FLAG, NULL, "print JSON instead of text",
      offsetof(struct common_options, json) },
    { "help", 'h', OPTION_FLAG, NULL, "show this help", offsetof(struct common_options, help) },
    { .name = NULL },
};

static const struct option_spec *find_long(const struct option_spec *specs, const char *name,
                                           size_t size)
{
    for (; specs->name != NULL; specs++)
        if (strlen(specs->name) == size && strncmp(specs->name, name, size) == 0)
            return specs;
    return NULL;
}

static const struct option_spec *find_letter(const struct option_spec *specs, char letter)
{
    for (; specs->name != NULL; specs++)
        if (specs->letter != 0 && specs->letter == letter)
            return specs;
    return NULL;
}

static int unknown_option(const struct option_spec *specs, const char *given, size_t size,
                          struct edl_error *error)
{
    const char *known[64];
    size_t n = 0;
    char name[64];
    const struct option_spec *const tables[] = { specs, server_option_specs, common_option_specs };

    (void)snprintf(name, sizeof(name), "%.*s", (int)MIN_OF(size, sizeof(name) - 1), given);
    for (size_t t = 0; t < ELEMENTS(tables); t++)
        for (const struct option_spec *spec = tables[t]; spec->name != NULL; spec++)
            if (n < ELEMENTS(known))
                known[n++] = spec->name;

    const char *best = size > 1 ? nearest_word(name, known, n) : NULL;

    (void)edl_error_set(error, -EINVAL, "there is no option %s%s", size > 1 ? "--" : "-", name);
    if (best != NULL)
        return edl_error_remedy(error, "--%s", best);
    return edl_error_remedy(error, "--help lists the options");
}

static int parse_load(const char *text, double *ret)
{
    char *end = NULL;

    if (text[0] < '0' || text[0] > '9')
        return -EINVAL;
    errno = 0;
    double value = strtod(text, &end);

    if (errno != 0 || *end != '\0' || !(value > 0.0 && value <= 1.0))
        return -EINVAL;
    *ret = value;
    return 0;
}

/* A verb reads 0 as "not given": who writes it gets no default for it. */
static int store_positive(int (*parse)(const char *text, uint64_t *ret), const char *text,
                          uint64_t *place)
{
    return parse(text, place) < 0 || *place == 0 ? -EINVAL : 0;
}

static int store_number(enum option_kind kind, const char *text, void *place)
{
    switch (kind) {
    case OPTION_U64:
        return parse_u64(text, place);
    case OPTION_COUNT:
        return store_positive(parse_u64, text, place);
    case OPTION_CPU:
        return store_positive(parse_cpu, text, place);
    case OPTION_BYTES:
        return store_positive(parse_bytes, text, place);
    case OPTION_MEMORY:
        return store_positive(parse_bytes, text, place) < 0 ||
                       *(uint64_t *)place < ROLE_MEMORY_BYTES_LEAST
                   ? -EINVAL
                   : 0;
    case OPTION_SECONDS:
        return store_positive(parse_seconds, text, place);
    case OPTION_LIMIT:
        return parse_seconds(text, place);
    case OPTION_LOAD:
        return parse_load(text, place);
    case OPTION_FLAG:
    case OPTION_TEXT:
    case OPTION_LIST:
        break;
    }
    return -EINVAL;
}

static const char *expectation(enum option_kind kind)
{
    static const char *const texts[] = {
        [OPTION_U64] = "a whole number such as 4",
        [OPTION_COUNT] = "a whole number from 1",
        [OPTION_CPU] =
            "cores such as 2, 0.5 or 200m, more than none; without the option there is a "
            "default",
        [OPTION_BYTES] = "bytes such as 64Mi or 1Gi, more than none; without the option there is a "
                         "default",
        [OPTION_MEMORY] =
            "64Mi or 1Gi, with the unit (64 is 64 bytes) and 4Mi at least; without the "
            "option there is a default",
        [OPTION_SECONDS] = "a time such as 500ms, 30s or 2m, more than none",
        [OPTION_LIMIT] = "a time such as 500ms, 30s or 2m; 0: no limit",
        [OPTION_LOAD] = "a share such as 0.9",
    };

    return (size_t)kind < ELEMENTS(texts) && texts[kind] != NULL ? texts[kind] : "a value";
}

static int store_value(const struct option_spec *spec, const char *text, void *values,
                       struct edl_error *error)
{
    void *place = (char *)values + spec->offset;

    if (spec->kind == OPTION_TEXT) {
        *(const char **)place = text;
        return 0;
    }
    if (spec->kind == OPTION_LIST) {
        struct option_list *list = place;

        if (list->n == OPTION_LIST_MAX)
            return edl_error_set(error, -EINVAL, "--%s is given more than %d times", spec->name,
                                 OPTION_LIST_MAX);
        list->values[list->n++] = text;
        return 0;
    }
    if (store_number(spec->kind, text, place) < 0) {
        (void)edl_error_set(error, -EINVAL, "--%s: \"%s\" does not fit", spec->name, text);
        return edl_error_remedy(error, "%s", expectation(spec->kind));
    }
    return 0;
}

/* One option at argv[*i]; *i is moved on to its value when the value is an argument of its own. */
static int parse_one(const struct option_spec *specs, void *values, int argc, char **argv, int *i,
                     struct edl_error *error)
{
    const char *given = argv[*i];
    bool is_long = given[1] == '-';
    const char *name = given + (is_long ? 2 : 1);
    size_t size = is_long ? strcspn(name, "=") : 1;
    const struct option_spec *spec;

    if (is_long) {
        spec = find_long(specs, name, size);
        if (spec == NULL)
            spec = find_long(server_option_specs, name, size);
        if (spec == NULL)
            spec = find_long(common_option_specs, name, size);
    } else {
        spec = find_letter(specs, *name);
        if (spec == NULL)
            spec = find_letter(common_option_specs, *name);
    }
    if (spec == NULL)
        return unknown_option(specs, name, size, error);

    const char *value = NULL;

    if (is_long && name[size] == '=')
        value = name + size + 1;
    else if (!is_long && name[1] != '\0')
        value = name + 1;
    if (spec->kind == OPTION_FLAG) {
        if (value != NULL)
            return edl_error_set(error, -EINVAL, "--%s takes no value", spec->name);
        *(bool *)((char *)values + spec->offset) = true;
        return 0;
    }
    if (value == NULL) {
        if (*i + 1 >= argc)
            return edl_error_set(error, -EINVAL, "--%s needs a value: %s", spec->name,
                                 spec->argument);
        value = argv[++*i];
    }
    return store_value(spec, value, values, error);
}

int options_parse(const struct option_spec *specs, void *values, int argc, char **argv,
                  struct arguments *ret, struct edl_error *error)
{
    struct arguments found = { .args = xcalloc((size_t)argc + 1, sizeof(char *)) };

    for (int i = 0; i < argc; i++) {
        if (streq(argv[i], "--")) {
            found.rest = argv + i + 1;
            found.n_rest = (size_t)(argc - i - 1);
            found.has_rest = true;
            break;
        }
        if (argv[i][0] != '-' || argv[i][1] == '\0') { /* "-" alone is standard input */
            found.args[found.n_args++] = argv[i];
            continue;
        }
        int r = parse_one(specs, values, argc, argv, &i, error);

        if (r < 0) {
            arguments_clear(&found);
            return r;
        }
    }
    *ret = found;
    return 0;
}

void arguments_clear(struct arguments *arguments)
{
    free(arguments->args);
    *arguments = (struct arguments){ 0 };
}

void options_print(FILE *out, const struct option_spec *specs)
{
    for (; specs->name != NULL; specs++) {
        char left[64];
        char letter[8] = "    ";

        if (specs->letter != 0)
            (void)snprintf(letter, sizeof(letter), "-%c, ", specs->letter);
        (void)snprintf(left, sizeof(left), "%s--%s%s%s", letter, specs->name,
                       specs->argument != NULL ? " " : "",
                       specs->argument != NULL ? specs->argument : "");
        (void)fprintf(out, "  %-28s %s\n", left, specs->help);
    }
}
