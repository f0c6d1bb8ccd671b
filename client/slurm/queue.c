/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - squeue and scancel; see slurm.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/job_array.h"
#include "client/job_states.h"
#include "client/job_view.h"
#include "client/job_words.h"
#include "client/json_read.h"
#include "client/options.h"
#include "client/server.h"
#include "client/slurm/slurm.h"
#include "client/text.h"
#include "client/word_list.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

/* Which jobs are meant, by both programs. */
struct queue_options {
    const char *user, *states, *jobs, *name, *format, *fields;
    bool mine, noheader, longer, quiet;
    unsigned state_set;
};

#define AT(member) OPTION_FIELD(struct queue_options, member)

#define FILTER_ROWS                                                                                \
    { "user", "USER,...", "only these users' jobs", option_text, AT(user), .letter = 'u' },        \
        { "me", NULL, "only your own", option_flag, AT(mine) }, { "states",                        \
                                                                  "STATE,...",                     \
                                                                  "only jobs in these states",     \
                                                                  option_text,                     \
                                                                  AT(states),                      \
                                                                  .letter = 't' },                 \
        { "state", "STATE,...", NULL, option_text, AT(states) },                                   \
        { "name", "NAME,...", "only jobs of these names", option_text, AT(name), .letter = 'n' },  \
        { "job-name", "NAME,...", NULL, option_text, AT(name) },                                   \
    {                                                                                              \
        "help", NULL, "show this help", .letter = 0                                                \
    }

static const struct option_row squeue_rows[] = {
    FILTER_ROWS,
    { "jobs", "ID,...", "only these jobs", option_text, AT(jobs), .letter = 'j' },
    { "job", "ID,...", NULL, option_text, AT(jobs) },
    { "noheader", NULL, "without the line above (also -h)", option_flag, AT(noheader) },
    { "format", "FORMAT", "such as \"%.18i %j %T %R\"", option_text, AT(format), .letter = 'o' },
    { "Format", "FIELD,...", "such as JobID,StateCompact,NodeList", option_text, AT(fields),
      .letter = 'O' },
    { "long", NULL, "more columns", option_flag, AT(longer), .letter = 'l' },
};

static const struct option_row scancel_rows[] = {
    FILTER_ROWS,
    { "quiet", NULL, "no word of jobs that are over", option_flag, AT(quiet), .letter = 'Q' },
};

#define TABLE(program_name, list)                                                                  \
    {                                                                                              \
        .program = (program_name), .rows = (list), .n_rows = ELEMENTS(list), .column = 31,         \
        .letters = true, .ours = job_words_ours                                                    \
    }

static const struct options_table squeue_table = TABLE("squeue", squeue_rows);
static const struct options_table scancel_table = TABLE("scancel", scancel_rows);

/* ---- which jobs ---- */

/* is_named - the name itself, or one that `--job-name` of a script made of it: five letters and
 * digits behind a dash */
static bool is_named(const char *names, const char *name)
{
    size_t n = strlen(name);
    _cleanup_free_ char *stem =
        n > 6 && name[n - 6] == '-' ? text_format("%.*s", (int)n - 6, name) : xstrdup(name);

    return slurm_is_in(names, name) || slurm_is_in(names, stem);
}

static bool is_wanted(const struct queue_options *options, const json_t *job)
{
    _cleanup_free_ char *id = text_format("%" PRIu64, json_u64(job, "id"));

    return (options->user == NULL || slurm_is_in(options->user, json_text(job, "user"))) &&
           (options->jobs == NULL || slurm_is_in(options->jobs, id)) &&
           (options->name == NULL || is_named(options->name, json_text(job, "name"))) &&
           (options->state_set == 0 || job_states_has(options->state_set, json_text(job, "state")));
}

/* list - *ret: the jobs that are wanted; new reference */
static int list(struct server *server, struct queue_options *options, json_t **ret)
{
    bool all = !job_states_are_active(options->state_set);
    _cleanup_json_ json_t *answer = NULL, *caller = NULL;
    _cleanup_free_ char *numbers = NULL;
    json_t *jobs = json_array();
    size_t i;
    json_t *job;

    *ret = jobs;
    if (options->jobs != NULL && slurm_jobs(server, options->jobs, &numbers) != 0)
        return 1;
    if (numbers != NULL)
        options->jobs = numbers;
    if (options->mine && server_get(server, &caller, "/whoami") != 0)
        return 1;
    if (server_list(server, all ? "/jobs?state=all" : "/jobs?state=active", "jobs", &answer) != 0)
        return 1;
    if (options->mine)
        options->user = json_text(caller, "user");
    json_array_foreach(json_object_get(answer, "jobs"), i, job)
    {
        if (is_wanted(options, job))
            (void)json_array_append(jobs, job);
    }
    options->user = options->jobs = NULL;
    return 0;
}

static int read_states(const char *program, struct queue_options *options)
{
    struct edl_error error = { 0 };

    if (options->states == NULL ||
        job_states_read(options->states, &options->state_set, &error) == 0)
        return 0;
    return slurm_fail(program, &error);
}

/* ---- squeue ---- */

static char *header_of(char letter, void *of)
{
    const struct slurm_field *field = slurm_field_of_letter(letter);

    (void)of;
    return field != NULL ? xstrdup(field->header) : NULL;
}

static char *cell_of(char letter, void *of)
{
    const struct slurm_field *field = slurm_field_of_letter(letter);

    return field != NULL ? field->text(of) : NULL;
}

static const char *format_of(const struct queue_options *options)
{
    if (options->format != NULL)
        return options->format;
    return options->longer ? "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
                           : "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
}

/* fields_line - by the names of -O; job: NULL for the headers */
static int fields_line(const char *names, struct slurm_job *job, struct edl_error *error)
{
    for (const char *at = names; *at != '\0';) {
        size_t n = strcspn(at, ",:. ");
        const struct slurm_field *field = slurm_field_of_name(at, n);
        _cleanup_free_ char *text = NULL;

        if (field == NULL) {
            (void)edl_error_set(error, -EINVAL, "there is no field %.*s", (int)MIN_OF(n, 40u), at);
            return edl_error_remedy(error, "JobID,Name,UserName,State,NodeList,StartTime");
        }
        text = job != NULL ? field->text(job) : xstrdup(field->header);
        (void)printf("%-19.19s ", text);
        at += strcspn(at, ",");
        at += *at == ',';
    }
    (void)putchar('\n');
    return 0;
}

static int print_line(const struct queue_options *options, struct slurm_job *job,
                      struct edl_error *error)
{
    if (options->fields != NULL)
        return fields_line(options->fields, job, error);
    return slurm_format_print(format_of(options), job != NULL ? cell_of : header_of, job, error);
}

int slurm_squeue(int argc, char **argv)
{
    struct queue_options options = { 0 };
    struct option_words words = { 0 };
    _cleanup_json_ json_t *jobs = NULL;
    struct edl_error error = { 0 };
    struct server server;
    size_t i;
    json_t *job;
    int status = slurm_options(&squeue_table, argc, argv, &options, &words), r = 0;

    option_words_clear(&words);
    if (status != 0)
        return status - 1;
    if (read_states("squeue", &options) != 0 || slurm_open(&server) != 0)
        return 1;
    status = list(&server, &options, &jobs);
    if (status == 0 && !options.noheader)
        r = print_line(&options, NULL, &error);
    json_array_foreach(jobs, i, job)
    {
        struct slurm_job shown = { .server = &server, .job = job };

        if (status == 0 && r == 0)
            r = print_line(&options, &shown, &error);
        slurm_job_done(&shown);
    }
    server_clear(&server);
    return r < 0 ? slurm_fail("squeue", &error) : status;
}

/* ---- scancel ---- */

/* put_numbers - of what a word names, with commas behind; an exit status */
static int put_numbers(struct server *server, const char *word, FILE *out)
{
    bool is_number = strspn(word, "0123456789_") == strlen(word);
    _cleanup_free_ char *path = job_path(word, "");
    _cleanup_json_ json_t *jobs = NULL, *one = NULL;
    size_t i;
    json_t *job;

    if (is_number) {
        (void)fprintf(out, "%s,", word);
        return 0;
    }
    if (array_find(server, word, &jobs) != 0)
        return 1;
    if (jobs == NULL && server_get(server, &one, "%s", path) != 0)
        return 1;
    if (one != NULL)
        (void)fprintf(out, "%" PRIu64 ",", json_u64(one, "id"));
    json_array_foreach(jobs, i, job)(void) fprintf(out, "%" PRIu64 ",", json_u64(job, "id"));
    return 0;
}

/* join - the words as a list of numbers; the caller's to free. NULL: there are none */
static int join(struct server *server, const struct option_words *words, char **ret)
{
    size_t size = 0;
    FILE *out = words->n_args > 0 ? open_memstream(ret, &size) : NULL;
    int status = 0;

    for (size_t i = 0; status == 0 && out != NULL && i < words->n_args; i++)
        status = put_numbers(server, words->args[i], out);
    if (out != NULL)
        (void)fclose(out);
    return status;
}

/* add_word - without filters: a name, a number, or of one that begins an array all its jobs that
 * are not over */
static int add_word(struct server *server, const char *word, struct word_list *kill)
{
    _cleanup_json_ json_t *jobs = NULL;
    _cleanup_free_ char *name = NULL;
    size_t i;
    json_t *job;
    int status = array_begun(server, word, &name, &jobs);

    if (status == 0 && json_array_size(jobs) == 0)
        word_list_take(kill, xstrdup(word));
    json_array_foreach(jobs, i, job)
    {
        if (!job_is_final(job))
            word_list_take(kill, text_format("%" PRIu64, json_u64(job, "id")));
    }
    return status;
}

/* add_filtered - what is named and matches; where nothing is named, what is the caller's or of the
 * named users, and matches */
static int add_filtered(struct server *server, struct queue_options *options,
                        const struct option_words *words, struct word_list *kill)
{
    _cleanup_json_ json_t *jobs = NULL;
    _cleanup_free_ char *named = NULL;
    size_t i;
    json_t *job;
    int status = join(server, words, &named);

    if (status != 0)
        return status;
    options->jobs = named;
    if (named == NULL && options->user == NULL)
        options->mine = true;
    status = list(server, options, &jobs);
    json_array_foreach(jobs, i, job)
    {
        if (!job_is_final(job) && !streq(json_text(job, "state"), "stopping"))
            word_list_take(kill, text_format("%" PRIu64, json_u64(job, "id")));
    }
    return status;
}

static bool has_filter(const struct queue_options *options)
{
    return options->user != NULL || options->mine || options->states != NULL ||
           options->name != NULL;
}

/* choose - what is to be killed; an exit status */
static int choose(struct queue_options *options, const struct option_words *words,
                  struct word_list *kill)
{
    struct server server;
    int status = 0;

    if (!has_filter(options) && words->n_args == 0)
        return slurm_fail("scancel", &(struct edl_error){ .text = "which job?",
                                                          .remedy = "scancel ID, or scancel -u "
                                                                    "USER" });
    if (read_states("scancel", options) != 0 || slurm_open(&server) != 0)
        return 1;
    if (has_filter(options))
        status = add_filtered(&server, options, words, kill);
    for (size_t i = 0; !has_filter(options) && status == 0 && i < words->n_args; i++)
        status = add_word(&server, words->args[i], kill);
    server_clear(&server);
    return status;
}

int slurm_scancel(int argc, char **argv)
{
    struct queue_options options = { 0 };
    struct option_words words = { 0 };
    struct word_list kill = { 0 };
    int status = slurm_options(&scancel_table, argc, argv, &options, &words);

    if (status != 0)
        return status - 1;
    word_list_take(&kill, xstrdup("kill"));
    status = choose(&options, &words, &kill);
    if (status == 0 && kill.n > 1)
        status = slurm_edl(&kill, true);
    option_words_clear(&words);
    word_list_clear(&kill);
    return status;
}
