/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_scenario.c - the rounds of a scenario */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "client/report.h"
#include "client/simulate.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define ROUNDS_MAX 10000

/* job_names - by submission, as the simulator names them; new array of new strings */
static char **job_names(const struct scenario *scenario)
{
    char **names = xcalloc(scenario->submissions, sizeof(*names));
    size_t at = 0;

    for (size_t j = 0; j < scenario->n_jobs; j++)
        for (uint32_t i = 0; i < scenario->jobs[j].copies; i++)
            names[at++] = scenario->jobs[j].copies == 1
                              ? xstrdup(scenario->jobs[j].spec->name)
                              : text_format("%s-%" PRIu32, scenario->jobs[j].spec->name, i);
    return names;
}

static int play_round(struct simulate_play *play, struct simulate_watch *watch,
                      struct edl_error *error)
{
    bool first = play->n == 0;
    bool terminal = isatty(STDERR_FILENO) == 1 && watch->every_us == 0;
    int r;

    if (terminal)
        (void)fprintf(stderr, "\rround %zu \033[K", play->n + 1);
    r = scenario_run(play->scenario, play->first_seed + play->n,
                     first ? simulate_watch_sample : NULL, watch, &play->rounds[play->n], error);
    if (terminal)
        (void)fputs("\r\033[K", stderr);
    if (r == 0)
        play->n++;
    return r;
}

/* The first violation ends it: figures of such a history say nothing. */
static int play_rounds(struct simulate_play *play, uint64_t wanted, struct edl_error *error)
{
    const struct simulate_options *options = play->options;
    _cleanup_fclose_ FILE *plot = options->plot != NULL ? fopen(options->plot, "we") : NULL;
    char **names = job_names(play->scenario);
    struct simulate_watch watch = { .plot = plot,
                                    .every_us = options->common.json ? 0 : options->every_us,
                                    .jobs = (const char *const *)names };
    int r = 0;

    if (options->plot != NULL && plot == NULL)
        r = edl_error_set(error, -EINVAL, "%s cannot be written: %s", options->plot,
                          strerror(errno));
    while (r == 0 && play->n < wanted &&
           (play->n == 0 || play->rounds[play->n - 1].violation[0] == '\0'))
        r = play_round(play, &watch, error);
    if (r == 0 && plot != NULL && (fflush(plot) != 0 || ferror(plot)))
        r = edl_error_set(error, -EIO, "%s cannot be written: %s", options->plot, strerror(errno));
    for (size_t i = 0; i < play->scenario->submissions; i++)
        free(names[i]);
    free(names);
    return r;
}

static int report_play(const struct simulate_play *play)
{
    const struct scenario_result *last = &play->rounds[play->n - 1];

    if (play->options->common.json)
        simulate_print_json(play);
    else
        simulate_print_tables(play);
    if (last->violation[0] == '\0')
        return STATUS_OK;
    report_note("seed %" PRIu64 " violated a check after %.6f s: %s", last->seed,
                simulate_seconds(last->end_us), last->violation);
    return STATUS_FAILED;
}

int simulate_scenario(const struct simulate_options *options, const struct scenario *scenario,
                      const struct experiment *experiment)
{
    uint64_t wanted = options->rounds != 0 ? options->rounds
                      : experiment != NULL ? experiment->rounds
                                           : 1;
    struct simulate_play play = { .options = options,
                                  .scenario = scenario,
                                  .experiment = experiment,
                                  .first_seed =
                                      options->seed != 0 ? options->seed : scenario->seed };
    struct edl_error error = { 0 };
    int status, r = 0;

    if (wanted > ROUNDS_MAX)
        r = edl_error_set(&error, -EINVAL, "--rounds is at most %d", ROUNDS_MAX);
    play.rounds = xcalloc(r < 0 ? 1 : wanted, sizeof(*play.rounds));
    if (r == 0)
        r = play_rounds(&play, wanted, &error);
    status = r < 0 ? report_error(&error) : report_play(&play);
    for (size_t i = 0; i < play.n; i++)
        scenario_result_done(&play.rounds[i]);
    free(play.rounds);
    return status;
}
