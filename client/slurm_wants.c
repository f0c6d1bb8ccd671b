/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_wants.c - see slurm_wants.h */
#include "client/slurm_wants.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/job_words.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "shared/nearest.h"
#include "shared/options_table.h"
#include "shared/parse.h"

struct slurm_option;

/* slurm_take - one option with its value ("" of a flag); -EINVAL, with error where the value alone
 * does not show what is wrong with it */
typedef int (*slurm_take)(struct slurm_wants *wants, const struct slurm_option *option,
                          const char *value, struct edl_error *error);

struct slurm_option {
    const char *name;
    char letter;
    bool is_flag, of_program; /* it takes no value; no script may say it */
    slurm_take take;
    const char *ours; /* of edl submit: "--name-like" */
    size_t field;     /* in struct slurm_wants */
};

static int take_same(struct slurm_wants *wants, const struct slurm_option *option,
                     const char *value, struct edl_error *error)
{
    (void)error;
    word_list_take(&wants->words, text_format("%s=%s", option->ours, value));
    return 0;
}

static int take_number(struct slurm_wants *wants, const struct slurm_option *option,
                       const char *value, struct edl_error *error)
{
    uint64_t *field = (uint64_t *)(void *)((char *)wants + option->field);

    (void)error;
    return parse_u64(value, field) == 0 && *field > 0 && *field <= UINT32_MAX ? 0 : -EINVAL;
}

static int take_flag(struct slurm_wants *wants, const struct slurm_option *option,
                     const char *value, struct edl_error *error)
{
    (void)value;
    (void)error;
    *(bool *)((char *)wants + option->field) = true;
    return 0;
}

/* "2", or "2-2": a span of nodes is none that an even share could be told of */
static int take_nodes(struct slurm_wants *wants, const struct slurm_option *option,
                      const char *value, struct edl_error *error)
{
    const char *dash = strchr(value, '-');
    char first[12];

    if (dash == NULL)
        return take_number(wants, option, value, error);
    (void)snprintf(first, sizeof first, "%.*s", (int)MIN_OF(dash - value, 11), value);
    return streq(first, dash + 1) ? take_number(wants, option, first, error) : -EINVAL;
}

static int take_memory(struct slurm_wants *wants, const struct slurm_option *option,
                       const char *value, struct edl_error *error)
{
    uint64_t *field = (uint64_t *)(void *)((char *)wants + option->field);

    if (slurm_memory(value, field) < 0)
        return -EINVAL;
    if (*field > 0)
        return 0;
    (void)edl_error_set(error, -EINVAL, "0 is all memory of a node in Slurm");
    return edl_error_remedy(error, "say how much: --%s=4G", option->name);
}

static int take_gres(struct slurm_wants *wants, const struct slurm_option *option,
                     const char *value, struct edl_error *error)
{
    const struct option_value given = { .text = value, .field = &wants->gpus_per_node };

    (void)option;
    return option_gres(&given, error);
}

static int take_time(struct slurm_wants *wants, const struct slurm_option *option,
                     const char *value, struct edl_error *error)
{
    uint64_t us = 0;

    (void)error;
    if (strcasecmp(value, "infinite") == 0 || strcasecmp(value, "unlimited") == 0)
        return 0;
    if (slurm_time(value, &us) < 0)
        return -EINVAL;
    if (us > 0)
        word_list_take(&wants->words,
                       text_format("%s=%" PRIu64 "s", option->ours, us / USEC_PER_SEC));
    return 0;
}

static int take_nice(struct slurm_wants *wants, const struct slurm_option *option,
                     const char *value, struct edl_error *error)
{
    int64_t nice;

    (void)error;
    if (parse_i64(value, &nice) < 0 || nice < -JOB_PRIORITY_MAX || nice > JOB_PRIORITY_MAX)
        return -EINVAL;
    word_list_take(&wants->words, text_format("%s=%" PRId64, option->ours, -nice));
    return 0;
}

/* take_wait - a flag of sbatch; to srun it gives a time, which the command would follow */
static int take_wait(struct slurm_wants *wants, const struct slurm_option *option,
                     const char *value, struct edl_error *error)
{
    if (wants->of_batch)
        return take_flag(wants, option, value, error);
    (void)edl_error_set(error, -EINVAL,
                        "the time for processes that outlive the first one does nothing here");
    return edl_error_remedy(error, "leave it out: the call ends with the last of its processes");
}

static int take_text(struct slurm_wants *wants, const struct slurm_option *option,
                     const char *value, struct edl_error *error)
{
    char **field = (char **)(void *)((char *)wants + option->field);

    (void)error;
    free(*field);
    *field = xstrdup(value);
    return 0;
}

/* nothing of the job, nor of the output that a script reads */
static int take_silence(struct slurm_wants *wants, const struct slurm_option *option,
                        const char *value, struct edl_error *error)
{
    (void)wants;
    (void)option;
    (void)value;
    (void)error;
    return 0;
}

#define SAME(theirs, key, our)                                                                     \
    {                                                                                              \
        .name = (theirs), .letter = (key), .take = take_same, .ours = (our)                        \
    }
#define FIELD(theirs, key, how, member)                                                            \
    {                                                                                              \
        .name = (theirs), .letter = (key), .take = (how),                                          \
        .field = offsetof(struct slurm_wants, member)                                              \
    }
#define PROGRAM(theirs, key, how, member)                                                          \
    {                                                                                              \
        .name = (theirs), .letter = (key), .is_flag = true, .of_program = true, .take = (how),     \
        .field = offsetof(struct slurm_wants, member)                                              \
    }

static const struct slurm_option options[] = {
    SAME("job-name", 'J', "--name-like"),
    SAME("array", 'a', "--array"),
    SAME("dependency", 'd', "--dependency"),
    SAME("nodelist", 'w', "--nodelist"),
    SAME("chdir", 'D', "--workspace"),
    SAME("export", 0, "--export"),
    SAME("output", 'o', "--output"),
    SAME("error", 'e', "--error"),
    SAME("priority", 0, "--priority"),
    SAME("mail-type", 0, "--mail-type"),
    SAME("mail-user", 0, "--mail-user"),
    SAME("selector", 0, "--selector"), /* of edl submit, as the next two */
    SAME("min", 0, "--min"),
    SAME("max", 0, "--max"),
    { .name = "nice", .take = take_nice, .ours = "--priority" },
    { .name = "time", .letter = 't', .take = take_time, .ours = "--time" },
    FIELD("ntasks", 'n', take_number, tasks),
    FIELD("nodes", 'N', take_nodes, nodes),
    FIELD("ntasks-per-node", 0, take_number, tasks_per_node),
    FIELD("cpus-per-task", 'c', take_number, cpus),
    FIELD("mem", 0, take_memory, memory_bytes),
    FIELD("mem-per-cpu", 0, take_memory, memory_per_cpu_bytes),
    { .name = "gres", .take = take_gres },
    FIELD("gpus", 'G', take_number, gpus),
    FIELD("gpus-per-node", 0, take_number, gpus_per_node),
    FIELD("gpus-per-task", 0, take_number, gpus_per_task),
    { .name = "wrap",
      .take = take_text,
      .of_program = true,
      .field = offsetof(struct slurm_wants, wrap) },
    { .name = "jobid",
      .take = take_text,
      .of_program = true,
      .field = offsetof(struct slurm_wants, job) },
    PROGRAM("wait", 'W', take_wait, wait),
    PROGRAM("parsable", 0, take_flag, parsable),
    PROGRAM("test-only", 0, take_flag, test_only),
    PROGRAM("pty", 0, take_flag, terminal),
    PROGRAM("quiet", 'Q', take_silence, wait),
    PROGRAM("verbose", 'v', take_silence, wait),
    PROGRAM("overlap", 0, take_silence, wait),
    PROGRAM("label", 'l', take_silence, wait),
    PROGRAM("unbuffered", 'u', take_silence, wait),
    /* of edl submit, for scripts that are meant for both */
    { .name = "slurm-env", .is_flag = true, .take = take_same, .ours = "--slurm-env" },
};

static const struct slurm_option *find(const char *word)
{
    bool is_long = strncmp(word, "--", 2) == 0;
    size_t n = is_long ? strcspn(word, "=") - 2 : 0;

    for (size_t i = 0; i < ELEMENTS(options); i++)
        if (is_long ? strlen(options[i].name) == n && strncmp(word + 2, options[i].name, n) == 0
                    : options[i].letter != 0 && options[i].letter == word[1])
            return &options[i];
    return NULL;
}

static int refuse_unknown(const char *word, struct edl_error *error)
{
    const char *known[ELEMENTS(options)], *nearest, *ours = job_words_ours(word);
    char name[60];

    for (size_t i = 0; i < ELEMENTS(options); i++)
        known[i] = options[i].name;
    (void)snprintf(name, sizeof name, "%.*s", (int)MIN_OF(strcspn(word, "="), sizeof name - 1),
                   word);
    nearest = name[1] == '-' ? nearest_word(name + 2, known, ELEMENTS(known)) : NULL;
    (void)edl_error_set(error, -EINVAL, "the option %s of Slurm does nothing here", name);
    if (ours != NULL)
        return edl_error_remedy(error, "%s", ours);
    if (nearest != NULL)
        return edl_error_remedy(error, "--%s", nearest);
    return edl_error_remedy(error, "leave it out, or see edl help submit");
}

/* value_of - of an option's word, or the next one; NULL: it lacks. *at: of the word */
static const char *value_of(const struct slurm_option *option, size_t n, char *const *words,
                            size_t *at)
{
    const char *word = words[*at];
    const char *equals = strchr(word, '=');

    if (word[1] == '-' && equals != NULL)
        return option->is_flag ? NULL : equals + 1;
    if (option->is_flag)
        return "";
    if (word[1] != '-' && word[2] != '\0')
        return word + 2 + (word[2] == '=');
    return *at + 1 < n ? words[++*at] : NULL;
}

static int take_word(struct slurm_wants *wants, size_t n, char *const *words, bool of_script,
                     size_t *at, struct edl_error *error)
{
    const char *word = words[*at], *value;
    const struct slurm_option *option = find(word);
    struct edl_error why = { 0 };

    if (option == NULL || (of_script && option->of_program))
        return refuse_unknown(word, error);
    value = value_of(option, n, words, at);
    if (value == NULL) {
        (void)edl_error_set(error, -EINVAL, "--%s %s", option->name,
                            option->is_flag ? "takes no value" : "needs a value");
        return edl_error_remedy(error, "see docs/from-slurm.md");
    }
    if (option->is_flag && option->take == take_same) {
        word_list_take(&wants->words, xstrdup(option->ours));
        return 0;
    }
    if (option->take(wants, option, value, &why) == 0)
        return 0;
    if (why.text[0] == '\0')
        (void)edl_error_set(&why, -EINVAL, "\"%.80s\" does not fit", value);
    *error = why;
    edl_error_prefix(error, "--%s: ", option->name);
    return -EINVAL;
}

/* take_words - of one word; "-vv" and "-lu" are flags one by one, and the last letter may take a
 * value */
static int take_words(struct slurm_wants *wants, size_t n, char *const *words, bool of_script,
                      size_t *at, struct edl_error *error)
{
    const char *word = words[*at];
    const struct slurm_option *option = find(word);
    int r = take_word(wants, n, words, of_script, at, error);

    while (r == 0 && word[1] != '-' && option != NULL && option->is_flag && word[2] != '\0') {
        _cleanup_free_ char *rest = text_format("-%s", word + 2);
        char *const both[] = { rest, *at + 1 < n ? words[*at + 1] : NULL };
        size_t used = 0;

        option = find(rest);
        r = take_word(wants, *at + 1 < n ? 2 : 1, both, of_script, &used, error);
        *at += used;
        word++;
    }
    return r;
}

int slurm_wants_read(struct slurm_wants *wants, size_t n, char *const *words, bool of_script,
                     size_t *ret_n, struct edl_error *error)
{
    size_t at = 0;

    for (; at < n && words[at][0] == '-' && words[at][1] != '\0'; at++) {
        int r;

        if (streq(words[at], "--")) {
            at++;
            break;
        }
        r = take_words(wants, n, words, of_script, &at, error);
        if (r < 0)
            return r;
    }
    *ret_n = at;
    return 0;
}

/* ---- what follows from several ---- */

static int refuse_share(const char *what, const char *remedy, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "%s: nobody knows the share of each instance", what);
    return edl_error_remedy(error, "%s", remedy);
}

static uint64_t count_tasks(const struct slurm_wants *wants)
{
    if (wants->tasks > 0)
        return wants->tasks;
    return MAX_OF(wants->nodes, UINT64_C(1)) * MAX_OF(wants->tasks_per_node, UINT64_C(1));
}

/* tasks_on_node - 0: nobody can tell */
static uint64_t tasks_on_node(const struct slurm_wants *wants, uint64_t tasks)
{
    if (wants->tasks_per_node > 0)
        return MIN_OF(wants->tasks_per_node, tasks);
    if (wants->nodes > 0)
        return tasks % wants->nodes == 0 ? tasks / wants->nodes : 0;
    return tasks == 1 ? 1 : 0;
}

static int finish_memory(struct slurm_wants *wants, uint64_t on_node, struct edl_error *error)
{
    uint64_t bytes = wants->memory_per_cpu_bytes * MAX_OF(wants->cpus, UINT64_C(1));

    if (wants->memory_bytes > 0 && on_node == 0)
        return refuse_share("--mem is of a node", "--mem-per-cpu=2G, or #EDL --memory 4Gi", error);
    if (wants->memory_bytes > 0)
        bytes = wants->memory_bytes / on_node;
    if (bytes > 0)
        word_list_take(&wants->words, text_format("--memory=%" PRIu64, bytes));
    return 0;
}

static int finish_gpus(struct slurm_wants *wants, uint64_t tasks, uint64_t on_node,
                       struct edl_error *error)
{
    static const char remedy[] = "--gpus-per-task=1, or #EDL --gpus 1";
    uint64_t each = wants->gpus_per_task;

    if (each == 0 && wants->gpus > 0 && wants->gpus % tasks != 0)
        return refuse_share("--gpus is of the job, and not even", remedy, error);
    if (each == 0 && wants->gpus > 0)
        each = wants->gpus / tasks;
    if (each == 0 && wants->gpus_per_node > 0 &&
        (on_node == 0 || wants->gpus_per_node % on_node != 0))
        return refuse_share("--gres and --gpus-per-node are of a node", remedy, error);
    if (each == 0 && wants->gpus_per_node > 0)
        each = wants->gpus_per_node / on_node;
    if (each > 0)
        word_list_take(&wants->words, text_format("--gpus=%" PRIu64, each));
    return 0;
}

int slurm_wants_finish(struct slurm_wants *wants, struct edl_error *error)
{
    uint64_t tasks = count_tasks(wants), on_node;
    int r;

    if (tasks > ROLE_INSTANCES_MAX) {
        (void)edl_error_set(error, -EINVAL, "instances: %" PRIu64 " are too many", tasks);
        return edl_error_remedy(error, "--ntasks=%d at most", ROLE_INSTANCES_MAX);
    }
    on_node = tasks_on_node(wants, tasks);
    if (tasks > 1)
        word_list_take(&wants->words, text_format("--ntasks=%" PRIu64, tasks));
    if (wants->cpus > 0)
        word_list_take(&wants->words, text_format("--cpu=%" PRIu64, wants->cpus));
    r = finish_memory(wants, on_node, error);
    return r == 0 ? finish_gpus(wants, tasks, on_node, error) : r;
}

void slurm_wants_clear(struct slurm_wants *wants)
{
    word_list_clear(&wants->words);
    free(wants->wrap);
    free(wants->job);
    *wants = (struct slurm_wants){ 0 };
}
