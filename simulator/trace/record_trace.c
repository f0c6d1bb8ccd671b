/* SPDX-License-Identifier: Apache-2.0 */
/* record_trace.c - a record as a trace, and its history as the result of a run */
#include <ctype.h>
#include <errno.h>
#include <math.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/trace/figures.h"
#include "simulator/trace/formula.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/record_internal.h"
#include "simulator/trace/trace.h"

#define LEAST_WORK 1e-6 /* seconds: less is nothing */
#define AMOUNTS_MAX 256 /* of a table: as many as edl-trace(5) allows */

struct making {
    const struct record *record;
    struct chosen *chosen;
    size_t n;
    struct record_family *families;
    struct recording *ret;
};

static double seconds_of(uint64_t us)
{
    return (double)us / USEC_PER_SEC;
}

/* --- who takes part --- */

static bool ran(const struct chosen *chosen)
{
    struct record_sums sums = { .work = 0 };

    if (chosen->role != NULL)
        record_sum(chosen->role, chosen->job->submit_us, chosen->end_us, 1, &sums);
    return sums.work >= LEAST_WORK;
}

static void choose(struct making *making, const struct recorded *job,
                   const struct record_options *options)
{
    struct chosen *chosen = &making->chosen[making->n];
    uint64_t submit_us = MAX_OF(job->submit_us, job->listed_us);

    if (submit_us != 0 && submit_us < options->since_us) {
        making->ret->n_earlier++;
    } else if (job->submit_us == 0) {
        making->ret->n_unseen++;
    } else {
        *chosen = (struct chosen){ .job = job, .role = recorded_role(job) };
        chosen->end_us = job->end != RECORD_OPEN ? job->end_us : making->ret->end_us;
        if (ran(chosen))
            making->n++;
        else
            making->ret->n_never_ran++;
    }
}

static int by_submission(const void *a, const void *b)
{
    const struct recorded *x = ((const struct chosen *)a)->job,
                          *y = ((const struct chosen *)b)->job;

    if (x->submit_us != y->submit_us)
        return x->submit_us < y->submit_us ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* --- families --- */

/* "train-17" is of the family "train": jobs of an array, or numbered by hand */
static char *family_name(const char *name)
{
    char *family = xstrdup(name);
    size_t n = strlen(family);

    while (n > 0 && isdigit((unsigned char)family[n - 1]))
        n--;
    if (n > 1 && family[n] != '\0' && family[n - 1] == '-')
        family[n - 1] = '\0';
    return family;
}

static void join_family(struct making *making, struct chosen *chosen)
{
    char *name = family_name(chosen->job->name);
    struct record_family *family;

    HASH_FIND_STR(making->families, name, family);
    if (family == NULL) {
        family = xcalloc(1, sizeof(*family));
        family->name = name;
        HASH_ADD_KEYPTR(hh, making->families, family->name, strlen(family->name), family);
    } else {
        free(name);
    }
    if (family->n == family->cap) {
        family->cap = family->cap > 0 ? 2 * family->cap : 4;
        family->jobs = xreallocarray(family->jobs, family->cap, sizeof(*family->jobs));
    }
    family->jobs[family->n++] = chosen;
    chosen->family = family;
}

static void learn_families(struct making *making)
{
    struct record_family *family, *next;

    for (size_t i = 0; i < making->n; i++)
        join_family(making, &making->chosen[i]);
    HASH_ITER(hh, making->families, family, next)
    record_speed(family);
}

static void forget_families(struct making *making)
{
    struct record_family *family, *next;

    HASH_ITER(hh, making->families, family, next)
    {
        HASH_DEL(making->families, family);
        (void)profile_unref(family->profile);
        free(family->jobs);
        free(family->name);
        free(family);
    }
}

/* --- the trace --- */

/* others_of - instances beside those that decide how fast it is */
static uint32_t others_of(const struct chosen *chosen)
{
    const struct recorded *job = chosen->job;
    uint32_t n = 0;

    for (size_t r = 0; r < job->n_roles; r++)
        n += &job->roles[r] != chosen->role ? job->roles[r].most : 0;
    return job->listed ? job->others : n;
}

/* set_bounds - of the list, or what was seen; wider where they were changed meanwhile */
static void set_bounds(const struct chosen *chosen, struct trace_job *job)
{
    const struct recorded *recorded = chosen->job;
    const struct record_role *role = chosen->role;

    job->min = recorded->listed ? recorded->min : role->begun_with;
    job->max = recorded->listed ? recorded->max : role->most;
    if (role->low != 0) {
        job->min = job->min != 0 ? MIN_OF(job->min, role->low) : role->low;
        job->max = MAX_OF(job->max, role->high);
    }
    job->min = MAX_OF(job->min, 1U);
    job->max = MAX_OF(job->max, job->min);
    job->requested = recorded->listed ? MAX_OF(recorded->min, 1U) : job->min;
}

/* table_of - n instances, others of which do not count: the speed of those above them */
static struct profile *table_of(const struct record_family *family, uint32_t others, uint32_t min,
                                uint32_t max)
{
    uint32_t n = MIN_OF(max - min + 1, (uint32_t)AMOUNTS_MAX), counts[AMOUNTS_MAX];
    double rates[AMOUNTS_MAX];

    for (uint32_t i = 0; i < n; i++) {
        uint32_t part = n > 1 ? (uint32_t)((uint64_t)(max - min) * i / (n - 1)) : 0;

        counts[i] = others + min + part;
        rates[i] = pow(min + part, family->power);
    }
    return profile_table_new(family->name, counts, rates, n);
}

static struct profile *profile_for(struct record_family *family, uint32_t others, uint32_t min,
                                   uint32_t max)
{
    if (others == 0) { /* a law has no bounds */
        min = 0;
        max = 0;
    }
    if (family->profile != NULL && family->profile_others == others && family->profile_min == min &&
        family->profile_max == max)
        return profile_ref(family->profile);
    (void)profile_unref(family->profile);
    family->profile = others == 0 ? profile_power_new(family->name, family->power)
                                  : table_of(family, others, min, max);
    family->profile_others = others;
    family->profile_min = min;
    family->profile_max = max;
    return profile_ref(family->profile);
}

static void add_job(struct making *making, const struct chosen *chosen)
{
    struct trace_job *job = trace_add(making->ret->trace);
    const struct recorded *recorded = chosen->job;
    uint32_t others = others_of(chosen);
    struct record_sums sums;

    record_sum(chosen->role, recorded->submit_us, chosen->end_us, chosen->family->power, &sums);
    job->name = xstrdup(recorded->name);
    job->family = xstrdup(chosen->family->name);
    job->user = xstrdup(recorded->user != NULL ? recorded->user : "");
    job->submit_s = seconds_of(recorded->submit_us - making->ret->begin_us);
    job->work_steps = sums.work;
    set_bounds(chosen, job);
    job->profile = profile_for(chosen->family, others, job->min, job->max);
    job->min += others;
    job->max += others;
    job->requested += others;
    making->ret->n_cut += recorded->end == RECORD_OPEN;
    making->ret->n_killed += recorded->end == RECORD_KILLED;
    making->ret->n_failed += recorded->end == RECORD_FAILED;
    making->ret->n_measured += chosen->family->measured;
    making->ret->n_assumed += !chosen->family->measured;
    making->ret->n_guessed += !recorded->listed;
}

static double first_held_s(const struct chosen *chosen, uint64_t begin_us)
{
    const struct record_role *role = chosen->role;
    size_t i = 0;

    while (i + 1 < role->n_steps && role->steps[i].held == 0)
        i++;
    return seconds_of(role->steps[i].at_us - begin_us);
}

/* set_result - as if a policy had done what was done */
static void set_result(struct making *making, size_t i)
{
    const struct chosen *chosen = &making->chosen[i];
    const struct trace_job *job = &making->ret->trace->jobs[i];
    struct run_result *result = &making->ret->result;
    double took_s = seconds_of(chosen->end_us - chosen->job->submit_us);
    double least = job->min - others_of(chosen);
    struct record_sums sums, all = { .work = 0 };

    for (size_t r = 0; r < chosen->job->n_roles; r++) {
        record_sum(&chosen->job->roles[r], chosen->job->submit_us, chosen->end_us, 1, &sums);
        all.held_s += sums.held_s;
        all.running_s += sums.running_s;
    }
    record_sum(chosen->role, chosen->job->submit_us, chosen->end_us, chosen->family->power, &sums);
    result->jobs[i] = (struct run_job_result){
        .submit_s = job->submit_s,
        .start_s = first_held_s(chosen, making->ret->begin_us),
        .done_s = job->submit_s + took_s,
        .wait_s = took_s - sums.there_s,
        .held_s = all.held_s,
        .lost_s = all.held_s - all.running_s,
        .served_s = sums.work / pow(least, chosen->family->power) * job->min,
        .restarts = chosen->job->resizes,
    };
    result->used_s += all.held_s;
    result->end_s = fmax(result->end_s, result->jobs[i].done_s);
}

/* --- how many at once --- */

struct change {
    uint64_t at_us;
    int64_t by;
};

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    return x->by < y->by ? -1 : x->by > y->by; /* who goes makes room for who comes */
}

/* add_changes - of one role until its job's end; returns how many */
static size_t add_changes(const struct record_role *role, uint64_t end_us, struct change *ret)
{
    int64_t before = 0;
    size_t n = 0;

    for (size_t s = 0; s < role->n_steps && role->steps[s].at_us < end_us; s++) {
        ret[n++] = (struct change){ role->steps[s].at_us, (int64_t)role->steps[s].held - before };
        before = role->steps[s].held;
    }
    ret[n++] = (struct change){ end_us, -before };
    return n;
}

static uint32_t peak_of(const struct making *making)
{
    struct change *changes;
    int64_t held = 0, peak = 0;
    size_t n = 0;

    for (size_t i = 0; i < making->n; i++)
        for (size_t r = 0; r < making->chosen[i].job->n_roles; r++)
            n += making->chosen[i].job->roles[r].n_steps + 1;
    changes = xcalloc(n, sizeof(*changes));
    n = 0;
    for (size_t i = 0; i < making->n; i++)
        for (size_t r = 0; r < making->chosen[i].job->n_roles; r++)
            n += add_changes(&making->chosen[i].job->roles[r], making->chosen[i].end_us,
                             changes + n);
    qsort(changes, n, sizeof(*changes), by_time);
    for (size_t i = 0; i < n; i++) {
        held += changes[i].by;
        peak = MAX_OF(peak, held);
    }
    free(changes);
    return (uint32_t)peak;
}

static double median_start_s(const struct record *record)
{
    double *sorted, median;

    if (record->n_starts == 0)
        return NAN;
    sorted = xcalloc(record->n_starts, sizeof(*sorted));
    memcpy(sorted, record->starts_s, record->n_starts * sizeof(*sorted));
    sort_numbers(sorted, record->n_starts);
    median = quantile(sorted, record->n_starts, 0.5);
    free(sorted);
    return median;
}

/* --- all of it --- */

static void make(struct making *making)
{
    struct recording *ret = making->ret;

    qsort(making->chosen, making->n, sizeof(*making->chosen), by_submission);
    ret->begin_us = making->chosen[0].job->submit_us;
    learn_families(making);
    ret->trace = trace_new("record");
    ret->result.jobs = xcalloc(making->n, sizeof(*ret->result.jobs));
    ret->result.n_jobs = making->n;
    for (size_t i = 0; i < making->n; i++) {
        add_job(making, &making->chosen[i]);
        set_result(making, i);
    }
    ret->peak = peak_of(making);
    ret->start_s = median_start_s(making->record);
    forget_families(making);
}

static int no_jobs(const struct recording *ret, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL,
                        "no job of the record can be replayed: %u were submitted before it or its "
                        "--since, %u never ran",
                        ret->n_earlier + ret->n_unseen, ret->n_never_ran);
    return edl_error_remedy(error, "an earlier --since, or a longer record: --keep-events of "
                                   "edl-scheduler(8)");
}

int recording_of(const struct record *record, const struct record_options *options,
                 struct recording *ret, struct edl_error *error)
{
    struct recording made = { .end_us = MAX_OF(options->end_us, record->newest_us) };
    struct making making = { .record = record, .ret = &made };

    making.chosen = xcalloc(HASH_COUNT(record->jobs), sizeof(*making.chosen));
    for (const struct recorded *job = record->jobs; job != NULL; job = job->hh.next)
        choose(&making, job, options);
    if (making.n > 0)
        make(&making);
    free(making.chosen);
    if (making.n == 0)
        return no_jobs(&made, error);
    *ret = made;
    return 0;
}

void recording_done(struct recording *recording)
{
    (void)trace_free(recording->trace);
    run_result_done(&recording->result);
}
