/* SPDX-License-Identifier: Apache-2.0 */
/* account.c - sacct; see slurm.h */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/job_states.h"
#include "client/job_words.h"
#include "client/json_read.h"
#include "client/options.h"
#include "client/server.h"
#include "client/slurm/slurm.h"
#include "client/table_print.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define FIELDS_MAX 16
#define USUAL "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode"

struct sacct_options {
    const char *jobs, *users, *states, *fields, *since;
    bool all_users, noheader, parsable, parsable_end, allocations;
};

#define AT(member) OPTION_FIELD(struct sacct_options, member)

static const struct option_row rows[] = {
    { "jobs", "ID,...", "only these jobs, of any time", option_text, AT(jobs), .letter = 'j' },
    { "user", "USER,...", "these users' jobs (yours)", option_text, AT(users), .letter = 'u' },
    { "allusers", NULL, "all users' jobs", option_flag, AT(all_users), .letter = 'a' },
    { "state", "STATE,...", "only jobs in these states", option_text, AT(states), .letter = 's' },
    { "starttime", "TIME", "submitted since 2026-11-30, or 2026-11-30T10:00 (today)", option_text,
      AT(since), .letter = 'S' },
    { "format", "FIELD,...", "such as JobID,State,Elapsed,NodeList", option_text, AT(fields),
      .letter = 'o' },
    { "noheader", NULL, "without the line above", option_flag, AT(noheader), .letter = 'n' },
    { "parsable2", NULL, "'|' between the fields", option_flag, AT(parsable), .letter = 'P' },
    { "parsable", NULL, "and behind the last", option_flag, AT(parsable_end), .letter = 'p' },
    { "allocations", NULL, "jobs alone, as always: there are no steps", option_flag,
      AT(allocations), .letter = 'X' },
    { "help", NULL, "show this help", .letter = 0 },
};

static const struct options_table table = { .program = "sacct",
                                            .rows = rows,
                                            .n_rows = ELEMENTS(rows),
                                            .column = 31,
                                            .letters = true,
                                            .ours = job_words_ours };

struct sacct {
    struct sacct_options *options;
    const struct slurm_field *fields[FIELDS_MAX];
    char *names[FIELDS_MAX + 1]; /* owned */
    size_t n;
    unsigned states;
    uint64_t since_us;
    const char *user; /* NULL: whoever */
};

static int read_fields(struct sacct *sacct, struct edl_error *error)
{
    const char *list = sacct->options->fields != NULL ? sacct->options->fields : USUAL;

    for (const char *at = list; *at != '\0';) {
        size_t n = strcspn(at, ",%"), whole = strcspn(at, ",");

        if (sacct->n == FIELDS_MAX)
            return edl_error_set(error, -EINVAL, "more than %d fields", FIELDS_MAX);
        sacct->fields[sacct->n] = slurm_field_of_name(at, n);
        if (sacct->fields[sacct->n] == NULL) {
            (void)edl_error_set(error, -EINVAL, "there is no field %.*s", (int)MIN_OF(n, 40u), at);
            return edl_error_remedy(error, "one of " USUAL
                                           ",User,Elapsed,Start,End,Submit,NodeList,ReqMem");
        }
        sacct->names[sacct->n] = xstrdup(sacct->fields[sacct->n]->name);
        sacct->n++;
        at += whole;
        at += *at == ',';
    }
    return 0;
}

/* read_since - an instant of the local time; without one today */
static int read_since(struct sacct *sacct, struct edl_error *error)
{
    static const char *const forms[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d" };
    time_t now = time(NULL);
    struct tm tm = { 0 };

    if (sacct->options->since == NULL) {
        (void)localtime_r(&now, &tm);
        tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
        sacct->since_us = (uint64_t)mktime(&tm) * USEC_PER_SEC;
        return 0;
    }
    for (size_t i = 0; i < ELEMENTS(forms); i++) {
        const char *end;

        tm = (struct tm){ .tm_isdst = -1 };
        end = strptime(sacct->options->since, forms[i], &tm);
        if (end != NULL && *end == '\0') {
            sacct->since_us = (uint64_t)mktime(&tm) * USEC_PER_SEC;
            return 0;
        }
    }
    (void)edl_error_set(error, -EINVAL, "--starttime: \"%.40s\" is no time", sacct->options->since);
    return edl_error_remedy(error, "2026-11-30, or 2026-11-30T10:00");
}

static bool is_wanted(const struct sacct *sacct, const json_t *job)
{
    const struct sacct_options *options = sacct->options;
    _cleanup_free_ char *id = text_format("%" PRIu64, json_u64(job, "id"));

    if (options->jobs != NULL && !slurm_is_in(options->jobs, id))
        return false;
    if (sacct->states != 0 && !job_states_has(sacct->states, json_text(job, "state")))
        return false;
    if (options->users != NULL && !slurm_is_in(options->users, json_text(job, "user")))
        return false;
    if (options->jobs != NULL)
        return true;
    return (sacct->user == NULL || streq(sacct->user, json_text(job, "user"))) &&
           (json_u64(job, "ended_us") == 0 || json_u64(job, "ended_us") >= sacct->since_us);
}

static void print_parsable(const struct sacct *sacct, struct slurm_job *job)
{
    for (size_t i = 0; i < sacct->n; i++) {
        _cleanup_free_ char *text =
            job != NULL ? sacct->fields[i]->text(job) : xstrdup(sacct->names[i]);

        (void)printf("%s%s", text, sacct->options->parsable_end || i + 1 < sacct->n ? "|" : "");
    }
    (void)putchar('\n');
}

static void print_jobs(const struct sacct *sacct, struct server *server, const json_t *jobs)
{
    bool parsable = sacct->options->parsable || sacct->options->parsable_end;
    _cleanup_(cleanup_tablep) struct table *shown = table_new((const char *const *)sacct->names, 0);
    size_t i;
    json_t *job;

    if (parsable && !sacct->options->noheader)
        print_parsable(sacct, NULL);
    if (sacct->options->noheader)
        table_bare(shown);
    json_array_foreach(jobs, i, job)
    {
        struct slurm_job one = { .server = server, .job = job };

        if (is_wanted(sacct, job) && parsable)
            print_parsable(sacct, &one);
        for (size_t f = 0; is_wanted(sacct, job) && !parsable && f < sacct->n; f++) {
            _cleanup_free_ char *text = sacct->fields[f]->text(&one);

            table_add(shown, "%s", text);
        }
        slurm_job_done(&one);
    }
    if (!parsable)
        table_print(shown, stdout);
}

/* expand - arrays in the place of the numbers that begin them; *ret: owned by the caller */
static int expand(struct server *server, struct sacct_options *options, char **ret)
{
    int status = options->jobs != NULL ? slurm_jobs(server, options->jobs, ret) : 0;

    if (*ret != NULL)
        options->jobs = *ret;
    return status;
}

static int ask(struct sacct *sacct)
{
    _cleanup_free_ char *jobs = NULL;
    _cleanup_json_ json_t *answer = NULL, *caller = NULL;
    struct server server;
    int status = slurm_open(&server);

    if (status != 0)
        return 1;
    if (!sacct->options->all_users && sacct->options->users == NULL)
        status = server_get(&server, &caller, "/whoami");
    if (status == 0)
        status = expand(&server, sacct->options, &jobs);
    if (status == 0)
        status = server_list(&server, "/jobs?state=all", "jobs", &answer);
    if (status == 0) {
        sacct->user = caller != NULL ? json_text(caller, "user") : NULL;
        print_jobs(sacct, &server, json_object_get(answer, "jobs"));
    }
    server_clear(&server);
    return status != 0;
}

int slurm_sacct(int argc, char **argv)
{
    struct sacct_options options = { 0 };
    struct sacct sacct = { .options = &options };
    struct option_words words = { 0 };
    struct edl_error error = { 0 };
    int status = slurm_options(&table, argc, argv, &options, &words), r;

    option_words_clear(&words);
    if (status != 0)
        return status - 1;
    r = read_fields(&sacct, &error);
    if (r == 0)
        r = read_since(&sacct, &error);
    if (r == 0 && options.states != NULL)
        r = job_states_read(options.states, &sacct.states, &error);
    status = r < 0 ? slurm_fail("sacct", &error) : ask(&sacct);
    for (size_t i = 0; i < sacct.n; i++)
        free(sacct.names[i]);
    return status;
}
