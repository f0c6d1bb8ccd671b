/* SPDX-License-Identifier: Apache-2.0 */
/* option_values.c - see option_values.h */
#include "agent/option_values.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/core/account_policy.h"
#include "agent/options.h"
#include "shared/account_name.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define USER_RANGE_LEAST 65536

int option_ports(const struct option_value *value, struct edl_error *error)
{
    struct agent_options *options = value->options;
    const char *text = value->text;
    char first_text[8];
    const char *dash = strchr(text, '-');
    uint64_t first, last;

    (void)error;
    if (dash == NULL || (size_t)(dash - text) >= sizeof first_text)
        return -EINVAL;
    (void)snprintf(first_text, sizeof first_text, "%.*s", (int)(dash - text), text);
    if (parse_u64(first_text, &first) < 0 || parse_u64(dash + 1, &last) < 0 || first < 1024 ||
        last > UINT16_MAX || first > last)
        return -EINVAL;
    options->port_first = (uint16_t)first;
    options->port_last = (uint16_t)last;
    return 0;
}

/* option_user_range - beyond what accounts, services and network file systems of 16 bits have */
int option_user_range(const struct option_value *value, struct edl_error *error)
{
    struct agent_options *options = value->options;
    const char *text = value->text;
    unsigned long long first, last;
    int n = 0;

    if (sscanf(text, "%10llu-%10llu%n", &first, &last, &n) != 2 || text[n] != '\0')
        return -EINVAL;
    if (first < USER_RANGE_LEAST || last > INT32_MAX || first > last)
        return edl_error_set(error, -ERANGE, "'%.80s' does not lie between %d and %d", text,
                             USER_RANGE_LEAST, INT32_MAX);
    options->user_range = (struct user_range){ (uint32_t)first, (uint32_t)last };
    return 0;
}

int option_runtime(const struct option_value *value, struct edl_error *error)
{
    struct agent_options *options = value->options;
    const char *text = value->text;
    static const char *const names[] = { [AGENT_RUNTIME_AUTO] = "auto",
                                         [AGENT_RUNTIME_SYSTEMD] = "systemd",
                                         [AGENT_RUNTIME_DIRECT] = "direct" };

    (void)error;
    for (size_t i = 0; i < ELEMENTS(names); i++)
        if (streq(text, names[i])) {
            options->runtime = (enum agent_runtime)i;
            return 0;
        }
    return -EINVAL;
}

int option_gpus(const struct option_value *value, struct edl_error *error)
{
    struct agent_options *options = value->options;
    const char *text = value->text;
    int r = parse_u64(text, &options->gpus);

    options->gpus_given = true;
    if (r == 0 && options->gpus > AGENT_GPUS_MAX)
        return edl_error_set(error, -ERANGE, "a node has at most %d devices", AGENT_GPUS_MAX);
    return r;
}

int option_gpu_numa(const struct option_value *value, struct edl_error *error)
{
    struct agent_options *options = value->options;
    const char *text = value->text;
    for (size_t i = 0; i < AGENT_GPUS_MAX; i++) {
        size_t n = strcspn(text, ",");
        char number[8];
        uint64_t numa;

        (void)error;
        (void)snprintf(number, sizeof number, "%.*s", (int)MIN_OF(n, sizeof number - 1), text);
        if (n >= sizeof number || parse_u64(number, &numa) < 0 || numa >= UINT8_MAX)
            return -EINVAL;
        options->gpu_numa[i] = (uint8_t)numa;
        options->n_gpu_numa = i + 1;
        if (text[n] == '\0')
            return 0;
        text += n + 1;
    }
    return -EINVAL;
}

/* option_token - a list of processes must not show it: it is good until this node has joined */
int option_token(const struct option_value *value, struct edl_error *error)
{
    struct agent_options *options = value->options;
    const char *text = value->text;

    if (options->again && text[0] == '\0')
        return 0; /* it was wiped when it was read first */
    if (text[0] == '\0' || strlen(text) >= sizeof options->token)
        return edl_error_set(error, -EINVAL, "this is not a join token");
    (void)snprintf(options->token, sizeof options->token, "%s", text);
    explicit_bzero((char *)(uintptr_t)text, strlen(text)); /* why: argv is ours to write to */
    return 0;
}

int option_label(const struct option_value *value, struct edl_error *error)
{
    return labels_parse(value->field, value->text, error);
}

static int check_account(const char *name, struct edl_error *error)
{
    if (account_name_valid(name))
        return 0;
    return edl_error_set(error, -EINVAL, "'%.80s' cannot be the name of an account", name);
}

int option_account(const struct option_value *value, struct edl_error *error)
{
    *(const char **)value->field = value->text;
    return check_account(value->text, error);
}

static int add_name(const struct option_value *value, struct edl_error *error)
{
    struct agent_names *names = value->field;

    if (value->first)
        *names = (struct agent_names){ .n = 0 };
    if (names->n == AGENT_NAMES_MAX)
        return edl_error_set(error, -E2BIG, "at most %d can be given", AGENT_NAMES_MAX);
    names->list[names->n++] = value->text;
    return 0;
}

int option_accounts(const struct option_value *value, struct edl_error *error)
{
    int r = add_name(value, error);

    return r < 0 ? r : check_account(value->text, error);
}

/* option_map_user - the whole text is kept: account_mapped reads it */
int option_map_user(const struct option_value *value, struct edl_error *error)
{
    const char *equals = strchr(value->text, '=');
    char name[ACCOUNT_NAME_MAX + 2];
    int r = add_name(value, error);

    if (r < 0 || streq(value->text, ACCOUNT_EVERYBODY))
        return r;
    if (equals == NULL)
        return check_account(value->text, error);
    if (strchr(equals + 1, '=') != NULL) /* which of them ends the name? */
        return edl_error_set(error, -EINVAL, "'%.80s' has more than one '='", value->text);
    (void)snprintf(name, sizeof name, "%.*s", (int)(equals - value->text), value->text);
    r = check_account(name, error);
    return r < 0 ? r : check_account(equals + 1, error);
}
