/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c - turns an order into order.json
 *
 * The scheduler says what every process of the job is told; the agent adds what only the node
 * knows. Its EDL_ variables cannot be overridden by the job. LANG, TMPDIR, the interface and
 * PYTHONUNBUFFERED can, and HOME and USER, which the supervisor adds once it knows the account.
 * PATH always starts with the folder of our programs, so that a job's entry point finds those of
 * the same version. */
#include "agent/environment.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/workspace/order_workspace.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/macro.h"
#include "shared/own_address.h"
#include "shared/parse.h"
#include "shared/shared_folder.h"
#include "shared/workspace_id.h"

#define CUDA_LIBRARIES "/usr/local/cuda/lib64"
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

static void set_text(json_t *env, const char *name, const char *value)
{
    (void)json_object_set_new(env, name, json_string(value));
}

static void set_default(json_t *env, const char *name, const char *value)
{
    if (json_object_get(env, name) == NULL)
        set_text(env, name, value);
}

static void add_language(json_t *env)
{
    const char *lang = getenv("LANG");

    set_default(env, "LANG", lang != NULL && lang[0] != '\0' ? lang : "C.UTF-8");
}

/* Gloo otherwise takes the address that the machine's own name has, which is 127.0.1.1 on a Debian,
 * and NCCL the first interface: neither need be the way to the other nodes. A parameter server of
 * PaddlePaddle that a program starts listens there. */
static void add_interface(json_t *env)
{
    char name[IF_NAMESIZE], exactly[IF_NAMESIZE + 1];

    if (!own_interface(json_text(env, "EDL_ADDRESS"), name))
        return;
    (void)snprintf(exactly, sizeof exactly, "=%s", name);
    set_default(env, "GLOO_SOCKET_IFNAME", name);
    set_default(env, "PADDLE_INIT_NICS", name);
    set_default(env, "NCCL_SOCKET_IFNAME", exactly);
}

/* Python keeps what it prints for a log in a buffer: it would come after the traceback, and a
 * killed job would lose it. "" turns this off. */
static void add_unbuffered(json_t *env)
{
    set_default(env, "PYTHONUNBUFFERED", "1");
}

json_t *environment_account(const struct layout *layout, const json_t *order, json_t *accounts)
{
    json_t *account = json_copy(accounts);

    (void)json_object_set_new(account, "users_dir", json_sprintf("%s/users", layout->state_dir));

    set_text(account, "user", json_text(order, "user"));
    set_text(account, "submitter", json_text(order, "submitter"));
    if (json_is_integer(json_object_get(order, "account_uid")))
        (void)json_object_set(account, "uid", json_object_get(order, "account_uid"));
    return account;
}

/* folders_to_give - made here, and the account's from then on: the output folder, the workspace
 * unless it was given, and TMPDIR unless it is the job's */
static json_t *folders_to_give(const json_t *order, char *const folders[static 3],
                               const char *tmp_dir)
{
    json_t *list = json_pack("[s]", folders[2]);

    if (tmp_dir != NULL)
        (void)json_array_append_new(list, json_string(tmp_dir));

    if (json_text(order, "workspace")[0] == '\0')
        (void)json_array_append_new(list, json_string(folders[0]));
    return list;
}

static void add_path(json_t *env, const char *program_dir)
{
    const char *ordered = json_text(env, "PATH");
    const char *own = getenv("PATH");
    _cleanup_free_ char *path = NULL;

    if (ordered[0] == '\0')
        ordered = own != NULL && own[0] != '\0' ? own : DEFAULT_PATH;
    path = text_format("%s:%s", program_dir, ordered);
    set_text(env, "PATH", path);
}

/* Where `edl dev` in a checkout has the module edl; a service has none to tell of. What the job
 * names is looked through first. */
static void add_python_path(json_t *env)
{
    const char *ordered = json_text(env, "PYTHONPATH");
    const char *own = getenv("PYTHONPATH");
    _cleanup_free_ char *path = NULL;

    if (own == NULL || own[0] == '\0')
        return;
    path = text_format("%s%s%s", ordered, ordered[0] != '\0' ? ":" : "", own);
    set_text(env, "PYTHONPATH", path);
}

/* The libraries of CUDA, where the node has them, as PaddlePaddle's own jobs were told; for a job
 * of that kind with a GPU. Programs that bring their own CUDA must not find these first. */
static void add_library_path(json_t *env, const char *folder)
{
    const char *servers = json_text(env, "PSERVERS");

    if (json_text(env, "EDL_GPUS")[0] != '\0' && servers[0] != '\0' && !streq(servers, "0") &&
        access(folder, X_OK) == 0)
        set_default(env, "LD_LIBRARY_PATH", folder);
}

bool environment_job_name_valid(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strlen(name) < 200 && strchr(name, '/') == NULL;
}

/* check - what the supervisor relies on; no node takes an order without it */
static int check(const json_t *order, struct edl_error *error)
{
    const json_t *argv = json_object_get(order, "argv");
    size_t i;
    json_t *word;

    if (!environment_job_name_valid(json_text(order, "job")))
        return edl_error_set(error, EDL_EBADSPEC, "the order has no usable job name");
    if (json_array_size(argv) == 0)
        return edl_error_set(error, EDL_EBADSPEC, "the order has no command");
    json_array_foreach(argv, i, word)
    {
        if (!json_is_string(word))
            return edl_error_set(error, EDL_EBADSPEC, "argv[%zu] of the order is not text", i);
    }
    return order_workspace_check(order, error);
}

/* gpu_mask_of - the devices of EDL_GPUS; -EINVAL */
static int gpu_mask_of(const json_t *order, uint64_t *ret, struct edl_error *error)
{
    _cleanup_free_ char *list = xstrdup(json_text(json_object_get(order, "env"), "EDL_GPUS"));
    char *rest = list, *item;

    *ret = 0;
    while (*list != '\0' && (item = strsep(&rest, ",")) != NULL) {
        uint64_t device;

        if (parse_u64(item, &device) < 0 || device >= 64)
            return edl_error_set(error, -EINVAL, "EDL_GPUS of the order names '%.20s'", item);
        *ret |= UINT64_C(1) << device;
    }
    return 0;
}

static int check_wants(const json_t *order, const struct node_limits *limits,
                       struct edl_error *error)
{
    const json_t *ports = json_object_get(order, "ports");
    _cleanup_free_ int64_t *numbers = xcalloc(json_array_size(ports) + 1, sizeof *numbers);
    struct order_wants wants = { .cpu_millicores = json_u64(order, "cpu_millicores"),
                                 .memory_bytes = json_u64(order, "memory_bytes"),
                                 .ports = numbers,
                                 .n_ports = json_array_size(ports) };
    int r = gpu_mask_of(order, &wants.gpu_mask, error);

    for (size_t i = 0; i < wants.n_ports; i++)
        numbers[i] = json_integer_value(json_array_get(ports, i));
    return r < 0 ? r : order_check(limits, &wants, error);
}

char *environment_workspace(const struct layout *layout, const struct process_id *id,
                            const char *given)
{
    if (shared_folder_of(given) != NULL)
        return xstrdup(shared_folder_of(given));
    if (workspace_hash(given) != NULL)
        return layout_copy_dir(layout, id);
    if (given[0] != '\0')
        return xstrdup(given);
    return text_format("%s/%llu-%s-%lu", layout->work_dir, (unsigned long long)id->job_id, id->role,
                       (unsigned long)id->index);
}

char *environment_output_dir(const struct layout *layout, const char *job, uint64_t job_id)
{
    return text_format("%s/%s-%llu", layout->output_dir, job, (unsigned long long)job_id);
}

/* make_folders - the workspace (made if it is private; a copy is its supervisor's to make), the
 * log's folder, the output folder */
static int make_folders(const struct layout *layout, const struct process_id *id,
                        const json_t *order, char *ret[static 3], struct edl_error *error)
{
    const char *given = json_text(order, "workspace");
    unsigned long long job_id = id->job_id;
    int r;

    ret[0] = environment_workspace(layout, id, given);
    ret[1] = text_format("%s/%llu", layout->logs_dir, job_id);
    ret[2] = environment_output_dir(layout, json_text(order, "job"), id->job_id);
    r = given[0] != '\0' ? 0 : folder_make(ret[0], 0700, error);
    if (r == 0)
        r = folder_make(ret[1], 0750, error);
    if (r == 0)
        r = folder_make(ret[2], 0755, error);
    return r;
}

/* add_archive - what the supervisor needs to unpack it, and where TRAINER_PACKAGE has gone
 * slot: of what is unpacked for all, what an earlier incarnation left of its own goes by its name
 */
static void add_archive(const struct layout *layout, const struct process_id *id,
                        const json_t *order, const char *copy, json_t *out)
{
    const char *given = order_archive(order);
    const char *hex = workspace_hash(given);
    json_t *unpack;
    _cleanup_free_ char *archive = layout_archive_link(layout, id);
    _cleanup_free_ char *cached = text_format("%s/%s", layout->archives_dir, hex);
    _cleanup_free_ char *program = text_format("%s/edl-workspace", layout->program_dir);
    json_t *env = json_object_get(out, "env");

    if (streq(json_text(env, "TRAINER_PACKAGE"), given))
        set_text(env, "TRAINER_PACKAGE", copy);
    unpack = json_pack("{s:s, s:s, s:s, s:s}", "program", program, "sha256", hex, "archive",
                       archive, "cached", cached);
    if (order_shared_folder(order) != NULL)
        (void)json_object_set_new(unpack, "slot",
                                  json_sprintf("%llu-%s-%lu", (unsigned long long)id->job_id,
                                               id->role, (unsigned long)id->index));
    (void)json_object_set_new(out, "unpack", unpack);
}

static json_t *build(const struct layout *layout, const struct process_id *id, const json_t *order,
                     const struct environment_facts *facts, char *const folders[static 3])
{
    json_t *out = json_deep_copy(order);
    json_t *env = json_deep_copy(json_object_get(order, "env"));
    _cleanup_free_ char *log_path = layout_log_path(layout, id);
    _cleanup_free_ char *tmp_dir = layout_tmp_dir(layout, id);
    uint64_t lease_us = facts->lease_us;

    if (!json_is_object(env)) {
        json_decref(env);
        env = json_object();
    }
    set_text(env, "EDL_NODE", layout->node);
    set_text(env, "EDL_SOCKET", layout->socket_path);
    set_text(env, "EDL_WORKSPACE", folders[0]);
    set_text(env, "EDL_LOG_DIR", folders[1]);
    set_text(env, "EDL_OUTPUT_DIR", folders[2]);
    add_path(env, layout->program_dir);
    add_python_path(env);
    add_library_path(env, facts->cuda_libraries != NULL ? facts->cuda_libraries : CUDA_LIBRARIES);
    add_language(env);
    add_interface(env);
    add_unbuffered(env);
    set_default(env, "TMPDIR", tmp_dir);
    (void)json_object_set_new(out, "env", env);
    (void)json_object_set_new(out, "account", environment_account(layout, order, facts->accounts));
    (void)json_object_set_new(out, "folders",
                              folders_to_give(order, folders,
                                              streq(json_text(env, "TMPDIR"), tmp_dir) ? tmp_dir
                                                                                       : NULL));
    set_text(out, "workspace", folders[0]);
    set_text(out, "log_path", log_path);
    set_text(out, "lease_path", layout->lease_path);
    set_text(out, "boot_id", facts->boot_id);
    /* one that is to be kept is not fenced: the scheduler starts no other before it knows its end
     */
    if (streq(json_text(order, "on_disconnect"), "keep"))
        lease_us = 0;
    (void)json_object_set_new(out, "lease_us", json_integer((json_int_t)lease_us));
    (void)json_object_set_new(out, "cut_off_kill_us",
                              json_integer((json_int_t)facts->cut_off_kill_us));
    /* whatever the scheduler says: these are the node's */
    set_text(out, "cpus", facts->cpus != NULL ? facts->cpus : "");
    (void)json_object_set_new(out, "tasks_max", json_integer((json_int_t)facts->tasks_max));
    (void)json_object_set_new(out, "cpu_quota", json_boolean(facts->cpu_quota));
    (void)json_object_set_new(out, "log_max", json_integer((json_int_t)facts->log_max_bytes));
    if (facts->scheduler != NULL && strncmp(facts->scheduler, "unix:", 5) == 0)
        set_text(out, "scheduler_socket", facts->scheduler + 5);
    else
        (void)json_object_del(out, "scheduler_socket");
    if (facts->cgroup != NULL)
        (void)json_object_set(out, "cgroup", facts->cgroup);
    else
        (void)json_object_del(out, "cgroup"); /* never what an order says */
    if (order_archive(order) != NULL)
        add_archive(layout, id, order, folders[0], out);
    return out;
}

int environment_complete(const struct layout *layout, const struct process_id *id,
                         const json_t *order, const struct environment_facts *facts, json_t **ret,
                         struct edl_error *error)
{
    char *folders[3] = { NULL, NULL, NULL };
    int r = check(order, error);

    if (r == 0)
        r = check_wants(order, &facts->limits, error);
    if (r == 0)
        r = make_folders(layout, id, order, folders, error);
    if (r == 0)
        *ret = build(layout, id, order, facts, folders);
    for (size_t i = 0; i < ELEMENTS(folders); i++)
        free(folders[i]);
    return r;
}
