/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - what a process of a job is told: environment first, long options over it */
#include "trainer/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

static int assign(const struct option_value *value, const char *text, const char *where,
                  struct edl_error *error)
{
    char *end;

    if (value->text != NULL) {
        *value->text = text;
        return 0;
    }
    if (value->u64 != NULL) {
        if (parse_u64(text, value->u64) < 0)
            return edl_error_set(error, -EINVAL, "%s%s is \"%s\", not a number", where,
                                 *where != '\0' ? value->name : value->environment, text);
        return 0;
    }
    errno = 0;
    *value->real = strtof(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !isfinite(*value->real) || *value->real < 0)
        return edl_error_set(error, -EINVAL, "%s%s is \"%s\", not a number >= 0", where,
                             value->name, text);
    return 0;
}

static int assign_defaults(const struct option_value *values, size_t n_values,
                           struct edl_error *error)
{
    for (size_t i = 0; i < n_values; i++) {
        const char *text = values[i].environment != NULL ? getenv(values[i].environment) : NULL;
        int r = 0;

        if (text != NULL && *text != '\0')
            r = assign(&values[i], text, "", error);
        else if (values[i].fallback != NULL)
            r = assign(&values[i], values[i].fallback, "--", error);
        if (r < 0)
            return r;
    }
    return 0;
}

static const struct option_value *find(const struct option_value *values, size_t n_values,
                                       const char *name, size_t size)
{
    for (size_t i = 0; i < n_values; i++)
        if (strlen(values[i].name) == size && strncmp(values[i].name, name, size) == 0)
            return &values[i];
    return NULL;
}

int options_parse(int argc, char **argv, const struct option_value *values, size_t n_values,
                  struct edl_error *error)
{
    int r = assign_defaults(values, n_values, error);

    for (int i = 1; r >= 0 && i < argc; i++) {
        const struct option_value *value;
        const char *name = argv[i] + 2, *text;

        if (streq(argv[i], "--help") || streq(argv[i], "-h"))
            return OPTIONS_HELP;
        if (streq(argv[i], "--version"))
            return OPTIONS_VERSION;
        if (strncmp(argv[i], "--", 2) != 0)
            return edl_error_set(error, -EINVAL, "unexpected argument: %s", argv[i]);
        value = find(values, n_values, name, strcspn(name, "="));
        if (value == NULL)
            return edl_error_set(error, -EINVAL, "unknown option: %s", argv[i]);
        text = strchr(name, '=') != NULL ? strchr(name, '=') + 1 : argv[++i];
        if (text == NULL)
            return edl_error_set(error, -EINVAL, "option --%s needs a value", value->name);
        r = assign(value, text, "--", error);
    }
    return r < 0 ? r : OPTIONS_RUN;
}

void options_help(const char *usage, const struct option_value *values, size_t n_values)
{
    printf("%s\n\nOptions:\n", usage);
    for (size_t i = 0; i < n_values; i++) {
        printf("  --%-20s %s", values[i].name, values[i].help);
        if (values[i].environment != NULL)
            printf(" [%s]", values[i].environment);
        if (values[i].fallback != NULL && *values[i].fallback != '\0')
            printf(" (%s)", values[i].fallback);
        printf("\n");
    }
    printf("  --%-20s this text\n  --%-20s print the version\n", "help", "version");
}
