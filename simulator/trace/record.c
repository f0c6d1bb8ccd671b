/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - events of a cluster as sizes of jobs over time */
#include "simulator/trace/record.h"

#include <math.h>
#include <stdio.h>

#include "scheduler/core/model/resize_text.h"
#include "shared/macro.h"
#include "simulator/trace/record_internal.h"

#define NAME_ENDS " was submitted"

struct record *record_new(void)
{
    return xcalloc(1, sizeof(struct record));
}

static void free_job(struct recorded *job)
{
    for (size_t r = 0; r < job->n_roles; r++) {
        free(job->roles[r].instances);
        free(job->roles[r].steps);
    }
    free(job->roles);
    free(job->passes_us);
    free(job->name);
    free(job->user);
    free(job);
}

struct record *record_free(struct record *record)
{
    struct recorded *job, *next;

    if (record == NULL)
        return NULL;
    HASH_ITER(hh, record->jobs, job, next)
    {
        HASH_DEL(record->jobs, job);
        free_job(job);
    }
    free(record->starts_s);
    free(record);
    return NULL;
}

static struct recorded *job_of(struct record *record, uint64_t id)
{
    struct recorded *job;

    HASH_FIND(hh, record->jobs, &id, sizeof(id), job);
    if (job != NULL)
        return job;
    job = xcalloc(1, sizeof(*job));
    job->id = id;
    HASH_ADD(hh, record->jobs, id, sizeof(job->id), job);
    return job;
}

static struct record_role *role_of(struct recorded *job, const char *name)
{
    struct record_role *role;

    for (size_t r = 0; r < job->n_roles; r++)
        if (streq(job->roles[r].name, name))
            return &job->roles[r];
    if (job->n_roles == JOB_ROLES_MAX)
        return NULL; /* no job has so many: somebody wrote this by hand */
    job->roles = xreallocarray(job->roles, job->n_roles + 1, sizeof(*job->roles));
    role = &job->roles[job->n_roles++];
    *role = (struct record_role){ .name = "" };
    (void)snprintf(role->name, sizeof(role->name), "%s", name);
    return role;
}

static void add_step(struct record_role *role, uint64_t at_us)
{
    if (role->n_steps == 0 || role->steps[role->n_steps - 1].at_us < at_us) {
        if (role->n_steps == role->steps_cap) {
            role->steps_cap = role->steps_cap > 0 ? 2 * role->steps_cap : 16;
            role->steps = xreallocarray(role->steps, role->steps_cap, sizeof(*role->steps));
        }
        role->n_steps++;
    }
    role->steps[role->n_steps - 1] =
        (struct record_step){ .at_us = at_us, .held = role->held, .running = role->running };
}

static void note_start(struct record *record, double seconds)
{
    if (record->n_starts == record->starts_cap) {
        record->starts_cap = record->starts_cap > 0 ? 2 * record->starts_cap : 64;
        record->starts_s =
            xreallocarray(record->starts_s, record->starts_cap, sizeof(*record->starts_s));
    }
    record->starts_s[record->n_starts++] = seconds;
}

static struct record_instance *instance_of(struct record_role *role, uint32_t index)
{
    if (index >= ROLE_INSTANCES_MAX)
        return NULL;
    if (index >= role->n_instances) {
        uint32_t n = MAX_OF(index + 1, 2 * role->n_instances);

        role->instances = xreallocarray(role->instances, n, sizeof(*role->instances));
        memset(role->instances + role->n_instances, 0,
               (n - role->n_instances) * sizeof(*role->instances));
        role->n_instances = n;
    }
    return &role->instances[index];
}

static void move(struct record *record, struct record_role *role, uint32_t index,
                 enum instance_state to, uint64_t at_us)
{
    struct record_instance *instance = instance_of(role, index);
    enum instance_state from;

    if (instance == NULL || instance->state == to)
        return;
    from = instance->state;
    if (from == INSTANCE_GONE)
        instance->held_us = at_us;
    if (from == INSTANCE_HELD && to == INSTANCE_RUNNING)
        note_start(record, (double)(at_us - instance->held_us) / USEC_PER_SEC);
    role->held += (uint32_t)(to != INSTANCE_GONE) - (uint32_t)(from != INSTANCE_GONE);
    role->running += (uint32_t)(to == INSTANCE_RUNNING) - (uint32_t)(from == INSTANCE_RUNNING);
    role->most = MAX_OF(role->most, role->running);
    instance->state = to;
    add_step(role, at_us);
}

/* "trainer-3: why" to a role and an index */
static const char *split_name(const char *text, char *role, size_t size, uint32_t *ret_index)
{
    size_t length = strcspn(text, ":"), dash = length;
    unsigned long index;
    char *end;

    while (dash > 0 && text[dash - 1] != '-')
        dash--;
    if (dash < 2 || dash > size || text[dash] < '0' || text[dash] > '9')
        return NULL;
    index = strtoul(text + dash, &end, 10);
    if (end != text + length || index > UINT32_MAX)
        return NULL;
    memcpy(role, text, dash - 1);
    role[dash - 1] = '\0';
    *ret_index = (uint32_t)index;
    return role;
}

/* --- what each event says --- */

static void take_process(struct record *record, struct recorded *job, const char *text, int to)
{
    char name[ROLE_NAME_MAX + 1];
    uint32_t index;
    struct record_role *role;

    if (split_name(text, name, sizeof(name), &index) == NULL)
        return;
    role = role_of(job, name);
    if (role != NULL)
        move(record, role, index, (enum instance_state)to, job->at_us);
}

/* One that is queued again says why, and not that it was submitted. */
static void take_queued(struct record *record, struct recorded *job, const char *text, int unused)
{
    size_t n = strlen(text), end = strlen(NAME_ENDS);

    (void)record;
    (void)unused;
    if (n <= end || !streq(text + n - end, NAME_ENDS) || job->submit_us != 0)
        return;
    job->submit_us = job->at_us;
    if (job->name == NULL) {
        job->name = xstrdup(text);
        job->name[n - end] = '\0';
    }
}

static void given(struct record_role *role, uint32_t n)
{
    if (n == 0)
        return;
    role->low = role->low == 0 ? n : MIN_OF(role->low, n);
    role->high = MAX_OF(role->high, n);
}

static void take_running(struct record *record, struct recorded *job, const char *text, int unused)
{
    (void)record;
    (void)text;
    (void)unused;
    for (size_t r = 0; r < job->n_roles; r++)
        if (job->roles[r].begun_with == 0)
            job->roles[r].begun_with = job->roles[r].running;
}

static void take_resized(struct record *record, struct recorded *job, const char *text, int unused)
{
    struct record_role *role;
    struct resize resize;

    (void)record;
    (void)unused;
    if (resize_parse(text, &resize) < 0)
        return;
    role = role_of(job, resize.role);
    if (role == NULL)
        return;
    given(role, resize.from);
    given(role, resize.to);
    job->resizes++;
    if (job->role[0] == '\0') /* only one role of a job is elastic */
        (void)snprintf(job->role, sizeof(job->role), "%s", resize.role);
}

/* "trainer: 1..4 -> 2..8": it may have had any of these */
static void take_scaled(struct record *record, struct recorded *job, const char *text, int unused)
{
    size_t n = strcspn(text, ":");
    uint32_t bounds[4];
    char name[ROLE_NAME_MAX + 1];
    struct record_role *role;

    (void)record;
    (void)unused;
    if (n >= sizeof(name) ||
        sscanf(text + n, ": %u..%u -> %u..%u", &bounds[0], &bounds[1], &bounds[2], &bounds[3]) != 4)
        return;
    memcpy(name, text, n);
    name[n] = '\0';
    role = role_of(job, name);
    for (size_t i = 0; role != NULL && i < ELEMENTS(bounds); i++)
        given(role, MIN_OF(bounds[i], (uint32_t)ROLE_INSTANCES_MAX));
}

static void take_pass(struct record *record, struct recorded *job, const char *text, int unused)
{
    (void)record;
    (void)text;
    (void)unused;
    if (job->n_passes == job->passes_cap) {
        job->passes_cap = job->passes_cap > 0 ? 2 * job->passes_cap : 8;
        job->passes_us = xreallocarray(job->passes_us, job->passes_cap, sizeof(*job->passes_us));
    }
    job->passes_us[job->n_passes++] = job->at_us;
}

static void take_end(struct record *record, struct recorded *job, const char *text, int how)
{
    (void)record;
    (void)text;
    job->end = (enum record_end)how;
    job->end_us = job->at_us;
}

static const struct {
    const char *event;
    void (*take)(struct record *record, struct recorded *job, const char *text, int how);
    int how;
} takers[] = {
    { "job-queued", take_queued, 0 },
    { "job-running", take_running, 0 },
    { "job-resized", take_resized, 0 },
    { "job-scaled", take_scaled, 0 },
    { "job-succeeded", take_end, RECORD_SUCCEEDED },
    { "job-failed", take_end, RECORD_FAILED },
    { "job-killed", take_end, RECORD_KILLED },
    { "pass-ended", take_pass, 0 },
    { "process-assigned", take_process, INSTANCE_HELD },
    { "process-preparing", take_process, INSTANCE_HELD },
    { "process-running", take_process, INSTANCE_RUNNING },
    { "process-stopping", take_process, INSTANCE_STOPPING },
    { "process-exited", take_process, INSTANCE_GONE },
    { "process-lost", take_process, INSTANCE_GONE },
};

void record_event_add(struct record *record, const struct record_event *event)
{
    struct recorded *job;

    record->newest_us = MAX_OF(record->newest_us, event->time_us);
    if (event->job_id == 0)
        return;
    job = job_of(record, event->job_id);
    job->at_us = MAX_OF(job->at_us, event->time_us);
    for (size_t i = 0; i < ELEMENTS(takers); i++)
        if (streq(takers[i].event, event->event)) {
            takers[i].take(record, job, event->text, takers[i].how);
            return;
        }
}

static void replace(char **text, const char *with)
{
    free(*text);
    *text = xstrdup(with);
}

void record_job_add(struct record *record, const struct record_job *job)
{
    struct recorded *recorded = job_of(record, job->id);

    recorded->listed = true;
    recorded->listed_us = job->submitted_us;
    replace(&recorded->name, job->name);
    replace(&recorded->user, job->user);
    (void)snprintf(recorded->role, sizeof(recorded->role), "%s", job->role);
    recorded->min = job->min;
    recorded->max = job->max;
    recorded->others = job->others;
}

uint64_t record_newest_us(const struct record *record)
{
    return record->newest_us;
}

/* --- reading it --- */

const struct record_role *recorded_role(const struct recorded *job)
{
    const struct record_role *best = NULL;

    for (size_t r = 0; r < job->n_roles; r++) {
        const struct record_role *role = &job->roles[r];

        if (streq(role->name, job->role))
            return role;
        if (best == NULL || !streq(best->name, "trainer"))
            best = role;
    }
    return job->role[0] == '\0' ? best : NULL;
}

/* first_step - the last one at or before a moment, else the first */
static size_t first_step(const struct record_role *role, uint64_t at_us)
{
    size_t low = 0, high = role->n_steps;

    while (low + 1 < high) {
        size_t middle = (low + high) / 2;

        if (role->steps[middle].at_us <= at_us)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void record_sum(const struct record_role *role, uint64_t from_us, uint64_t to_us, double power,
                struct record_sums *ret)
{
    *ret = (struct record_sums){ .work = 0 };
    for (size_t i = first_step(role, from_us); i < role->n_steps; i++) {
        const struct record_step *step = &role->steps[i];
        uint64_t until_us = i + 1 < role->n_steps ? role->steps[i + 1].at_us : to_us;
        uint64_t begin_us = MAX_OF(step->at_us, from_us), end_us = MIN_OF(until_us, to_us);
        double seconds;

        if (step->at_us >= to_us)
            break;
        if (end_us <= begin_us)
            continue;
        seconds = (double)(end_us - begin_us) / USEC_PER_SEC;
        ret->held_s += seconds * step->held;
        ret->running_s += seconds * step->running;
        ret->work += step->running > 0 ? seconds * pow(step->running, power) : 0;
        ret->there_s += step->held > 0 ? seconds : 0;
    }
}
