/* SPDX-License-Identifier: Apache-2.0 */
/* admission_text.c - an answer about a deadline as a code and a sentence */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "scheduler/core/ask/admission_internal.h"
#include "scheduler/core/model/job_roles.h"
#include "shared/macro.h"
#include "shared/rfc3339.h"

static void append(struct admission *admission, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(struct admission *admission, const char *format, ...)
{
    size_t used = strlen(admission->text);
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(admission->text + used, sizeof admission->text - used, format, ap);
    va_end(ap);
}

#define DURATION_MAX 40

/* "40 s", "12 min", "2 h 10 min", "3 d 4 h": an estimate has no seconds beside its minutes */
static const char *duration(double s, char buffer[DURATION_MAX])
{
    double minutes = rint(s / 60);

    if (s < 120)
        (void)snprintf(buffer, DURATION_MAX, "%.0f s", s);
    else if (minutes < 120)
        (void)snprintf(buffer, DURATION_MAX, "%.0f min", minutes);
    else if (minutes < 48.0 * 60)
        (void)snprintf(buffer, DURATION_MAX, "%.0f h %.0f min", floor(minutes / 60),
                       fmod(minutes, 60));
    else
        (void)snprintf(buffer, DURATION_MAX, "%.0f d %.0f h", floor(minutes / 1440),
                       floor(fmod(minutes, 1440) / 60));
    return buffer;
}

static const char *role_of(const struct question *question)
{
    return question->spec->roles[spec_elastic_role(question->spec)].name;
}

static void say_unsure(const char *code, struct admission *ret)
{
    static const struct {
        const char *code, *text;
    } texts[] = {
        { "policy-does-not-learn", "this policy does not learn how long jobs take; goodput does" },
        { "fixed-size", "the length is learnt of jobs that may change their size only; this one's "
                        "is fixed (min-instance, max-instance, fault_tolerant)" },
        { "family-unknown", "no job like it has ended yet: the same user, programs, workspace and "
                            "request; `edl why` tells when its own tasks do" },
        { "no-room", "it does not fit the nodes that take processes now" },
        { "too-many", "more jobs have deadlines before it than are looked at" },
    };

    append(ret, "not known %s: ",
           ret->verdict == ADMISSION_NO_DEADLINE ? "how long it takes" : "whether it is in time");
    for (size_t i = 0; i < ELEMENTS(texts); i++)
        if (streq(texts[i].code, code))
            append(ret, "%s", texts[i].text);
    (void)snprintf(ret->code, sizeof ret->code, "%s", code);
}

static void say_source(struct admission *ret)
{
    append(ret, ", by %u job%s like it", ret->jobs_known, PLURAL(ret->jobs_known));
}

static void say_length(const struct question *question, struct admission *ret)
{
    char least[DURATION_MAX], most[DURATION_MAX];

    (void)snprintf(ret->code, sizeof ret->code, "no-deadline");
    append(ret, "it takes %s with %u %s%s, %s with %u", duration(ret->least_s, least),
           question->max, role_of(question), PLURAL(question->max), duration(ret->most_s, most),
           question->own.min);
    say_source(ret);
}

static void say_in_time(const struct question *question, struct admission *ret)
{
    char end[DURATION_MAX], due[DURATION_MAX];

    (void)snprintf(ret->code, sizeof ret->code, "fits");
    append(ret, "in time: over within %s of the %s that it has, with %u %s%s%s",
           duration(ret->most_s, end), duration(question->own.due_s, due), ret->instances,
           role_of(question), PLURAL(ret->instances), question->n_own > 1 ? " each" : "");
    say_source(ret);
}

static void say_change(struct admission *ret)
{
    char at[RFC3339_MAX];

    if (ret->max_wanted > 0)
        append(ret, "; max-instance %u may be enough", ret->max_wanted);
    if (ret->deadline_wanted_wall_us != 0)
        append(ret, "%s a deadline of %s may be kept", ret->max_wanted > 0 ? ", and" : ";",
               rfc3339_format(ret->deadline_wanted_wall_us, at));
}

/* Even alone it is too slow, or others are before it. */
static void say_too_late(const struct question *question, struct admission *ret)
{
    const struct goodput_curve *curve = &question->own.curve;
    double alone_s = question->shortest_s / curve->points[curve->n - 1].speed;
    char late[DURATION_MAX], end[DURATION_MAX];

    if (isinf(ret->late_s))
        append(ret, "too late");
    else
        append(ret, "too late by %s at best", duration(ret->late_s, late));
    if (alone_s > question->own.due_s) {
        (void)snprintf(ret->code, sizeof ret->code, "too-slow");
        append(ret, ": alone in the cluster it takes %s, with %u %s%s", duration(alone_s, end),
               curve->points[curve->n - 1].instances, role_of(question),
               PLURAL(curve->points[curve->n - 1].instances));
    } else {
        (void)snprintf(ret->code, sizeof ret->code, "too-little-left");
        append(ret, ": alone it takes %s, but %s", duration(alone_s, end),
               question->n_before > 0 ? "jobs with deadlines before it need what it would"
                                      : "there is no room for all that are submitted");
    }
    say_source(ret);
    say_change(ret);
}

static void say_depends(const struct question *question, struct admission *ret)
{
    char least[DURATION_MAX], most[DURATION_MAX], due[DURATION_MAX];

    if (question->spec->after != NULL) {
        (void)snprintf(ret->code, sizeof ret->code, "waits-for-jobs");
        append(ret, "not known whether it is in time: it starts when the jobs that it is to run "
                    "after have succeeded; ");
    } else {
        (void)snprintf(ret->code, sizeof ret->code, "depends");
        append(ret, "not known whether it is in time: ");
    }
    append(ret, "over in %s at best", duration(ret->least_s, least));
    if (isinf(ret->most_s))
        append(ret, ", and the grants and requests of others leave no room that is surely its own");
    else
        append(ret, " and %s at worst", duration(ret->most_s, most));
    append(ret, ", of the %s that it has", duration(question->own.due_s, due));
    say_source(ret);
    if (question->spec->after == NULL)
        say_change(ret);
}

static void say_late(struct admission *ret)
{
    uint32_t named = MIN_OF(ret->n_late, (uint32_t)ADMISSION_LATE_NAMED);

    for (uint32_t i = 0; i < named; i++)
        append(ret, "%s%s", i == 0 ? "; too late because of it: " : ", ", ret->late[i].job);
    if (ret->n_late > named)
        append(ret, " and %u other%s", ret->n_late - named, PLURAL(ret->n_late - named));
    if (ret->n_not_looked_at > 0)
        append(ret, "; of %u job%s with deadlines it was not looked at whether it makes them late",
               ret->n_not_looked_at, PLURAL(ret->n_not_looked_at));
}

void admission_say(const struct question *question, const char *unsure, struct admission *ret)
{
    if (unsure != NULL) {
        say_unsure(unsure, ret);
        say_late(ret);
        return;
    }
    switch (ret->verdict) {
    case ADMISSION_NO_DEADLINE:
        say_length(question, ret);
        break;
    case ADMISSION_IN_TIME:
        say_in_time(question, ret);
        break;
    case ADMISSION_TOO_LATE:
        say_too_late(question, ret);
        break;
    case ADMISSION_UNKNOWN:
        say_depends(question, ret);
        break;
    }
    say_late(ret);
}
