/* SPDX-License-Identifier: Apache-2.0 */
/* job_words.c - see job_words.h */
#include "client/job_words.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "shared/options_table.h"
#include "shared/parse.h"

/* ---- options that are not taken ---- */

#define INSTANCES "--min N, or --ntasks N: so many instances, where there is room"
#define LABELS "--selector KEY=VALUE: only nodes with that label (edl nodes lists them)"
#define OUTPUT "leave it out: --output FILE begins anew, and edl logs JOB has what no file takes"
#define PER_INSTANCE "--memory BYTES, of each instance"
#define GPUS "--gpus N, of each instance"
#define SHARE "leave it out: edl user set NAME --group GROUP says whose share it is"
#define LATER "--after JOB, or submit it then (at(1))"
#define RESTART "leave it out, or write a document with restart: {max: N}"
#define SHELL "-- sh -c 'COMMAND' at the end"

static const struct {
    const char *name;
    char letter;
    const char *ours;
} foreign[] = {
    { "partition", 'p', LABELS },
    { "queue", 0, LABELS },
    { "constraint", 'C', LABELS },
    { "exclude", 'x', LABELS },
    { "label", 0, LABELS },
    { "nodes", 'N', INSTANCES },
    { "ntasks-per-node", 0, INSTANCES },
    { "tasks-per-node", 0, INSTANCES },
    { "nproc-per-node", 0, INSTANCES },
    { "replicas", 0, INSTANCES },
    { "instances", 0, INSTANCES },
    { "workers", 0, INSTANCES },
    { "np", 0, INSTANCES },
    { "open-mode", 0, OUTPUT },
    { "input", 'i', SHELL },
    { "mem-per-cpu", 0, PER_INSTANCE },
    { "mem-per-gpu", 0, PER_INSTANCE },
    { "ram", 0, PER_INSTANCE },
    { "gpus-per-node", 'G', GPUS },
    { "gpus-per-socket", 0, GPUS },
    { "cores", 0, "--cpu CORES, of each instance" },
    { "threads", 0, "--cpu CORES, of each instance" },
    { "account", 'A', SHARE },
    { "qos", 'q', "--priority N" },
    { "nice", 0, "--priority -N" },
    { "begin", 'b', LATER },
    { "hold", 'H', LATER },
    { "singleton", 0, LATER },
    { "requeue", 0, RESTART },
    { "no-requeue", 0, RESTART },
    { "retries", 0, RESTART },
    { "signal", 0,
      "leave it out: SIGTERM comes first, and grace in a document says how long before" },
    { "exclusive", 0, "--cpu N with all cores of a node" },
    { "oversubscribe", 's', "leave it out, or ask for less: --cpu 0.5" },
    { "mpi", 0, "--mode mpi" },
    { "timeout", 0, "--time TIME" },
    { "wrap", 0, SHELL },
    { "wait", 'W', "--follow" },
    { "test-only", 0, "edl plan in the place of edl submit" },
    { "dry-run", 0, "edl plan in the place of edl submit" },
    { "parsable", 0, "--json" },
    { "quiet", 'Q', "--json" },
    { "comment", 0, "--name NAME" },
    { "uid", 0, "--user ACCOUNT" },
    { "image", 0, "leave it out: programs run without containers" },
    { "container-image", 0, "leave it out: programs run without containers" },
};

const char *job_words_ours(const char *word)
{
    bool is_long = strncmp(word, "--", 2) == 0;
    size_t n = strcspn(word, "=") - 2;

    for (size_t i = 0; i < ELEMENTS(foreign); i++)
        if (is_long ? strlen(foreign[i].name) == n && strncmp(word + 2, foreign[i].name, n) == 0
                    : word[0] == '-' && word[1] != '\0' && word[1] == foreign[i].letter)
            return foreign[i].ours;
    return NULL;
}

/* ---- values in Slurm's forms ---- */

int option_name_or_tasks(const struct option_value *value, struct edl_error *error)
{
    struct job_tasks *tasks = value->field;
    uint64_t n = 0;

    (void)error;
    if (parse_u64(value->text, &n) == 0 && n > 0)
        tasks->n = n;
    else
        tasks->name = value->text;
    return 0;
}

int option_gres(const struct option_value *value, struct edl_error *error)
{
    const char *text = value->text, *colon = strchr(text, ':');
    uint64_t n = 1;

    if (strncmp(text, "gpu", 3) != 0 || (text[3] != ':' && text[3] != '\0')) {
        (void)edl_error_set(error, -EINVAL, "\"%.80s\" is nothing that nodes offer", text);
        return edl_error_remedy(error, "--gpus N; what a node has by label: --selector KEY=VALUE");
    }
    if (colon != NULL && parse_u64(colon + 1, &n) < 0) {
        (void)edl_error_set(error, -EINVAL, "\"%.80s\" names a type of GPU", text);
        return edl_error_remedy(error, "--gpus N --selector gpu-type=TYPE, as edl nodes lists it");
    }
    *(uint64_t *)value->field = n;
    return 0;
}

/* read_fields - numbers with ':' between; how many, at most 3, else -EINVAL */
static int read_fields(const char *text, uint64_t ret[3])
{
    int n = 0;

    for (const char *at = text;; at++) {
        char field[16];
        size_t size = strcspn(at, ":");

        if (n == 3 || size >= sizeof field)
            return -EINVAL;
        (void)snprintf(field, sizeof field, "%.*s", (int)size, at);
        if (parse_u64(field, &ret[n]) < 0 || ret[n] > UINT32_MAX)
            return -EINVAL;
        n++;
        at += size;
        if (*at == '\0')
            return n;
    }
}

int slurm_time(const char *text, uint64_t *ret_us)
{
    const char *dash = strchr(text, '-');
    uint64_t f[3] = { 0 }, days = 0, seconds;
    char before[16];
    int n = read_fields(dash != NULL ? dash + 1 : text, f);

    if (n < 0)
        return -EINVAL;
    if (dash != NULL) { /* days, hours, minutes and seconds */
        (void)snprintf(before, sizeof before, "%.*s", (int)MIN_OF(dash - text, 15), text);
        if (parse_u64(before, &days) < 0 || days > UINT32_MAX)
            return -EINVAL;
        seconds = f[0] * 3600 + f[1] * 60 + f[2];
    } else {
        seconds = n == 1 ? f[0] * 60 : n == 2 ? f[0] * 60 + f[1] : f[0] * 3600 + f[1] * 60 + f[2];
    }
    *ret_us = (days * 86400 + seconds) * USEC_PER_SEC;
    return 0;
}

int slurm_memory(const char *text, uint64_t *ret_bytes)
{
    static const char units[] = "KMGT";
    size_t digits = strspn(text, "0123456789");
    const char *unit =
        text[digits] != '\0' ? strchr(units, toupper((unsigned char)text[digits])) : units + 1;
    char number[16];
    uint64_t n;

    if (digits == 0 || digits >= sizeof number || unit == NULL ||
        (text[digits] != '\0' && text[digits + 1] != '\0'))
        return -EINVAL;
    (void)snprintf(number, sizeof number, "%.*s", (int)digits, text);
    if (parse_u64(number, &n) < 0 || n > UINT64_C(1) << 23)
        return -EINVAL;
    *ret_bytes = n << 10 * (unit - units + 1);
    return 0;
}

/* ---- nodes ---- */

static int refuse_nodes(const char *list, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "\"%.80s\" is no list of nodes", list);
    return edl_error_remedy(error, "n1,n2 or n[1-4], of at most %d; edl nodes lists them",
                            ROLE_INSTANCES_MAX);
}

/* add_range - "3-5" or "08" between a name's beginning and its end; digits keep their zeros */
static int add_range(json_t *nodes, const char *start, size_t n_start, const char *range,
                     size_t n_range, const char *end, size_t n_end)
{
    char first_text[12], last_text[12];
    size_t digits = strspn(range, "0123456789");
    uint64_t first, last;

    if (digits == 0 || digits > 9 || (digits < n_range && range[digits] != '-') ||
        n_range - digits > 10)
        return -EINVAL;
    (void)snprintf(first_text, sizeof first_text, "%.*s", (int)digits, range);
    (void)snprintf(last_text, sizeof last_text, "%.*s",
                   (int)(digits < n_range ? n_range - digits - 1 : digits),
                   digits < n_range ? range + digits + 1 : range);
    if (parse_u64(first_text, &first) < 0 || parse_u64(last_text, &last) < 0 || last < first ||
        last - first >= ROLE_INSTANCES_MAX)
        return -EINVAL;
    for (uint64_t i = first; i <= last; i++)
        (void)json_array_append_new(nodes, json_sprintf("%.*s%0*" PRIu64 "%.*s", (int)n_start,
                                                        start, (int)digits, i, (int)n_end, end));
    return json_array_size(nodes) <= ROLE_INSTANCES_MAX ? 0 : -EINVAL;
}

/* add_bracketed - "n[1,3-4]x" from its bracket on; n: of the whole name */
static int add_bracketed(json_t *nodes, const char *name, size_t n, const char *open)
{
    const char *shut = memchr(open, ']', n - (size_t)(open - name));
    int r = 0;

    if (shut == NULL || shut == open + 1 || memchr(shut, '[', n - (size_t)(shut - name)) != NULL)
        return -EINVAL;
    for (const char *at = open + 1; r == 0 && at < shut;) {
        size_t size = MIN_OF(strcspn(at, ",]"), (size_t)(shut - at));

        r = add_range(nodes, name, (size_t)(open - name), at, size, shut + 1,
                      n - (size_t)(shut + 1 - name));
        at += size + 1;
    }
    return r;
}

int slurm_nodes(const char *list, json_t **ret, struct edl_error *error)
{
    json_t *nodes = json_array();
    int r = 0;

    for (const char *at = list; r == 0;) {
        const char *open = at + strcspn(at, "[,");
        const char *shut = *open == '[' ? strchr(open, ']') : open;
        size_t n = shut != NULL ? (size_t)(shut - at) + strcspn(shut, ",") : strlen(at);

        if (n == 0)
            r = -EINVAL;
        else if (*open == '[')
            r = add_bracketed(nodes, at, n, open);
        else if (json_array_append_new(nodes, json_stringn(at, n)) == -1 ||
                 json_array_size(nodes) > ROLE_INSTANCES_MAX)
            r = -EINVAL;
        at += n;
        if (*at == '\0')
            break;
        at++;
    }
    if (r == 0) {
        *ret = nodes;
        return 0;
    }
    json_decref(nodes);
    return refuse_nodes(list, error);
}

/* ---- dependencies ---- */

/* dependency_kind - how `after` says it; *ret_n: of the kind's word. NULL: another kind */
static const char *dependency_kind(const char *text, size_t *ret_n)
{
    static const char *const kinds[][2] = { { "afterok:", "" }, { "afterany:", "any:" } };

    for (size_t i = 0; i < ELEMENTS(kinds); i++) {
        *ret_n = strlen(kinds[i][0]);
        if (strncmp(text, kinds[i][0], *ret_n) == 0)
            return kinds[i][1];
    }
    return NULL;
}

int slurm_after(const char *dependency, json_t *after, struct edl_error *error)
{
    for (const char *at = dependency;;) {
        const char *end = at + strcspn(at, ",?");
        size_t n;
        const char *kind = dependency_kind(at, &n);

        if (kind == NULL || *end == '?') {
            (void)edl_error_set(error, -EINVAL, "\"%.80s\" is no afterok:JOB or afterany:JOB", at);
            return edl_error_remedy(error, "--after JOB: it starts when that one has succeeded");
        }
        for (at += n; at <= end; at++) {
            size_t size = MIN_OF(strcspn(at, ":,"), (size_t)(end - at));

            if (size == 0 ||
                json_array_append_new(after, json_sprintf("%s%.*s", kind, (int)size, at)) == -1)
                return edl_error_set(error, -EINVAL, "a job is missing in \"%.80s\"", dependency);
            at += size;
        }
        if (*end == '\0')
            return 0;
        at = end + 1;
    }
}

/* ---- the environment ---- */

static bool is_name(const char *text, size_t n)
{
    if (n == 0 || isdigit((unsigned char)text[0]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return true;
}

int job_env_add(json_t *env, const char *text, struct edl_error *error)
{
    size_t n = strcspn(text, "=");
    _cleanup_free_ char *name = text_format("%.*s", (int)n, text);
    const char *value = text[n] == '=' ? text + n + 1 : getenv(name);

    if (n == 0 || (text[n] != '=' && !is_name(text, n))) {
        (void)edl_error_set(error, -EINVAL, "--env: \"%s\" is not NAME=VALUE", text);
        return edl_error_remedy(error, "--env NAME=VALUE, or --env NAME for its value here");
    }
    if (value == NULL) {
        (void)edl_error_set(error, -EINVAL, "--env %s: there is no such variable here", name);
        return edl_error_remedy(error, "--env %s=VALUE, or export it before", name);
    }
    if (json_object_set_new(env, name, json_string(value)) == -1)
        return edl_error_set(error, -EINVAL, "--env %s: the value is not UTF-8", name);
    return 0;
}

/* stays_here - of this machine, this session, or this job */
static bool stays_here(const char *name)
{
    static const char *const names[] = { "HOME",   "USER",    "LOGNAME",   "SHELL",   "PWD",
                                         "OLDPWD", "SHLVL",   "_",         "TERM",    "TMPDIR",
                                         "MAIL",   "DISPLAY", "LS_COLORS", "HOSTNAME" };
    static const char *const starts[] = { "EDL_",   "SSH_", "XDG_",  "DBUS_", "LESS",
                                          "SLURM_", "GPG_", "SUDO_", "LC_",   "BASH_" };

    for (size_t i = 0; i < ELEMENTS(names); i++)
        if (streq(name, names[i]))
            return true;
    for (size_t i = 0; i < ELEMENTS(starts); i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static void export_all(json_t *env)
{
    for (char **at = environ; *at != NULL; at++) {
        size_t n = strcspn(*at, "=");
        _cleanup_free_ char *name = text_format("%.*s", (int)n, *at);

        if ((*at)[n] == '=' && is_name(name, n) && !stays_here(name) &&
            json_object_get(env, name) == NULL)
            (void)json_object_set_new(env, name, json_string(*at + n + 1));
    }
}

int job_env_export(json_t *env, const char *list, struct edl_error *error)
{
    int r = 0;

    for (const char *at = list; r == 0;) {
        size_t n = strcspn(at, ",");
        _cleanup_free_ char *item = text_format("%.*s", (int)n, at);

        if (streq(item, "ALL"))
            export_all(env);
        else if (!streq(item, "NONE"))
            r = job_env_add(env, item, error);
        at += n;
        if (*at == '\0')
            break;
        at++;
    }
    return r;
}
