/* SPDX-License-Identifier: Apache-2.0 */
/* fields.c - what a job shows, by the names that Slurm's commands have for it; see slurm.h */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/job_states.h"
#include "client/job_view.h"
#include "client/json_read.h"
#include "client/server.h"
#include "client/slurm/slurm.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/parse.h"

/* ---- what is asked for when a field needs it ---- */

static json_t *ask(struct slurm_job *job, const char *suffix)
{
    _cleanup_free_ char *id = text_format("%" PRIu64, json_u64(job->job, "id"));
    _cleanup_free_ char *path = job_path(id, suffix);
    json_t *answer = NULL;

    return server_get(job->server, &answer, "%s", path) == 0 ? answer : json_object();
}

static const json_t *spec_of(struct slurm_job *job)
{
    if (json_object_get(job->job, "spec") != NULL)
        return json_object_get(job->job, "spec");
    if (job->whole == NULL)
        job->whole = ask(job, "");
    return json_object_get(job->whole, "spec");
}

static const json_t *processes_of(struct slurm_job *job)
{
    if (job->processes == NULL)
        job->processes = json_u64(job->job, "started_us") != 0 ? ask(job, "/processes?state=all")
                                                               : json_object();
    return json_object_get(job->processes, "processes");
}

void slurm_job_done(struct slurm_job *job)
{
    json_decref(job->whole);
    json_decref(job->processes);
    job->whole = job->processes = NULL;
}

static bool is_state(const struct slurm_job *job, const char *state)
{
    return streq(json_text(job->job, "state"), state);
}

static uint64_t sum_of(const struct slurm_job *job, const char *key)
{
    uint64_t sum = 0;
    size_t i;
    json_t *role;

    json_array_foreach(json_object_get(job->job, "roles"), i, role)
    {
        uint64_t n = json_u64(role, "live");

        sum += (n > 0 ? n : json_u64(role, "min")) * json_u64(role, key);
    }
    return sum;
}

/* ---- fields ---- */

static char *job_id(struct slurm_job *job)
{
    return text_format("%" PRIu64, json_u64(job->job, "id"));
}

static char *name(struct slurm_job *job)
{
    return xstrdup(json_text(job->job, "name"));
}

static char *user(struct slurm_job *job)
{
    return xstrdup(json_text(job->job, "user"));
}

static char *state_letters(struct slurm_job *job)
{
    return xstrdup(job_state_of_slurm(json_text(job->job, "state")).letters);
}

static char *state(struct slurm_job *job)
{
    return xstrdup(job_state_of_slurm(json_text(job->job, "state")).word);
}

static char *time_used(struct slurm_job *job)
{
    return slurm_clock(json_u64(job->job, "lasted_us"), false);
}

static char *elapsed(struct slurm_job *job)
{
    return slurm_clock(json_u64(job->job, "lasted_us"), true);
}

static char *time_limit(struct slurm_job *job)
{
    uint64_t us = 0;

    return parse_seconds(json_text(spec_of(job), "time_limit"), &us) == 0 ? slurm_clock(us, true)
                                                                          : xstrdup("UNLIMITED");
}

static char *cpus(struct slurm_job *job)
{
    return text_format("%" PRIu64, (sum_of(job, "cpu_millicores") + 999) / 1000);
}

static char *memory(struct slurm_job *job)
{
    return text_format("%" PRIu64 "M", sum_of(job, "memory_bytes") >> 20);
}

static char *gres(struct slurm_job *job)
{
    uint64_t n = sum_of(job, "gpus");

    return n > 0 ? text_format("gres/gpu:%" PRIu64, n) : xstrdup("N/A");
}

/* is_there - a process that is, or the last of its place when the job is over */
static bool is_there(const struct slurm_job *job, const json_t *process)
{
    const char *text = json_text(process, "state");
    bool over = streq(text, "exited") || streq(text, "lost");

    return *json_text(process, "node") != '\0' && (!over || job_is_final(job->job));
}

/* nodes_of - each once, in the order of their first processes; new reference */
static json_t *nodes_of(struct slurm_job *job)
{
    json_t *nodes = json_array();
    size_t i, j;
    json_t *process, *node;

    json_array_foreach(processes_of(job), i, process)
    {
        bool seen = false;

        json_array_foreach(nodes, j, node)
        {
            seen = seen || json_equal(node, json_object_get(process, "node"));
        }
        if (!seen && is_there(job, process))
            (void)json_array_append(nodes, json_object_get(process, "node"));
    }
    return nodes;
}

static char *node_list(struct slurm_job *job)
{
    _cleanup_json_ json_t *nodes = nodes_of(job);
    char *list = xstrdup("");
    size_t i;
    json_t *node;

    json_array_foreach(nodes, i, node)
    {
        char *longer = text_format("%s%s%s", list, i > 0 ? "," : "", json_string_value(node));

        free(list);
        list = longer;
    }
    return list;
}

static char *node_count(struct slurm_job *job)
{
    _cleanup_json_ json_t *nodes = nodes_of(job);

    return text_format("%zu", MAX_OF(json_array_size(nodes), (size_t)1));
}

static char *reason(struct slurm_job *job)
{
    static const struct {
        const char *code, *slurm;
    } reasons[] = { { "waits-for-job", "Dependency" },
                    { "array-limit", "JobArrayTaskLimit" },
                    { "owner-limit", "AssocGrpCpuLimit" },
                    { "waits-for-node", "ReqNodeNotAvail" },
                    { "queued", "Priority" },
                    { "too-large", "Resources" } };

    if (!is_state(job, "queued"))
        return xstrdup("None");
    for (size_t i = 0; i < ELEMENTS(reasons); i++)
        if (streq(json_text(job->job, "reason_code"), reasons[i].code))
            return xstrdup(reasons[i].slurm);
    return xstrdup("Resources");
}

static char *nodes_or_reason(struct slurm_job *job)
{
    _cleanup_free_ char *why = reason(job);

    return is_state(job, "queued") ? text_format("(%s)", why) : node_list(job);
}

static char *submitted(struct slurm_job *job)
{
    return slurm_instant(json_u64(job->job, "submitted_us"), "Unknown");
}

static char *started(struct slurm_job *job)
{
    return slurm_instant(json_u64(job->job, "started_us"), "Unknown");
}

static char *ended(struct slurm_job *job)
{
    return slurm_instant(json_u64(job->job, "ended_us"), "Unknown");
}

static char *partition(struct slurm_job *job)
{
    (void)job;
    return xstrdup(SLURM_PARTITION);
}

static char *priority(struct slurm_job *job)
{
    return text_format("%" JSON_INTEGER_FORMAT,
                       json_integer_value(json_object_get(spec_of(job), "priority")));
}

static char *account(struct slurm_job *job)
{
    (void)job;
    return xstrdup("(null)");
}

static char *work_dir(struct slurm_job *job)
{
    return xstrdup(
        json_text(json_array_get(json_object_get(spec_of(job), "roles"), 0), "workspace"));
}

/* exit_code - of the process that failed first; "0:0" where none did */
static char *exit_code(struct slurm_job *job)
{
    size_t i;
    json_t *process;

    json_array_foreach(is_state(job, "failed") ? processes_of(job) : NULL, i, process)
    {
        uint64_t code = json_u64(process, "exit_code"), signal = json_u64(process, "exit_signal");

        if (code != 0 || signal != 0)
            return text_format("%" PRIu64 ":%" PRIu64, code, signal);
    }
    return xstrdup(is_state(job, "failed") ? "1:0" : "0:0");
}

static char *array_index(struct slurm_job *job)
{
    const json_t *array = json_object_get(spec_of(job), "array");

    return array != NULL ? text_format("%" PRIu64, json_u64(array, "index")) : xstrdup("N/A");
}

static const struct slurm_field fields[] = {
    { 'i', "JobID", "JOBID", job_id },
    { 'A', "JobIDRaw", "JOBID", job_id },
    { 'K', "ArrayTaskID", "ARRAY_TASK_ID", array_index },
    { 'j', "JobName", "NAME", name },
    { 0, "Name", "NAME", name },
    { 'u', "User", "USER", user },
    { 0, "UserName", "USER", user },
    { 't', "StateCompact", "ST", state_letters },
    { 'T', "State", "STATE", state },
    { 'M', "TimeUsed", "TIME", time_used },
    { 0, "Elapsed", "TIME", elapsed },
    { 'l', "TimeLimit", "TIME_LIMIT", time_limit },
    { 'D', "NNodes", "NODES", node_count },
    { 0, "NumNodes", "NODES", node_count },
    { 'C', "AllocCPUS", "CPUS", cpus },
    { 0, "NCPUS", "CPUS", cpus },
    { 0, "NumCPUs", "CPUS", cpus },
    { 'R', "ReasonList", "NODELIST(REASON)", nodes_or_reason },
    { 'r', "Reason", "REASON", reason },
    { 'N', "NodeList", "NODELIST", node_list },
    { 'V', "Submit", "SUBMIT_TIME", submitted },
    { 0, "SubmitTime", "SUBMIT_TIME", submitted },
    { 'S', "Start", "START_TIME", started },
    { 0, "StartTime", "START_TIME", started },
    { 'e', "End", "END_TIME", ended },
    { 0, "EndTime", "END_TIME", ended },
    { 'P', "Partition", "PARTITION", partition },
    { 'Q', "Priority", "PRIORITY", priority },
    { 'a', "Account", "ACCOUNT", account },
    { 'm', "ReqMem", "MIN_MEMORY", memory },
    { 'b', "ReqGRES", "TRES_PER_NODE", gres },
    { 'Z', "WorkDir", "WORK_DIR", work_dir },
    { 0, "ExitCode", "EXIT_CODE", exit_code },
};

const struct slurm_field *slurm_field_of_letter(char letter)
{
    for (size_t i = 0; i < ELEMENTS(fields); i++)
        if (fields[i].letter == letter && letter != 0)
            return &fields[i];
    return NULL;
}

const struct slurm_field *slurm_field_of_name(const char *name_of, size_t size)
{
    for (size_t i = 0; i < ELEMENTS(fields); i++)
        if (strlen(fields[i].name) == size && strncasecmp(fields[i].name, name_of, size) == 0)
            return &fields[i];
    return NULL;
}
