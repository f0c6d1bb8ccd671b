/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_cluster.c - figures of each node, GPU, group and user, for those who watch them
 *
 * Beside /metrics, whose series are the same on every cluster, these grow with it, up to a bound:
 * the first nodes and GPUs, all groups, and the users that hold most. Each family that is left out
 * in part says so. Nothing has a label for a job: jobs come and go. */
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#include "scheduler/accounts/users.h"
#include "scheduler/api/api.h"
#include "scheduler/core/core.h"
#include "scheduler/json/exposition.h"
#include "scheduler/metrics.h"
#include "scheduler/nodes/machine.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/json_read.h"
#include "shared/macro.h"

#define NODES_MOST 1000
#define GPUS_MOST 2000
#define USERS_MOST 200

#define MAX_LABELS 3

/* A family, whose head is written with its first sample: one without any is left out. */
struct family {
    FILE *out;
    const char *name, *help;
    bool begun;
};

/* sample - labels: name, value, name, value, ...; NULL */
static void sample(struct family *family, uint64_t value, unsigned digits, const char *label, ...)
    __attribute__((sentinel));

static void sample(struct family *family, uint64_t value, unsigned digits, const char *label, ...)
{
    struct exposition_label labels[MAX_LABELS];
    size_t n = 0;
    va_list ap;

    va_start(ap, label);
    for (const char *name = label; name != NULL && n < MAX_LABELS; name = va_arg(ap, const char *))
        labels[n++] = (struct exposition_label){ name, va_arg(ap, const char *) };
    va_end(ap);
    if (!family->begun)
        exposition_family(family->out, family->name, EXPOSE_GAUGE, family->help);
    family->begun = true;
    exposition_sample(family->out, family->name, labels, n, value, digits);
}

/* --- nodes --- */

static void node_info(struct family *to, const struct node *node, const struct machine *machine)
{
    (void)machine;
    sample(to, 1, SCALE_ONE, "node", node->name, "state", node_state_to_string(node->state), NULL);
}

static void node_cores(struct family *to, const struct node *node, const struct machine *machine)
{
    (void)machine;
    sample(to, node->offer.cpu_millicores, SCALE_MILLI, "node", node->name, "amount", "offered",
           NULL);
    sample(to, node->cpu_granted_millicores, SCALE_MILLI, "node", node->name, "amount", "granted",
           NULL);
    sample(to, node->foreign_cpu_millicores, SCALE_MILLI, "node", node->name, "amount", "foreign",
           NULL);
}

static void node_memory(struct family *to, const struct node *node, const struct machine *machine)
{
    (void)machine;
    sample(to, node->offer.memory_bytes, SCALE_ONE, "node", node->name, "amount", "offered", NULL);
    sample(to, node->memory_granted_bytes, SCALE_ONE, "node", node->name, "amount", "granted",
           NULL);
    sample(to, node->foreign_memory_bytes, SCALE_ONE, "node", node->name, "amount", "foreign",
           NULL);
}

static void node_gpus(struct family *to, const struct node *node, const struct machine *machine)
{
    (void)machine;
    if (node->offer.gpus == 0)
        return;
    sample(to, node->offer.gpus, SCALE_ONE, "node", node->name, "amount", "offered", NULL);
    sample(to, node->gpus_granted, SCALE_ONE, "node", node->name, "amount", "granted", NULL);
}

static void node_processes(struct family *to, const struct node *node,
                           const struct machine *machine)
{
    const struct process *process;
    uint64_t n = 0;

    (void)machine;
    DL_FOREACH2(node->processes, process, node_next)
    n++;
    sample(to, n, SCALE_ONE, "node", node->name, NULL);
}

static void node_report_age(struct family *to, const struct node *node,
                            const struct machine *machine)
{
    uint64_t now_us = clock_instant().wall_us;

    (void)machine;
    if (node->last_report_wall_us != 0)
        sample(to, now_us - MIN_OF(node->last_report_wall_us, now_us), SCALE_MICRO, "node",
               node->name, NULL);
}

static void node_load(struct family *to, const struct node *node, const struct machine *machine)
{
    if (machine != NULL && machine->load_milli[0] != NEVER_US)
        sample(to, machine->load_milli[0], SCALE_MILLI, "node", node->name, NULL);
}

static void node_available(struct family *to, const struct node *node,
                           const struct machine *machine)
{
    if (machine != NULL && machine->memory_available_bytes != NEVER_US)
        sample(to, machine->memory_available_bytes, SCALE_ONE, "node", node->name, NULL);
}

static void node_pressure(struct family *to, const struct node *node, const struct machine *machine)
{
    for (unsigned i = 0; machine != NULL && i < PRESSURES; i++)
        if (machine->pressure[i].some_ppm != NEVER_US)
            sample(to, machine->pressure[i].some_ppm, SCALE_MICRO, "node", node->name, "resource",
                   machine_word_of_pressure(i), NULL);
}

static void node_disks(struct family *to, const struct node *node, const struct machine *machine)
{
    for (size_t i = 0; machine != NULL && i < machine->n_disks; i++)
        sample(to, machine->disks[i].free_bytes, SCALE_ONE, "node", node->name, "disk",
               machine->disks[i].name, NULL);
}

static const struct node_row {
    const char *name, *help;
    void (*write)(struct family *to, const struct node *node, const struct machine *machine);
} node_rows[] = {
    { "edl_node_info", "1, with the state of each node as a label.", node_info },
    { "edl_node_cores", "Cores of each node: offered, granted, and used by other programs.",
      node_cores },
    { "edl_node_memory_bytes", "Memory of each node: offered, granted, and used by others.",
      node_memory },
    { "edl_node_gpus", "GPUs of each node that has some: offered and granted.", node_gpus },
    { "edl_node_processes", "Processes of jobs on each node.", node_processes },
    { "edl_node_report_age_seconds", "Time since each node's last report.", node_report_age },
    { "edl_node_load", "Load average of one minute of each node.", node_load },
    { "edl_node_memory_available_bytes", "Memory that each node's kernel says is available.",
      node_available },
    { "edl_node_pressure_ratio", "Time in which some task of the node waited for a resource.",
      node_pressure },
    { "edl_node_disk_free_bytes", "Room left on the disks that the agent uses.", node_disks },
};

/* --- GPUs --- */

static uint64_t granted_mask(const struct node *node)
{
    const struct process *process;
    uint64_t mask = 0;

    DL_FOREACH2(node->processes, process, node_next)
    mask |= process->gpu_mask;
    return mask;
}

/* One device, as it is told. */
struct gpu {
    const char *node;
    char device[16];
    const char *state;
    const json_t *told; /* NULL: nothing was */
};

static const char *gpu_state(const struct node *node, uint64_t granted, uint32_t device)
{
    uint64_t bit = UINT64_C(1) << device;

    if (granted & bit)
        return node->gpus_idle & bit ? "idle" : "granted";
    return node->gpus_foreign & bit ? "foreign" : "free";
}

static void gpu_info(struct family *to, const struct gpu *gpu)
{
    sample(to, 1, SCALE_ONE, "node", gpu->node, "gpu", gpu->device, "state", gpu->state, NULL);
}

static void gpu_figure(struct family *to, const struct gpu *gpu, const char *key, unsigned digits)
{
    const json_t *value = json_object_get(gpu->told, key);

    if (json_is_integer(value))
        sample(to, (uint64_t)json_integer_value(value), digits, "node", gpu->node, "gpu",
               gpu->device, NULL);
}

static void gpu_utilisation(struct family *to, const struct gpu *gpu)
{
    gpu_figure(to, gpu, "utilisation_ppm", SCALE_MICRO);
}

static void gpu_memory_used(struct family *to, const struct gpu *gpu)
{
    gpu_figure(to, gpu, "memory_used_bytes", SCALE_ONE);
}

static void gpu_memory(struct family *to, const struct gpu *gpu)
{
    gpu_figure(to, gpu, "memory_total_bytes", SCALE_ONE);
}

static const struct gpu_row {
    const char *name, *help;
    void (*write)(struct family *to, const struct gpu *gpu);
} gpu_rows[] = {
    { "edl_gpu_info",
      "1, with the state of each GPU as a label: granted, idle (granted and unused), foreign, "
      "free.",
      gpu_info },
    { "edl_gpu_utilisation_ratio", "Time in which each GPU computed.", gpu_utilisation },
    { "edl_gpu_memory_used_bytes", "Memory in use of each GPU.", gpu_memory_used },
    { "edl_gpu_memory_bytes", "Memory of each GPU.", gpu_memory },
};

/* granted: of each node, the devices that processes have */
static void write_gpu_row(FILE *out, const struct scheduler *scheduler, const uint64_t *granted,
                          const struct gpu_row *row)
{
    struct family family = { .out = out, .name = row->name, .help = row->help };
    size_t n_nodes = 0, n = 0;

    for (const struct node *node = cluster_nodes(scheduler->cluster);
         node != NULL && n_nodes < NODES_MOST; node = node->hh.next, n_nodes++) {
        const struct machine *machine = machines_find(&scheduler->machines, node->name);

        for (uint32_t i = 0; i < node->offer.gpus && n < GPUS_MOST; i++, n++) {
            struct gpu gpu = { .node = node->name,
                               .state = gpu_state(node, granted[n_nodes], i),
                               .told = machine != NULL ? json_array_get(machine->gpus, i) : NULL };

            (void)snprintf(gpu.device, sizeof gpu.device, "%u", i);
            row->write(&family, &gpu);
        }
    }
}

static void write_gpus(FILE *out, const struct scheduler *scheduler)
{
    const struct node *node = cluster_nodes(scheduler->cluster);
    uint64_t granted[NODES_MOST];

    for (size_t n = 0; node != NULL && n < NODES_MOST; node = node->hh.next, n++)
        granted[n] = granted_mask(node);
    for (size_t i = 0; i < ELEMENTS(gpu_rows); i++)
        write_gpu_row(out, scheduler, granted, &gpu_rows[i]);
}

/* --- users and groups --- */

struct account {
    const char *name; /* borrowed */
    uint64_t waiting, running, cpu_millicores, gpus;
    UT_hash_handle hh;
};

static struct account *account_of(struct account **accounts, const char *name)
{
    struct account *account;

    HASH_FIND_STR(*accounts, name, account);
    if (account != NULL)
        return account;
    account = xcalloc(1, sizeof *account);
    account->name = name;
    HASH_ADD_KEYPTR(hh, *accounts, account->name, strlen(account->name), account);
    return account;
}

static void count_job(struct account *account, const struct job *job)
{
    if (job->state == JOB_QUEUED) {
        account->waiting++;
        return;
    }
    account->running++;
    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        account->cpu_millicores += job->counts[r].live * job->spec->roles[r].cpu_millicores;
        account->gpus += (uint64_t)job->counts[r].live * job->spec->roles[r].gpus;
    }
}

static void accounts_free(struct account **accounts)
{
    struct account *account, *next;

    HASH_ITER(hh, *accounts, account, next)
    {
        HASH_DEL(*accounts, account);
        free(account);
    }
}

static int most_first(const struct account *a, const struct account *b)
{
    if (a->gpus != b->gpus)
        return a->gpus > b->gpus ? -1 : 1;
    if (a->cpu_millicores != b->cpu_millicores)
        return a->cpu_millicores > b->cpu_millicores ? -1 : 1;
    if (a->waiting != b->waiting)
        return a->waiting > b->waiting ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* The names of the families of users, or of groups, and the label that tells which. */
struct account_names {
    const char *label, *jobs, *cores, *gpus;
};

static void write_accounts(FILE *out, const struct account *first,
                           const struct account_names *names)
{
    struct family jobs = { out, names->jobs, "Jobs of each that wait, and that hold something.",
                           false };
    struct family cores = { out, names->cores, "Cores that jobs of each were granted.", false };
    struct family gpus = { out, names->gpus, "GPUs that jobs of each were granted.", false };
    const struct account *account;

    for (account = first; account != NULL; account = account->hh.next) {
        sample(&jobs, account->waiting, SCALE_ONE, names->label, account->name, "state", "waiting",
               NULL);
        sample(&jobs, account->running, SCALE_ONE, names->label, account->name, "state", "running",
               NULL);
    }
    for (account = first; account != NULL; account = account->hh.next)
        sample(&cores, account->cpu_millicores, SCALE_MILLI, names->label, account->name, NULL);
    for (account = first; account != NULL; account = account->hh.next)
        sample(&gpus, account->gpus, SCALE_ONE, names->label, account->name, NULL);
}

/* truncate_accounts - how many go */
static uint64_t truncate_accounts(struct account **accounts, size_t most)
{
    struct account *account, *next;
    uint64_t n_left_out = 0;
    size_t n = 0;

    HASH_SORT(*accounts, most_first);
    HASH_ITER(hh, *accounts, account, next)
    {
        if (n++ < most)
            continue;
        HASH_DEL(*accounts, account);
        free(account);
        n_left_out++;
    }
    return n_left_out;
}

static uint64_t write_people(FILE *out, const struct scheduler *scheduler)
{
    static const struct account_names of_users = { "user", "edl_user_jobs", "edl_user_cores",
                                                   "edl_user_gpus" };
    static const struct account_names of_groups = { "group", "edl_group_jobs", "edl_group_cores",
                                                    "edl_group_gpus" };
    struct account *users = NULL, *groups = NULL;
    const struct user_group *group;
    uint64_t n_left_out;

    for (group = groups_first(scheduler->users); group != NULL; group = group->hh.next)
        (void)account_of(&groups, group->spec.name);
    for (const struct job *job = cluster_active_jobs(scheduler->cluster); job != NULL;
         job = job->active_next) {
        const struct user *user = users_find(scheduler->users, job->user);

        count_job(account_of(&users, job->user), job);
        if (user != NULL && user->group != NULL)
            count_job(account_of(&groups, user->group->spec.name), job);
    }
    n_left_out = truncate_accounts(&users, USERS_MOST);
    write_accounts(out, users, &of_users);
    write_accounts(out, groups, &of_groups);
    accounts_free(&users);
    accounts_free(&groups);
    return n_left_out;
}

/* --- all --- */

static void write_left_out(FILE *out, const struct scheduler *scheduler, uint64_t n_users)
{
    struct family family = { out, "edl_series_left_out",
                             "Nodes, GPUs and users that have no series here, as there are many.",
                             false };
    uint64_t n_nodes = 0, n_gpus = 0;

    for (const struct node *node = cluster_nodes(scheduler->cluster); node != NULL;
         node = node->hh.next) {
        n_nodes++;
        n_gpus += node->offer.gpus;
    }
    sample(&family, n_nodes - MIN_OF(n_nodes, NODES_MOST), SCALE_ONE, "of", "nodes", NULL);
    sample(&family, n_gpus - MIN_OF(n_gpus, GPUS_MOST), SCALE_ONE, "of", "gpus", NULL);
    sample(&family, n_users, SCALE_ONE, "of", "users", NULL);
}

static void write_node_row(FILE *out, const struct scheduler *scheduler, const struct node_row *row)
{
    struct family family = { .out = out, .name = row->name, .help = row->help };
    size_t n = 0;

    for (const struct node *node = cluster_nodes(scheduler->cluster);
         node != NULL && n < NODES_MOST; node = node->hh.next, n++)
        row->write(&family, node, machines_find(&scheduler->machines, node->name));
}

char *metrics_cluster_text(const struct scheduler *scheduler)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    uint64_t n_users;

    if (out == NULL)
        abort();
    for (size_t i = 0; i < ELEMENTS(node_rows); i++)
        write_node_row(out, scheduler, &node_rows[i]);
    write_gpus(out, scheduler);
    n_users = write_people(out, scheduler);
    write_left_out(out, scheduler, n_users);
    if (fclose(out) != 0)
        abort(); /* memory is out: the unit restarts, and state is on disk */
    return text;
}
