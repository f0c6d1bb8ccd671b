/* SPDX-License-Identifier: Apache-2.0 */
/* orders.c - what an agent is told: the processes its node should have, and how to start each
 *
 * Orders are the whole desired state, not a change: an agent that missed some is right again after
 * the next. They are made from the core as it is after a commit, never before. */
#include "scheduler/nodes/orders.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/calls/account_numbers.h"
#include "scheduler/core/core.h"
#include "scheduler/core/events/node_orders.h"
#include "scheduler/core/events/ranks.h"
#include "scheduler/json/job_json.h"
#include "scheduler/nodes/log_hub.h"
#include "scheduler/nodes/order_servers.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/shared_folder.h"
#include "shared/workspace_id.h"

static void set_text(json_t *env, const char *name, const char *value)
{
    (void)json_object_set_new(env, name, json_string(value));
}

static void set_number(json_t *env, const char *name, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    set_text(env, name, text);
}

static const struct role_spec *role_or(const struct job_spec *spec, const char *name,
                                       const struct role_spec *fallback)
{
    int r = job_spec_role(spec, name);

    return r >= 0 ? &spec->roles[r] : fallback;
}

/* The kernel takes no text of 128 KiB or more among the environment of a program, and no more than
 * 2 MiB of environment and arguments together. */
#define ENTRY_BYTES_MAX 32768

/* The entrypoint as it was written: the command of /bin/sh -c, or the words with blanks between. */
static char *entrypoint(const struct role_spec *role)
{
    char **argv = role->argv;
    size_t size = 1, used = 0;
    char *text;

    if (argv[0] != NULL && streq(argv[0], "/bin/sh") && argv[1] != NULL && streq(argv[1], "-c") &&
        argv[2] != NULL && argv[3] == NULL)
        return xstrdup(argv[2]);
    for (size_t i = 0; argv[i] != NULL; i++)
        size += strlen(argv[i]) + 1;
    text = xcalloc(1, size);
    for (size_t i = 0; argv[i] != NULL; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? " " : "", argv[i]);
    return text;
}

/* passes_of - those that the job makes: of its data set once that is there */
static uint32_t passes_of(const struct job *job)
{
    return job->queue != NULL ? task_queue_passes(job->queue) : job_spec_passes(job->spec);
}

/* devices_of - what one process computes with: its GPUs, else its cores, rounded up */
static uint64_t devices_of(const struct role_spec *role)
{
    const uint64_t cores = (role->cpu_millicores + 999) / 1000;

    return role->gpus > 0 ? role->gpus : cores > 0 ? cores : 1;
}

/* Upstream's list, with values that are true of this job. */
static void add_upstream(json_t *env, const struct process *process)
{
    static const struct role_spec none = { .name = "", .workspace = NULL };
    const struct job_spec *spec = process->job->spec;
    const struct role_spec *own = &spec->roles[process->role];
    const struct role_spec *trainer = role_or(spec, "trainer", own);
    const struct role_spec *pserver = role_or(spec, "pserver", &none);
    _cleanup_free_ char *entry = entrypoint(trainer);

    set_text(env, "PADDLE_JOB_NAME", spec->name);
    set_number(env, "TRAINERS", trainer->min);
    set_number(env, "PSERVERS", pserver->min);
    if (strlen(entry) <= ENTRY_BYTES_MAX) { /* a part of a command would be another one */
        set_text(env, "ENTRY", entry);
        set_text(env, "TOPOLOGY", entry);
    }
    set_text(env, "TRAINER_PACKAGE", trainer->workspace != NULL ? trainer->workspace : "");
    /* of the job: its programs divide their files by it, so all trainers have to be told the same,
     * however many run when one of them starts */
    set_number(env, "PADDLE_INIT_TRAINER_COUNT", trainer->min);
    if (job_spec_role(spec, "trainer") >= 0)
        set_number(env, "TRAINER_COUNT", devices_of(trainer));
    order_servers(env, process);
    set_number(env, "PADDLE_INIT_NUM_GRADIENT_SERVERS", trainer->min);
    set_number(env, "PADDLE_INIT_NUM_PASSES", passes_of(process->job));
    set_text(env, "PADDLE_INIT_USE_GPU", trainer->gpus != 0 ? "1" : "0");
    set_number(env, "PADDLE_INIT_TRAINER_ID", process->index);
    set_text(env, "NAMESPACE", "default");
    set_text(env, "POD_IP", process_address(process));
}

/* The world that torchrun and Open MPI tell of. Open MPI's NODE_RANK is a rank on the node, torch's
 * is the number of the node. */
static void add_world(json_t *env, const struct process_ranks *ranks)
{
    set_number(env, "RANK", ranks->rank);
    set_number(env, "WORLD_SIZE", ranks->world_size);
    set_number(env, "LOCAL_RANK", ranks->local_rank);
    set_number(env, "LOCAL_WORLD_SIZE", ranks->local_size);
    set_number(env, "NODE_RANK", ranks->group_rank);
    set_number(env, "GROUP_RANK", ranks->group_rank);
    set_number(env, "OMPI_COMM_WORLD_RANK", ranks->rank);
    set_number(env, "OMPI_COMM_WORLD_SIZE", ranks->world_size);
    set_number(env, "OMPI_COMM_WORLD_LOCAL_RANK", ranks->local_rank);
    set_number(env, "OMPI_COMM_WORLD_LOCAL_SIZE", ranks->local_size);
    set_number(env, "OMPI_COMM_WORLD_NODE_RANK", ranks->local_rank);
}

/* What torchrun takes for its options where it has none (torch.distributed.argparse_util): a world
 * of all processes of the role, with a worker for each GPU. is_host: else torch asks whether the
 * address is that of this machine's name, which Debian's /etc/hosts says of 127.0.1.1. */
static void add_torchrun(json_t *env, const struct process_ranks *ranks,
                         const struct role_spec *role)
{
    set_number(env, "PET_NNODES", ranks->world_size);
    set_number(env, "PET_NODE_RANK", ranks->rank);
    set_text(env, "PET_MASTER_ADDR", process_address(ranks->master));
    set_number(env, "PET_MASTER_PORT", ranks->master->ports[0]);
    set_text(env, "PET_RDZV_CONF", ranks->rank == 0 ? "is_host=1" : "is_host=0");
    if (role->gpus > 1)
        set_number(env, "PET_NPROC_PER_NODE", role->gpus);
}

/* What a program finds that knows nothing of edl. The port is the first of those that were
 * allocated to rank 0, as in the rendezvous; a role without ports has no place to meet. The world
 * of an elastic role is another one soon: a program that takes it for what it is would wait for
 * ever for processes that have ended, so nothing tells it. */
static void add_ranks(json_t *env, const struct process *process)
{
    const struct role_spec *role = &process->job->spec->roles[process->role];
    bool fixed = role->min == role->max;
    struct process_ranks ranks;

    ranks_of(process, &ranks);
    if (fixed)
        add_world(env, &ranks);
    if (ranks.master == NULL || ranks.master->n_ports == 0)
        return;
    set_text(env, "MASTER_ADDR", process_address(ranks.master));
    set_number(env, "MASTER_PORT", ranks.master->ports[0]);
    if (fixed)
        add_torchrun(env, &ranks, role);
}

/* A folder of its own: the path may be that of many jobs. */
static void add_checkpoint(json_t *env, const struct job *job)
{
    const struct job_spec *spec = job->spec;
    char text[PATH_MAX];

    if (spec->checkpoint_path != NULL) {
        (void)snprintf(text, sizeof text, "%s/%s-%" PRIu64, spec->checkpoint_path, spec->name,
                       job->id);
        set_text(env, "EDL_CHECKPOINT_DIR", text);
    }
    if (spec->checkpoint_period_us != 0) {
        (void)snprintf(text, sizeof text, "%" PRIu64 "ms", spec->checkpoint_period_us / 1000);
        set_text(env, "EDL_CHECKPOINT_PERIOD", text);
    }
}

static void add_own(json_t *env, const struct process *process)
{
    const struct job *job = process->job;
    char ports[PROCESS_PORTS_MAX * 8] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < process->n_ports; i++)
        used += (size_t)snprintf(ports + used, sizeof ports - used, "%s%u", i > 0 ? "," : "",
                                 process->ports[i]);
    set_text(env, "EDL_JOB", job->spec->name);
    set_number(env, "EDL_JOB_ID", job->id);
    if (job->spec->array.n > 0) {
        set_text(env, "EDL_ARRAY", job_spec_array(job->spec));
        set_number(env, "EDL_ARRAY_INDEX", job->spec->array.first);
        set_number(env, "EDL_ARRAY_JOBS", job->spec->array.n);
    }
    if (job->spec->teacher != NULL)
        set_text(env, "EDL_TEACHER", job->spec->teacher);
    add_checkpoint(env, job);
    set_text(env, "EDL_ROLE", job->spec->roles[process->role].name);
    set_number(env, "EDL_INDEX", process->index);
    set_number(env, "EDL_INCARNATION", process->incarnation);
    set_text(env, "EDL_PORTS", ports);
    set_text(env, "EDL_ADDRESS", process_address(process));
    set_text(env, "EDL_DATASET", job->spec->dataset != NULL ? job->spec->dataset : "");
    set_number(env, "EDL_PASSES", passes_of(job));
    if (job->spec->task_records > 0)
        set_number(env, "EDL_TASK_RECORDS", job->spec->task_records);
}

/* The GPUs of its node that it may see: its grants, and no other; "" hides them all. CUDA by itself
 * numbers the fastest first; the agent and nvidia-smi number by the bus (CUDA C++ Programming
 * Guide, environment variables). */
static void add_gpus(json_t *env, const struct process *process)
{
    char text[NODE_GPUS_MAX * 3 + 1] = "";
    size_t used = 0;

    for (int i = 0; i < NODE_GPUS_MAX; i++)
        if (process->gpu_mask & UINT64_C(1) << i)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%d", used > 0 ? "," : "", i);
    set_text(env, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    set_text(env, "CUDA_VISIBLE_DEVICES", text);
    set_text(env, "EDL_GPUS", text);
}

json_t *order_environment(const struct process *process)
{
    const struct job_spec *spec = process->job->spec;
    json_t *env = json_object();

    add_upstream(env, process);
    add_ranks(env, process);
    for (size_t i = 0; i < spec->n_env; i++)
        set_text(env, spec->env[i].name, spec->env[i].value);
    add_gpus(env, process);
    add_own(env, process); /* last: its job cannot change the identity of a process */
    return env;
}

/* In mode mpi every process is an instance of edl-mpi, which runs the command. */
static json_t *argv_to_json(enum job_mode mode, char *const *argv)
{
    json_t *array = mode == JOB_MODE_MPI ? json_pack("[s]", "edl-mpi") : json_array();

    for (; *argv != NULL; argv++)
        (void)json_array_append_new(array, json_string(*argv));
    return array;
}

/* add_workspace - a given folder, an archive of which it gets a copy, or one folder for all */
static void add_workspace(json_t *start, const struct job_spec *spec, const struct role_spec *role)
{
    const char *workspace = role->workspace != NULL ? role->workspace : "";

    if (spec->workspace_folder == NULL || !workspace_is_kept(workspace)) {
        set_text(start, "workspace", workspace);
        return;
    }
    (void)json_object_set_new(start, "workspace",
                              json_sprintf(SHARED_FOLDER_PREFIX "%s", spec->workspace_folder));
    set_text(start, "archive", workspace);
}

/* add_start - what is needed to start it */
static void add_start(json_t *order, const struct process *process)
{
    const struct job *job = process->job;
    const struct role_spec *role = &job->spec->roles[process->role];
    json_t *start =
        json_pack("{s:s,s:s,s:o,s:o,s:I,s:I,s:I,s:o}", "job", job->spec->name, "submitter",
                  job->user, "argv", argv_to_json(job->spec->mode, role->argv), "env",
                  order_environment(process), "cpu_millicores", (json_int_t)role->cpu_millicores,
                  "memory_bytes", (json_int_t)role->memory_bytes, "gpus", (json_int_t)role->gpus,
                  "ports", ports_to_json(process));

    add_workspace(start, job->spec, role);
    if (job->spec->user[0] != '\0')
        (void)json_object_set_new(start, "user", json_string(job->spec->user));
    if (job->spec->keep_cut_off)
        (void)json_object_set_new(start, "on_disconnect", json_string("keep"));
    if (role->takes_input)
        (void)json_object_set_new(start, "stdin", json_true());
    (void)json_object_update_missing(order, start);
    (void)json_object_set_new(order, "umask", json_integer(job_spec_umask(job->spec)));
    json_decref(start);
}

static bool is_to_stop(const struct process *process)
{
    return process->stop_wanted || process->state == PROCESS_STOPPING;
}

json_t *order_to_json(const struct process *process)
{
    const struct job *job = process->job;
    bool stop = is_to_stop(process);
    json_t *order =
        json_pack("{s:I,s:s,s:I,s:I,s:s,s:I}", "job_id", (json_int_t)job->id, "role",
                  job->spec->roles[process->role].name, "index", (json_int_t)process->index,
                  "incarnation", (json_int_t)process->incarnation, "desired", stop ? "stop" : "run",
                  "grace_us", (json_int_t)job->spec->grace_us);

    /* Nothing starts twice. An agent that reported it and then lost it says so, before it asks. */
    if (!process->reported)
        add_start(order, process);
    return order;
}

/* NULL: whose it is, is being asked, and it is told of once that is known (cluster_order_account).
 */
static json_t *order_of_account(const struct process *process, struct account_numbers *numbers)
{
    uid_t uid;
    int r = process->reported || is_to_stop(process)
                ? 0
                : account_number(numbers, job_account(process->job), clock_read_us(CLOCK_BOOTTIME),
                                 &uid);
    json_t *order = r >= 0 ? order_to_json(process) : NULL;

    if (r > 0)
        (void)json_object_set_new(order, "account_uid", json_integer((json_int_t)uid));
    return order;
}

json_t *orders_to_json(const struct node *node, const struct log_hub *logs,
                       struct account_numbers *numbers)
{
    json_t *processes = json_array();
    struct orders_turn turn = node_orders_begin(node);
    struct process *process;

    DL_FOREACH2(node->processes, process, node_next)
    {
        json_t *order =
            node_orders_may_tell(&turn, process) ? order_of_account(process, numbers) : NULL;

        if (order == NULL)
            continue;
        node_orders_told(&turn, process);
        (void)json_array_append_new(processes, order);
    }
    return json_pack("{s:I,s:o,s:o}", "version", (json_int_t)node->orders_version, "processes",
                     processes, "logs", logs != NULL ? log_hub_orders(logs, node) : json_array());
}
