/* SPDX-License-Identifier: Apache-2.0 */
/* forecast_text.c - a forecast's code and sentence */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "scheduler/core/ask/forecast_play.h"
#include "scheduler/core/ask/forecast_run.h"
#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "scheduler/core/ask/reason.h"

#define NAMED_MAX 4 /* jobs that a sentence names */

static void append(struct forecast *forecast, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(struct forecast *forecast, const char *format, ...)
{
    size_t used = strlen(forecast->reason);
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(forecast->reason + used, sizeof forecast->reason - used, format, ap);
    va_end(ap);
}

static void set_code(struct forecast *forecast, const char *code)
{
    (void)snprintf(forecast->code, sizeof forecast->code, "%s", code);
    forecast->cause = CAUSE_NONE;
    forecast->reason[0] = '\0';
}

/* "40 s", "12 min", "2 h 10 min": an estimate has no seconds beside its minutes */
static void append_duration(struct forecast *forecast, uint64_t us)
{
    uint64_t s = (us + USEC_PER_SEC / 2) / USEC_PER_SEC;
    uint64_t min = (s + 30) / 60;

    if (s < 120)
        append(forecast, "%" PRIu64 " s", s);
    else if (min < 120)
        append(forecast, "%" PRIu64 " min", min);
    else
        append(forecast, "%" PRIu64 " h %" PRIu64 " min", min / 60, min % 60);
}

/* A process that leaves a node that is drained comes again elsewhere, if there is room. */
static bool moves(const struct run *run, const struct forecast_role *role)
{
    return run->change->state == NODE_DRAINING && role->to >= role->from;
}

/* "job a gives up 2 of 10 trainers, job b gives up 1 of 4 trainers and 3 others, too" */
static void append_victims(const struct run *run)
{
    struct forecast *forecast = run->forecast;
    size_t named = 0;
    size_t others = 0;

    for (size_t i = 0; i < forecast->n_roles; i++) {
        const struct forecast_role *role = &forecast->roles[i];

        if (role->n_victims == 0)
            continue;
        if (named == NAMED_MAX) {
            others++;
            continue;
        }
        append(forecast, "%sjob %s %s %zu of %u %s%s", named > 0 ? ", " : "", role->job,
               moves(run, role) ? "moves" : "gives up", role->n_victims, role->from, role->role,
               role->from == 1 ? "" : "s");
        named++;
    }
    if (others > 0)
        append(forecast, " and %zu other%s, too", others, others == 1 ? "" : "s");
}

static void explain_end(const struct run *run)
{
    struct forecast *forecast = run->forecast;
    uint32_t others = run->play.n_ended - 1;

    append(forecast, "when job %s", run->play.ended->spec->name);
    if (others > 0)
        append(forecast, " and %u other%s have ended, in about ", others, others == 1 ? "" : "s");
    else
        append(forecast, " has ended, in about ");
    append_duration(forecast, run->play.now.now_us - run->begin.now_us);
    if (run->play.ended_by_limit)
        append(forecast, " at the latest, by its time limit");
    else
        append(forecast, " at %s present rate%s", others > 0 ? "their" : "its",
               others > 0 ? "s" : "");
}

/* The core's own reason is there already. */
static void explain_wait(const struct run *run)
{
    struct forecast *forecast = run->forecast;
    uint32_t n = run->play.n_ended;

    if (forecast->cause == CAUSE_NO_NODES || forecast->cause == CAUSE_TOO_FEW_NODES)
        return;
    if (run->play.cut_short) {
        append(forecast, "; further ahead than ");
        append_duration(forecast, run->play.now.now_us - run->begin.now_us);
        append(forecast, " was not looked: too much happens on this cluster");
    } else if (play_knows_an_end(&run->play)) {
        append(forecast, "; no end of a job within ");
        append_duration(forecast, run->play.until_us - run->begin.now_us);
        append(forecast, " is enough");
    } else if (n > 0) {
        append(forecast, "; the end of %u job%s is known and is not enough", n, n == 1 ? "" : "s");
    } else {
        append(forecast, "; when a job ends is not known");
    }
}

/* Where it is not to start, though it looks as if there was room. */
static void append_refusals(const struct run *run)
{
    char nodes[200];

    if (run->subject != NULL && run->forecast->verdict != FORECAST_NEVER &&
        run->forecast->cause != CAUSE_TOO_FEW_NODES)
        append(run->forecast, "%s", job_describe_unfit(run->subject, nodes, sizeof nodes));
}

void forecast_explain(const struct run *run)
{
    struct forecast *forecast = run->forecast;

    switch (forecast->verdict) {
    case FORECAST_NOW:
        set_code(forecast, "at-once");
        append(forecast, "%s", run->change->now_text);
        break;
    case FORECAST_AFTER_SHRINKING:
        set_code(forecast, "gives-way");
        append_victims(run);
        break;
    case FORECAST_LATER:
        set_code(forecast, "under-way");
        append(forecast, "%s", run->change->later_text);
        break;
    case FORECAST_AFTER_END:
        set_code(forecast, "job-ends");
        explain_end(run);
        break;
    case FORECAST_UNKNOWN:
        explain_wait(run);
        break;
    case FORECAST_NEVER:
        if (job_is_refused(run->play.cluster, run->subject)) {
            set_code(forecast, cause_to_string(CAUSE_NO_NODE_RUNS_IT));
            (void)job_say_unfit(run->subject, forecast->reason, sizeof forecast->reason);
            break;
        }
        set_code(forecast, "never-fits");
        explain_never(run->play.cluster, run->subject->spec, forecast->reason,
                      sizeof forecast->reason);
        break;
    }
    append_refusals(run);
}
