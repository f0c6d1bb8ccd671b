/* SPDX-License-Identifier: Apache-2.0 */
/* trace_draft.c - one job of a trace file: the meaning of each field, and its default */
#include "simulator/trace/trace_draft.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <uthash.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"
#include "shared/parse.h"
#include "simulator/trace/formula.h"
#include "simulator/trace/pollux.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/trace.h"

#define INSTANCES_MAX 1000000
#define POLLUX "pollux:"
#define PSERVER "pserver:"

const char *const trace_fields[_FIELDS] = {
    [FIELD_JOB] = "job",
    [FIELD_SUBMIT] = "submit_s",
    [FIELD_MODEL] = "model",
    [FIELD_SPEED] = "speed",
    [FIELD_WORK] = "work_steps",
    [FIELD_DURATION] = "duration_s",
    [FIELD_INSTANCES] = "instances",
    [FIELD_MIN] = "min",
    [FIELD_MAX] = "max",
    [FIELD_BATCH] = "batch",
    [FIELD_FAMILY] = "family",
    [FIELD_USER] = "user",
    [FIELD_WEIGHT] = "weight",
    [FIELD_DEADLINE] = "deadline_s",
};

struct known { /* profiles by model and speed */
    char *key;
    struct profile *profile;
    UT_hash_handle hh;
};

struct trace_shelves {
    bool adaptive;
    struct known *known;
    char *dir; /* of the shelf */
    struct pollux_shelf *shelf;
};

struct trace_shelves *trace_shelves_new(bool adaptive)
{
    struct trace_shelves *shelves = xcalloc(1, sizeof(*shelves));

    shelves->adaptive = adaptive;
    return shelves;
}

struct trace_shelves *trace_shelves_free(struct trace_shelves *shelves)
{
    struct known *known, *next;

    if (shelves == NULL)
        return NULL;
    HASH_ITER(hh, shelves->known, known, next)
    {
        HASH_DEL(shelves->known, known);
        (void)profile_unref(known->profile);
        free(known->key);
        free(known);
    }
    (void)pollux_shelf_free(shelves->shelf);
    free(shelves->dir);
    free(shelves);
    return NULL;
}

enum trace_field trace_field_find(const char *name)
{
    enum trace_field field = 0;

    while (field < _FIELDS && !streq(trace_fields[field], name))
        field++;
    return field;
}

int trace_field_unknown(const char *place, const char *name, struct edl_error *error)
{
    const char *nearest = nearest_word(name, trace_fields, _FIELDS);

    (void)edl_error_set(error, -EINVAL, "%s: \"%.60s\" is unknown", place, name);
    if (nearest != NULL)
        return edl_error_remedy(error, "did you mean %s?", nearest);
    return edl_error_remedy(error, "leave it out; edl-trace(5) lists what is known");
}

static bool given(const struct trace_draft *draft, enum trace_field field)
{
    return draft->text[field] != NULL && draft->text[field][0] != '\0';
}

static int refuse(const struct trace_draft *draft, enum trace_field field, const char *what,
                  struct edl_error *error, const char *remedy)
{
    (void)edl_error_set(error, -EINVAL, "%s, %s: \"%.60s\" %s", draft->place, trace_fields[field],
                        given(draft, field) ? draft->text[field] : "", what);
    return edl_error_remedy(error, "%s", remedy);
}

static int missing(const struct trace_draft *draft, enum trace_field field, const char *remedy,
                   struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "%s: %s is missing", draft->place, trace_fields[field]);
    return edl_error_remedy(error, "%s", remedy);
}

/* read_number - what it is otherwise stays */
static int read_number(const struct trace_draft *draft, enum trace_field field, double min,
                       double max, double *ret, struct edl_error *error)
{
    char remedy[80], *end;
    double value;

    if (!given(draft, field))
        return 0;
    (void)snprintf(remedy, sizeof(remedy), "a number from %g to %g", min, max);
    value = strtod(draft->text[field], &end);
    if (end == draft->text[field] || *end != '\0' || isnan(value))
        return refuse(draft, field, "is no number", error, remedy);
    if (value < min || value > max)
        return refuse(draft, field, "is out of range", error, remedy);
    *ret = value;
    return 0;
}

static int read_count(const struct trace_draft *draft, enum trace_field field, uint64_t max,
                      uint32_t *ret, struct edl_error *error)
{
    char remedy[80];
    uint64_t value;

    if (!given(draft, field))
        return 0;
    (void)snprintf(remedy, sizeof(remedy), "a whole number from 1 to %" PRIu64, max);
    if (parse_u64(draft->text[field], &value) < 0 || value == 0 || value > max)
        return refuse(draft, field, "is no such number", error, remedy);
    *ret = (uint32_t)value;
    return 0;
}

/* read_pollux - a folder of applications; its last one is kept open */
static int read_pollux(const struct trace_draft *draft, struct trace_shelves *shelves,
                       const char *model, struct profile **ret, struct edl_error *error)
{
    const char *dir = draft->text[FIELD_SPEED] + strlen(POLLUX);
    uint32_t batch = 0;
    int r = read_count(draft, FIELD_BATCH, UINT32_MAX, &batch, error);

    if (r == 0 && batch == 0)
        return missing(draft, FIELD_BATCH, "pollux:DIR needs the batch", error);
    if (r < 0)
        return r;
    if (shelves->dir == NULL || !streq(shelves->dir, dir)) {
        (void)pollux_shelf_free(shelves->shelf);
        free(shelves->dir);
        shelves->dir = xstrdup(dir);
        shelves->shelf = pollux_shelf_new(dir);
    }
    r = pollux_shelf_get(shelves->shelf, model, batch, shelves->adaptive, ret, error);
    if (r < 0)
        edl_error_prefix(error, "%s: ", draft->place);
    return r;
}

/* read_speed - the same text for the same model is the same profile. *ret: a new reference */
static int read_speed(const struct trace_draft *draft, struct trace_shelves *shelves,
                      struct profile **ret, struct edl_error *error)
{
    const char *text = draft->text[FIELD_SPEED];
    const char *model = given(draft, FIELD_MODEL) ? draft->text[FIELD_MODEL] : "";
    size_t bytes;
    struct known *known;
    _cleanup_free_ char *key = NULL;
    int r;

    if (!given(draft, FIELD_SPEED))
        return missing(draft, FIELD_SPEED,
                       "power:P, amdahl:S, table:N=RATE;..., pserver:MODEL or "
                       "pollux:DIR",
                       error);
    if (strncmp(text, POLLUX, strlen(POLLUX)) == 0)
        return read_pollux(draft, shelves, model, ret, error);
    if (strncmp(text, PSERVER, strlen(PSERVER)) == 0)
        model = ""; /* it is named after what it is fitted to: one for all */
    bytes = strlen(text) + strlen(model) + 2;
    key = xcalloc(1, bytes);
    (void)snprintf(key, bytes, "%s %s", model, text);
    HASH_FIND_STR(shelves->known, key, known);
    if (known == NULL) {
        struct profile *profile;

        r = profile_parse(text, model, &profile, error);
        if (r < 0) {
            edl_error_prefix(error, "%s, %s: ", draft->place, trace_fields[FIELD_SPEED]);
            return r;
        }
        known = xcalloc(1, sizeof(*known));
        known->key = TAKE_PTR(key);
        known->profile = profile;
        HASH_ADD_KEYPTR(hh, shelves->known, known->key, strlen(known->key), known);
    }
    *ret = profile_ref(known->profile);
    return 0;
}

static int read_amounts(const struct trace_draft *draft, struct trace_job *job,
                        struct edl_error *error)
{
    int r;

    job->min = job->profile->min;
    job->max = MIN_OF(job->profile->max, (uint32_t)INSTANCES_MAX);
    r = read_count(draft, FIELD_MIN, INSTANCES_MAX, &job->min, error);
    if (r == 0)
        r = read_count(draft, FIELD_MAX, INSTANCES_MAX, &job->max, error);
    job->requested = MAX_OF(job->min, 1U);
    if (r == 0)
        r = read_count(draft, FIELD_INSTANCES, INSTANCES_MAX, &job->requested, error);
    if (r < 0)
        return r;
    if (job->min < job->profile->min)
        return refuse(draft, FIELD_MIN, "is too few for its speed", error,
                      "2 for pserver:, the first N of table:");
    if (job->requested < job->min || job->requested > job->max)
        return refuse(draft, FIELD_INSTANCES, "is not within min and max", error,
                      "min <= instances <= max");
    return 0;
}

/* read_work - steps, or how long they take with the instances that were asked for */
static int read_work(const struct trace_draft *draft, struct trace_job *job,
                     struct edl_error *error)
{
    double duration_s = 0;
    const struct pace *pace;
    int r = read_number(draft, FIELD_WORK, 1e-9, 1e18, &job->work_steps, error);

    if (r == 0)
        r = read_number(draft, FIELD_DURATION, 1e-3, 1e12, &duration_s, error);
    if (r < 0 || job->profile->bounds != NULL)
        return r;
    if (given(draft, FIELD_WORK) == given(draft, FIELD_DURATION))
        return missing(draft, given(draft, FIELD_WORK) ? FIELD_DURATION : FIELD_WORK,
                       "one of work_steps and duration_s, not both", error);
    if (given(draft, FIELD_WORK))
        return 0;
    pace = profile_pace_of(job->profile, job->requested, INSTANCES_MAX, error);
    if (pace == NULL)
        return -EINVAL;
    job->work_steps = duration_s * pace->rate[0];
    return 0;
}

static int read_rest(const struct trace_draft *draft, struct trace_job *job,
                     struct edl_error *error)
{
    int r = read_number(draft, FIELD_SUBMIT, 0, 1e12, &job->submit_s, error);

    if (r == 0 && !given(draft, FIELD_SUBMIT))
        return missing(draft, FIELD_SUBMIT, "seconds from any beginning", error);
    if (r == 0)
        r = read_count(draft, FIELD_BATCH, UINT32_MAX, &job->batch, error);
    if (r == 0)
        r = read_number(draft, FIELD_WEIGHT, 1e-6, 1e6, &job->weight, error);
    if (r == 0)
        r = read_number(draft, FIELD_DEADLINE, 0, 1e12, &job->deadline_s, error);
    return r;
}

static char *copy_of(const struct trace_draft *draft, enum trace_field field, const char *otherwise)
{
    return xstrdup(given(draft, field) ? draft->text[field] : otherwise);
}

int trace_draft_add(const struct trace_draft *draft, struct trace_shelves *shelves,
                    struct trace *trace, struct edl_error *error)
{
    struct trace_job *job = trace_add(trace);
    char number[24];
    int r;

    (void)snprintf(number, sizeof(number), "%zu", trace->n);
    job->name = copy_of(draft, FIELD_JOB, number);
    job->user = copy_of(draft, FIELD_USER, "");
    r = read_speed(draft, shelves, &job->profile, error);
    if (r < 0)
        return r;
    job->family = copy_of(draft, FIELD_FAMILY, job->profile->name);
    r = read_rest(draft, job, error);
    if (r == 0)
        r = read_amounts(draft, job, error);
    return r == 0 ? read_work(draft, job, error) : r;
}
