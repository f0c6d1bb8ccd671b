/* SPDX-License-Identifier: Apache-2.0 */
/* job_build.c - a job document from a command line
 *
 * Only the form is made here. Whether the values make sense is the scheduler's to judge, which
 * knows all the rules and names the key that breaks one. */
#include "client/job_build.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

#include "client/job_words.h"
#include "client/job_wrap.h"
#include "client/json_read.h"
#include "client/notify_words.h"
#include "client/options.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define STEM_MAX 40

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* "python3 train.py" is the job "train": who interprets it says nothing. */
static const char *telling_argument(char **argv, size_t argc)
{
    static const char *const interpreters[] = { "python", "python3", "sh", "bash", "perl", "env" };
    const char *program = base_name(argv[0]);

    for (size_t i = 0; i < ELEMENTS(interpreters); i++)
        if (argc > 1 && argv[1][0] != '-' && streq(program, interpreters[i]))
            return base_name(argv[1]);
    return program;
}

char *job_build_name(char **argv, size_t argc, const unsigned char random[5])
{
    /* no vowels: no words by accident */
    static const char alphabet[] = "bcdfghjkmnpqrstvwxz2456789";
    const char *source = telling_argument(argv, argc);
    char stem[STEM_MAX + 1];
    char suffix[6] = { 0 };
    size_t n = 0;

    for (const char *c = source; *c != '\0' && n < STEM_MAX; c++) {
        if (*c == '.' && n > 0)
            break; /* the extension */
        if (isascii(*c) && isalnum((unsigned char)*c))
            stem[n++] = (char)tolower((unsigned char)*c);
        else if (n > 0 && stem[n - 1] != '-')
            stem[n++] = '-';
        while (n > 0 && !isalpha((unsigned char)stem[0])) /* a label starts with a letter */
            n = 0;
    }
    while (n > 0 && stem[n - 1] == '-')
        n--;
    stem[n] = '\0';
    for (size_t i = 0; i + 1 < sizeof(suffix); i++)
        suffix[i] = alphabet[random[i] % (sizeof(alphabet) - 1)];
    return text_format("%s-%s", n > 0 ? stem : "job", suffix);
}

static int add_env(json_t *spec, const struct job_build *build, struct edl_error *error)
{
    json_t *env = json_object();
    int r = build->exports != NULL ? job_env_export(env, build->exports, error) : 0;

    for (size_t i = 0; r == 0 && build->env != NULL && i < build->env->n; i++)
        r = job_env_add(env, build->env->values[i], error);
    if (r == 0 && json_object_size(env) > 0)
        (void)json_object_set(spec, "env", env);
    json_decref(env);
    return r;
}

static int add_after(json_t *spec, const struct job_build *build, struct edl_error *error)
{
    json_t *after = json_array();
    int r = build->dependency != NULL ? slurm_after(build->dependency, after, error) : 0;

    for (size_t i = 0; r == 0 && build->after != NULL && i < build->after->n; i++)
        if (json_array_append_new(after, json_string(build->after->values[i])) == -1)
            r = edl_error_set(error, -EINVAL, "--after: the name is not UTF-8");
    if (r == 0 && json_array_size(after) > 0)
        (void)json_object_set(spec, "after", after);
    json_decref(after);
    return r;
}

int job_add_time_limit(json_t *spec, const char *text, struct edl_error *error)
{
    uint64_t us;

    if (text == NULL)
        return 0;
    if (text[0] != '\0' && text[strspn(text, "0123456789")] == '\0') {
        (void)edl_error_set(error, -EINVAL, "--time %.40s has no unit", text);
        return edl_error_remedy(error, "--time %.40sm for minutes, as Slurm reads it, or %.40ss",
                                text, text);
    }
    (void)json_object_set_new(spec, "time_limit",
                              strpbrk(text, ":-") != NULL && slurm_time(text, &us) == 0
                                  ? json_sprintf("%" PRIu64 "s", us / USEC_PER_SEC)
                                  : json_string(text));
    return 0;
}

static int add_priority(json_t *spec, const char *text, struct edl_error *error)
{
    int64_t priority;

    if (text == NULL)
        return 0;
    if (parse_i64(text, &priority) < 0) {
        (void)edl_error_set(error, -EINVAL, "--priority %.80s is not a whole number", text);
        return edl_error_remedy(error, "jobs have 0 by default, higher goes first");
    }
    (void)json_object_set_new(spec, "priority", json_integer(priority));
    return 0;
}

static int add_selector(json_t *role, const struct option_list *list, struct edl_error *error)
{
    json_t *labels;

    if (list == NULL || list->n == 0)
        return 0;
    labels = json_object();
    (void)json_object_set_new(role, "node-selector", labels);
    for (size_t i = 0; i < list->n; i++) {
        const char *equals = strchr(list->values[i], '=');
        _cleanup_free_ char *key =
            text_format("%.*s", (int)strcspn(list->values[i], "="), list->values[i]);

        if (equals != NULL && *key != '\0' &&
            json_object_set_new(labels, key, json_string(equals + 1)) == 0)
            continue;
        (void)edl_error_set(error, -EINVAL, "--selector: \"%.80s\" is not KEY=VALUE",
                            list->values[i]);
        return edl_error_remedy(error, "edl nodes lists the labels");
    }
    return 0;
}

static int add_command(json_t *role, const struct job_build *build, struct edl_error *error)
{
    json_t *command = json_array();
    char cpus[32] = "";
    const struct job_wrap wrap = { .output = build->output,
                                   .error = build->error,
                                   .slurm_env = build->slurm_env,
                                   .many = json_u64(role, "max") > 1,
                                   .cpus = cpus };
    int r;

    if (build->cpu_millicores >= 1000)
        (void)snprintf(cpus, sizeof cpus, "%" PRIu64, build->cpu_millicores / 1000);
    (void)json_object_set_new(role, "command", command);
    r = job_wrap_add(&wrap, command, error);
    if (r < 0)
        return r;
    for (size_t i = 0; i < build->argc; i++)
        if (json_array_append_new(command, json_string(build->argv[i])) == -1)
            return edl_error_set(error, -EINVAL, "argument %zu of the command is not UTF-8", i);
    return 0;
}

static void set_amount(json_t *object, const char *name, uint64_t amount, const char *unit)
{
    _cleanup_free_ char *text = text_format("%" PRIu64 "%s", amount, unit);

    if (amount != 0)
        (void)json_object_set_new(object, name, json_string(text));
}

static json_t *build_role(const struct job_build *build, uint64_t min, uint64_t max)
{
    json_t *role = json_pack("{s:s, s:I, s:I, s:s}", "role", "trainer", "min", (json_int_t)min,
                             "max", (json_int_t)max, "workspace", build->workspace);

    set_amount(role, "cpu", build->cpu_millicores, "m");
    set_amount(role, "memory", build->memory_bytes, "");
    if (build->gpus != 0)
        (void)json_object_set_new(role, "gpus", json_integer((json_int_t)build->gpus));
    if (build->takes_input)
        (void)json_object_set_new(role, "stdin", json_true());
    return role;
}

static int add_seed(json_t *dataset, const char *shuffle, struct edl_error *error)
{
    uint64_t seed = 0;

    if (parse_u64(shuffle, &seed) < 0 || seed > INT64_MAX) {
        (void)edl_error_set(error, -EINVAL,
                            "--shuffle is \"%s\", and no whole number from 0 to %" PRId64, shuffle,
                            INT64_MAX);
        return edl_error_remedy(error, "give any seed, such as --shuffle 7");
    }
    (void)json_object_set_new(dataset, "shuffle", json_integer((json_int_t)seed));
    return 0;
}

/* add_count - of at most max; 0: nothing is said */
static int add_count(json_t *dataset, const char *key, const char *option, uint64_t n, uint64_t max,
                     struct edl_error *error)
{
    if (n > max) {
        (void)edl_error_set(error, -EINVAL, "%s is %" PRIu64 ", the most is %" PRIu64, option, n,
                            max);
        return edl_error_remedy(error, "give a smaller number");
    }
    if (n > 0)
        (void)json_object_set_new(dataset, key, json_integer((json_int_t)n));
    return 0;
}

/* add_dataset - the pattern alone where nothing is said of its tasks */
static int add_dataset(json_t *spec, const struct job_build *build, struct edl_error *error)
{
    _cleanup_json_ json_t *dataset = json_object();
    int r = build->shuffle != NULL ? add_seed(dataset, build->shuffle, error) : 0;

    if (r == 0)
        r = add_count(dataset, "task_records", "--task-records", build->task_records,
                      TASK_RECORDS_MAX, error);
    if (r == 0)
        r = add_count(dataset, "tries", "--task-tries", build->task_tries, TASK_TRIES_MAX, error);
    if (r < 0)
        return r;
    if (json_object_size(dataset) == 0) { /* a NULL is left out */
        (void)json_object_set_new(spec, "dataset",
                                  build->dataset != NULL ? json_string(build->dataset) : NULL);
        return 0;
    }
    if (build->dataset != NULL)
        (void)json_object_set_new(dataset, "files", json_string(build->dataset));
    (void)json_object_set(spec, "dataset", dataset);
    return 0;
}

static int fill(json_t *document, const struct job_build *build, struct edl_error *error)
{
    json_t *spec = json_object_get(document, "spec"), *nodes = NULL, *role;
    int r = build->nodes != NULL ? slurm_nodes(build->nodes, &nodes, error) : 0;
    uint64_t usual = nodes != NULL && build->max == 0 ? json_array_size(nodes) : 1;
    uint64_t min = build->min != 0 ? build->min : usual;
    uint64_t max = build->max != 0 ? build->max : min;

    if (r < 0)
        return r;
    if (max < min) {
        json_decref(nodes);
        return edl_error_set(error, -EINVAL, "--max is less than --min (%" PRIu64 ")", min);
    }
    role = build_role(build, min, max);
    if (nodes != NULL)
        (void)json_object_set_new(role, "nodes", nodes);
    (void)json_object_set_new(spec, "roles", json_pack("[o]", role));
    /* Elastic means that processes come and go while it runs. */
    /* a service is to be there: one of its processes that ends is started again */
    (void)json_object_set_new(spec, "fault_tolerant",
                              json_boolean(min < max ||
                                           (build->mode != NULL && streq(build->mode, "service"))));
    if (build->umask != JOB_UMASK)
        (void)json_object_set_new(spec, "umask", json_sprintf("%04o", (unsigned)build->umask));
    if (build->passes != 0)
        (void)json_object_set_new(spec, "passes", json_integer((json_int_t)build->passes));

    if (build->array != NULL)
        (void)json_object_set_new(spec, "array", json_string(build->array));
    if (build->user != NULL)
        (void)json_object_set_new(spec, "user", json_string(build->user));
    if (build->deadline != NULL)
        (void)json_object_set_new(spec, "deadline", json_string(build->deadline));
    if (build->expected != NULL)
        (void)json_object_set_new(spec, "expected", json_string(build->expected));

    r = add_command(role, build, error);
    if (r == 0)
        r = add_dataset(spec, build, error);
    if (r == 0)
        r = add_after(spec, build, error);
    if (r == 0)
        r = job_add_time_limit(spec, build->time_limit, error);
    if (r == 0)
        r = add_priority(spec, build->priority, error);
    if (r == 0)
        r = notify_words_add(spec, build->mail_type, build->mail_user, build->webhook, error);
    if (r == 0)
        r = add_selector(role, build->selector, error);
    return r == 0 ? add_env(spec, build, error) : r;
}

int job_build_document(const struct job_build *build, json_t **ret, struct edl_error *error)
{
    _cleanup_free_ char *derived = NULL;
    unsigned char random[5];

    if (build->name == NULL) {
        if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
            return edl_error_errno(error, -errno, "reading random bytes");
        derived = build->name_like != NULL ? job_build_name((char **)&build->name_like, 1, random)
                                           : job_build_name(build->argv, build->argc, random);
    }
    json_t *document =
        json_pack("{s:s, s:s, s:{s:s}, s:{s:s}}", "apiVersion", "paddlepaddle.org/v1", "kind",
                  "TrainingJob", "metadata", "name", build->name != NULL ? build->name : derived,
                  "spec", "mode", build->mode != NULL ? build->mode : "collective");

    if (document == NULL)
        return edl_error_set(error, -EINVAL, "the job's name or mode is not UTF-8");
    int r = fill(document, build, error);

    if (r < 0)
        json_decref(document);
    else
        *ret = document;
    return r;
}
