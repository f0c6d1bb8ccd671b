/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_jobs.c - the jobs of a scenario: the ordinary document, and its gaps */
#include <inttypes.h>
#include <stdio.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/macro.h"
#include "simulator/scenario_file.h"
#include "simulator/scenario_reader.h"

#define TASKS_MAX 10000000
#define PASSES_MAX 1000000
#define STEP_MOST 1000000

/* One entry of `jobs`, as read. */
struct job_entry {
    struct scenario_job job;
    int64_t copies;
    uint32_t passes; /* 0: as the document says */
    const char *user;
};

struct work_draft {
    int64_t tasks, steps, records, passes;
    int silent;
    uint64_t task_us, save_us;
    struct sim_range lifetime;
    struct sim_work work;
    const json_t *gpu_types;
};

/* read_step - the five terms of a step's time */
static int read_step(struct document_reader *reader, const char *key, const json_t *value,
                     void *target)
{
    double *step = target, sum = 0;
    const json_t *number;
    size_t i;

    if (json_array_size(value) != SIM_STEP_TERMS)
        return document_expected(reader, "five numbers: [t0, t1, t2, t3, t4]", value);
    json_array_foreach(value, i, number)
    {
        step[i] = json_number_value(number);
        if (!json_is_number(number) || !(step[i] >= 0) || step[i] > STEP_MOST)
            return document_refuse(reader, "each of %s is a number from 0 to %d", key, STEP_MOST);
        sum += step[i];
    }
    return sum > 0 ? 0 : document_refuse(reader, "a %s that takes no time", key);
}

static int read_instances(struct document_reader *reader, const char *key, const json_t *value,
                          void *target)
{
    double instances = json_number_value(value);

    (void)key;
    if (!json_is_number(value) || !(instances >= 0) || instances > ROLE_INSTANCES_MAX)
        return document_expected(reader, "so many instances, as 2.5", value);
    *(uint32_t *)target = (uint32_t)(instances * 1000 + 0.5);
    return 0;
}

#define AT(field) offsetof(struct sim_load, field)
static const struct document_rule load_rules[] = {
    { .key = "at", .kind = DOCUMENT_TIME, .offset = AT(at_us), .max = SCENARIO_TIME_MAX },
    { .key = "instances", .kind = DOCUMENT_CALL, .offset = AT(permille), .call = read_instances },
};
#undef AT

/* read_load - when which load of a service begins */
static int read_load(struct document_reader *reader, const char *key, const json_t *value,
                     void *target)
{
    struct sim_work *work = target;

    (void)key;
    if (!json_is_array(value) || json_array_size(value) == 0 ||
        json_array_size(value) > SIM_LOADS_MAX)
        return document_expected(reader, "an array of one to 16 loads", value);
    work->n_loads = (uint32_t)json_array_size(value);
    for (uint32_t i = 0; i < work->n_loads; i++) {
        size_t length = document_enter_index(reader, i);
        int r = document_read(reader, json_array_get(value, i), load_rules, ELEMENTS(load_rules),
                              &work->loads[i]);

        if (r == 0 && i > 0 && work->loads[i].at_us <= work->loads[i - 1].at_us)
            r = document_refuse(reader, "a load must be later than the one before it");
        if (r < 0)
            return r;
        document_leave(reader, length);
    }
    return 0;
}

#define AT(field) offsetof(struct work_draft, field)
static const struct document_rule work_rules[] = {
    { .key = "tasks", .kind = DOCUMENT_INTEGER, .offset = AT(tasks), .min = 1, .max = TASKS_MAX },
    { .key = "steps", .kind = DOCUMENT_INTEGER, .offset = AT(steps), .min = 1, .max = TASKS_MAX },
    { .key = "silent", .kind = DOCUMENT_BOOLEAN, .offset = AT(silent) },
    { .key = "records",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(records),
      .min = 1,
      .max = TASKS_MAX },
    { .key = "passes",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(passes),
      .min = 1,
      .max = PASSES_MAX },
    { .key = "task",
      .kind = DOCUMENT_TIME,
      .offset = AT(task_us),
      .min = 1,
      .max = SCENARIO_TIME_MAX },
    { .key = "save", .kind = DOCUMENT_TIME, .offset = AT(save_us), .max = SCENARIO_TIME_MAX },
    { .key = "speedup",
      .kind = DOCUMENT_CALL,
      .offset = AT(work.speedup_permille),
      .call = scenario_read_permille },
    { .key = "step", .kind = DOCUMENT_CALL, .offset = AT(work.step), .call = read_step },
    { .key = "gpu-types", .kind = DOCUMENT_OBJECT, .offset = AT(gpu_types) },
    { .key = "load", .kind = DOCUMENT_CALL, .offset = AT(work), .call = read_load },
    { .key = "lifetime",
      .kind = DOCUMENT_CALL,
      .offset = AT(lifetime),
      .call = scenario_read_range },
    { .key = "start",
      .kind = DOCUMENT_CALL,
      .offset = AT(work.start),
      .call = scenario_read_range },
    { .key = "stop", .kind = DOCUMENT_CALL, .offset = AT(work.stop), .call = scenario_read_range },
    { .key = "start-failures",
      .kind = DOCUMENT_CALL,
      .offset = AT(work.start_failure_ppm),
      .call = scenario_read_ppm },
    { .key = "crashes",
      .kind = DOCUMENT_CALL,
      .offset = AT(work.crash_ppm),
      .call = scenario_read_ppm },
    { .key = "ignores-sigterm",
      .kind = DOCUMENT_CALL,
      .offset = AT(work.ignores_sigterm_ppm),
      .call = scenario_read_ppm },
};
#undef AT

/* How much faster it is on which type of GPU. */
static int read_gpu_types(struct document_reader *reader, const json_t *object,
                          struct sim_work *work)
{
    size_t start = document_enter(reader, "gpu-types");
    const char *name;
    json_t *value;

    if (json_object_size(object) > SIM_GPU_SPEEDS_MAX)
        return document_refuse(reader, "more than %d types", SIM_GPU_SPEEDS_MAX);
    work->n_gpu_speeds = 0;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        struct sim_gpu_speed *speed = &work->gpu_speeds[work->n_gpu_speeds++];
        size_t length = document_enter(reader, name);
        int r;

        if (*name == '\0' || strlen(name) > LABEL_VALUE_MAX)
            return document_refuse(reader, "a type is the value of a label: 1 to %d characters",
                                   LABEL_VALUE_MAX);
        r = scenario_read_speed(reader, name, value, &speed->permille);
        if (r < 0)
            return r;
        (void)snprintf(speed->type, sizeof speed->type, "%s", name);
        document_leave(reader, length);
    }
    document_leave(reader, start);
    return 0;
}

/* check_work - which of them belong together */
static int check_work(struct document_reader *reader, const struct work_draft *draft)
{
    int kinds = (draft->tasks > 0) + (draft->steps > 0) + (draft->lifetime.max_us > 0) +
                (draft->work.n_loads > 0);

    if (kinds > 1)
        return document_refuse(reader,
                               "a job has tasks, steps, a load or a lifetime, and one of them");
    if ((draft->tasks > 0 || draft->steps > 0) != (draft->task_us > 0))
        return document_refuse(reader, "tasks or steps (how many) and task (how long one takes) "
                                       "belong together");
    if (draft->silent && draft->steps == 0)
        return document_refuse(reader,
                               "silent are instances that tell of no steps: there are none");
    if (draft->gpu_types != NULL && draft->tasks == 0)
        return document_refuse(reader, "gpu-types say how fast tasks are done: there are none");
    return 0;
}

static enum sim_work_kind kind_of(const struct work_draft *draft)
{
    if (draft->tasks > 0)
        return SIM_WORK_TASKS;
    if (draft->steps > 0)
        return SIM_WORK_STEPS;
    if (draft->work.n_loads > 0)
        return SIM_WORK_SERVE;
    return draft->lifetime.max_us > 0 ? SIM_WORK_LIFETIME : SIM_WORK_FOREVER;
}

/* read_work - what a job does: tasks, steps, a lifetime, or (none) run until it is killed */
static int read_work(struct document_reader *reader, const char *key, const json_t *value,
                     void *target)
{
    struct job_entry *entry = target;
    struct sim_work *work = &entry->job.work;
    struct work_draft draft = { .records = 100, .save_us = USEC_PER_SEC, .work = *work };
    int r = document_read(reader, value, work_rules, ELEMENTS(work_rules), &draft);

    (void)key;
    if (r == 0)
        r = check_work(reader, &draft);
    if (r < 0)
        return r;
    if (draft.gpu_types != NULL && (r = read_gpu_types(reader, draft.gpu_types, &draft.work)) < 0)
        return r;
    *work = draft.work;
    work->kind = kind_of(&draft);
    work->tasks = (uint32_t)draft.tasks;
    work->steps = (uint32_t)draft.steps;
    work->silent = draft.silent;
    work->records_per_task = (uint32_t)draft.records;
    work->task_us = draft.task_us;
    work->save_us = draft.save_us;
    work->lifetime = draft.lifetime;
    entry->passes = (uint32_t)draft.passes;
    return 0;
}

/* job_of_document - the error's pointer is made to start at the scenario's top */
static int job_of_document(struct document_reader *reader, const json_t *document,
                           struct job_spec **ret)
{
    struct edl_error *error = reader->error, unused;
    char pointer[sizeof(error->pointer)];
    int r;

    if (error == NULL)
        error = &unused;
    r = job_spec_from_document(document, ret, NULL, error);
    if (r == 0)
        return 0;
    (void)snprintf(pointer, sizeof pointer, "%.79s%.79s", reader->pointer, error->pointer);
    (void)snprintf(error->pointer, sizeof error->pointer, "%s", pointer);
    return r;
}

static int job_of_file(struct document_reader *reader, const char *name, struct job_spec **ret)
{
    const char *folder = ((struct scenario_reader *)reader)->folder;
    char path[4096];
    _cleanup_free_ char *text = NULL;
    json_t *document = NULL;
    size_t size = 0;
    int r;

    if (name[0] == '/')
        (void)snprintf(path, sizeof path, "%s", name);
    else if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return document_refuse(reader, "the path is too long");
    r = scenario_read_file(path, &text, &size, reader->error);
    if (r < 0)
        return edl_error_at(reader->error, r, reader->pointer, "%s cannot be read", path);
    r = job_document_parse(text, size, &scenario_file_bounds, &document, reader->error);
    if (r == 0)
        r = job_spec_from_document(document, ret, NULL, reader->error);
    if (r < 0)
        edl_error_prefix(reader->error, "%s: ", path);
    json_decref(document);
    return r;
}

static int read_job_document(struct document_reader *reader, const char *key, const json_t *value,
                             void *target)
{
    struct job_spec **ret = target;

    (void)key;
    *ret = job_spec_free(*ret);
    if (json_is_string(value))
        return job_of_file(reader, json_string_value(value), ret);
    return job_of_document(reader, value, ret);
}

#define AT(field) offsetof(struct job_entry, field)
static const struct document_rule job_rules[] = {
    { .key = "at", .kind = DOCUMENT_TIME, .offset = AT(job.at_us), .max = SCENARIO_TIME_MAX },
    { .key = "every", .kind = DOCUMENT_TIME, .offset = AT(job.every_us), .max = SCENARIO_TIME_MAX },
    { .key = "copies",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(copies),
      .min = 1,
      .max = SCENARIO_JOBS_MAX },
    { .key = "job", .kind = DOCUMENT_CALL, .offset = AT(job.spec), .call = read_job_document },
    { .key = "user", .kind = DOCUMENT_TEXT, .offset = AT(user) },
    { .key = "work", .kind = DOCUMENT_CALL, .call = read_work },
};
#undef AT

/* The names NAME-0 .. of the copies must be names of jobs as well. */
static int check_copies(struct document_reader *reader, const struct scenario_job *job)
{
    char suffix[16];
    int digits =
        job->copies > 1 ? snprintf(suffix, sizeof suffix, "-%" PRIu32, job->copies - 1) : 0;

    if (strlen(job->spec->name) + (size_t)digits > JOB_NAME_MAX)
        return document_refuse(reader, "with its number the job's name %s is too long",
                               job->spec->name);
    return 0;
}

static int finish_job(struct document_reader *reader, struct job_entry *entry)
{
    struct scenario *scenario = scenario_of(reader);
    struct scenario_job *job = &entry->job;
    int r;

    if (job->spec == NULL)
        return document_refuse(reader, "the job's document is missing (key \"job\")");
    job->copies = (uint32_t)entry->copies;
    if (entry->user != NULL && (*entry->user == '\0' || strlen(entry->user) > ACCOUNT_NAME_MAX))
        return document_refuse(reader, "a user has a name of 1 to %d characters", ACCOUNT_NAME_MAX);
    (void)snprintf(job->user, sizeof job->user, "%s", entry->user != NULL ? entry->user : "");
    r = check_copies(reader, job);
    if (r < 0)
        return r;
    if (scenario->submissions + job->copies > SCENARIO_JOBS_MAX)
        return document_refuse(reader, "more than %d jobs", SCENARIO_JOBS_MAX);
    scenario->submissions += job->copies;
    if (entry->passes > 0)
        job->spec->passes = entry->passes;
    return 0;
}

static int read_job(struct document_reader *reader, const json_t *value)
{
    struct scenario *scenario = scenario_of(reader);
    struct job_entry entry = {
        .copies = 1,
        .job.work = { .kind = SIM_WORK_FOREVER,
                      .start = { 500 * USEC_PER_MSEC, USEC_PER_SEC },
                      .stop = { 100 * USEC_PER_MSEC, 500 * USEC_PER_MSEC } },
    };
    int r = document_read(reader, value, job_rules, ELEMENTS(job_rules), &entry);

    if (r == 0)
        r = finish_job(reader, &entry);
    if (r < 0) {
        (void)job_spec_free(entry.job.spec);
        return r;
    }
    scenario->jobs[scenario->n_jobs++] = entry.job;
    return 0;
}

int scenario_read_jobs(struct document_reader *reader, const json_t *array)
{
    scenario_of(reader)->jobs = xcalloc(json_array_size(array), sizeof(struct scenario_job));
    return scenario_read_list(reader, array, SCENARIO_JOBS_MAX, read_job);
}
