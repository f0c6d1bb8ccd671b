/* SPDX-License-Identifier: Apache-2.0 */
/* control.c - scontrol, as far as scripts ask it: show job, show node, show hostnames; see slurm.h
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/job_view.h"
#include "client/job_words.h"
#include "client/json_read.h"
#include "client/server.h"
#include "client/slurm/slurm.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

/* A line of `scontrol show job`: keys of Slurm with the names of our fields. */
static const char *const job_lines[][8] = {
    { "JobId", "JobID", "JobName", "JobName" },
    { "UserId", "User", "Account", "Account", "Priority", "Priority" },
    { "JobState", "State", "Reason", "Reason", "ExitCode", "ExitCode" },
    { "RunTime", "Elapsed", "TimeLimit", "TimeLimit" },
    { "SubmitTime", "Submit" },
    { "StartTime", "Start", "EndTime", "End" },
    { "Partition", "Partition" },
    { "NodeList", "NodeList" },
    { "NumNodes", "NNodes", "NumCPUs", "AllocCPUS", "TresPerNode", "ReqGRES" },
    { "MinMemoryNode", "ReqMem" },
    { "WorkDir", "WorkDir" },
};

static void print_job(struct slurm_job *job, bool one_line)
{
    for (size_t i = 0; i < ELEMENTS(job_lines); i++) {
        (void)fputs(i == 0 ? "" : one_line ? " " : "   ", stdout);
        for (size_t k = 0; k < 8 && job_lines[i][k] != NULL; k += 2) {
            const char *name = job_lines[i][k + 1];
            _cleanup_free_ char *text = slurm_field_of_name(name, strlen(name))->text(job);

            (void)printf("%s%s=%s", k > 0 ? " " : "", job_lines[i][k],
                         *text != '\0' ? text : "(null)");
        }
        if (!one_line)
            (void)putchar('\n');
    }
    (void)putchar('\n');
}

static int show_job(struct server *server, const char *name, bool one_line)
{
    _cleanup_free_ char *path = job_path(name, "");
    _cleanup_json_ json_t *answer = NULL;
    struct slurm_job job = { .server = server };

    if (server_get(server, &answer, "%s", path) != 0)
        return 1;
    job.job = answer;
    print_job(&job, one_line);
    slurm_job_done(&job);
    return 0;
}

static int show_jobs(struct server *server, bool one_line)
{
    _cleanup_json_ json_t *answer = NULL;
    size_t i;
    json_t *job;

    if (server_list(server, "/jobs?state=active", "jobs", &answer) != 0)
        return 1;
    json_array_foreach(json_object_get(answer, "jobs"), i, job)
    {
        struct slurm_job one = { .server = server, .job = job };

        print_job(&one, one_line);
        slurm_job_done(&one);
    }
    return 0;
}

static int show_nodes(struct server *server, const char *name, bool one_line)
{
    const char *between = one_line ? " " : "\n   ";
    _cleanup_json_ json_t *answer = NULL;
    size_t i, n = 0;
    json_t *node;

    if (server_list(server, "/nodes?limit=1000", "nodes", &answer) != 0)
        return 1;
    json_array_foreach(json_object_get(answer, "nodes"), i, node)
    {
        uint64_t granted = json_u64(node, "cpu_granted_millicores");
        const char *state = !streq(json_text(node, "state"), "ready") ? "DOWN"
                            : granted == 0                            ? "IDLE"
                                                                      : "MIXED";

        if (name != NULL && !streq(name, json_text(node, "name")))
            continue;
        n++;
        (void)printf("NodeName=%s State=%s%sCPUAlloc=%" PRIu64 " CPUTot=%" PRIu64
                     "%sRealMemory=%" PRIu64 " AllocMem=%" PRIu64 " Gres=gpu:%" PRIu64
                     "%sNodeAddr=%s Partitions=" SLURM_PARTITION "%s",
                     json_text(node, "name"), state, between, (granted + 999) / 1000,
                     json_u64(node, "cpu_millicores") / 1000, between,
                     json_u64(node, "memory_bytes") >> 20,
                     json_u64(node, "memory_granted_bytes") >> 20, json_u64(node, "gpus"), between,
                     json_text(node, "address"), one_line ? "\n" : "\n\n");
    }
    if (n > 0 || name == NULL)
        return 0;
    return slurm_fail("scontrol", &(struct edl_error){ .text = "there is no such node",
                                                       .remedy = "edl nodes" });
}

static int show_hostnames(const char *list)
{
    struct edl_error error = { 0 };
    json_t *nodes = NULL, *node;
    size_t i;

    if (slurm_nodes(list != NULL ? list : "", &nodes, &error) < 0)
        return slurm_fail("scontrol", &error);
    json_array_foreach(nodes, i, node)
    {
        (void)printf("%s\n", json_string_value(node));
    }
    json_decref(nodes);
    return 0;
}

static const struct {
    const char *verb, *ours;
} others[] = {
    { "hold", "edl scale JOB --priority -1000000" },
    { "release", "edl scale JOB --priority 0" },
    { "requeue", "edl kill JOB, and then sbatch it again" },
    { "update", "edl scale JOB MIN:MAX, or edl node drain NODE" },
    { "suspend", "edl scale JOB --priority -1000000" },
    { "ping", "edl version" },
};

static int refuse(const char *verb)
{
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, -EINVAL, "scontrol shows jobs, nodes and hostnames alone");
    (void)edl_error_remedy(&error, "scontrol show job ID, or scontrol show node NAME");
    for (size_t i = 0; i < ELEMENTS(others); i++)
        if (streq(verb, others[i].verb))
            (void)edl_error_remedy(&error, "%s", others[i].ours);
    return slurm_fail("scontrol", &error);
}

static int show(const char *what, const char *which, bool one_line)
{
    struct server server;
    int status;

    if (streq(what, "hostnames") || streq(what, "hostname"))
        return show_hostnames(which);
    if (slurm_open(&server) != 0)
        return 1;
    if (streq(what, "job") || streq(what, "jobs"))
        status = which != NULL ? show_job(&server, which, one_line) : show_jobs(&server, one_line);
    else if (streq(what, "node") || streq(what, "nodes"))
        status = show_nodes(&server, which, one_line);
    else
        status = refuse("");
    server_clear(&server);
    return status;
}

int slurm_scontrol(int argc, char **argv)
{
    bool one_line = false;
    const char *words[3] = { NULL };
    size_t n = 0;

    for (int i = 1; i < argc; i++) {
        if (streq(argv[i], "-o") || streq(argv[i], "--oneliner"))
            one_line = true;
        else if (argv[i][0] == '-' || n == ELEMENTS(words))
            return refuse("");
        else
            words[n++] = argv[i];
    }
    if (n < 2 || !streq(words[0], "show"))
        return refuse(n > 0 ? words[0] : "");
    return show(words[1], words[2], one_line);
}
