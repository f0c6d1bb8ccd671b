/* SPDX-License-Identifier: Apache-2.0 */
/* session_target.c - see session_target.h
 *
 * The supervisor is found by its record (pid and start time), its program as its child. Both
 * pidfds are held first, and looked at again behind all that was read below /proc/PID: a number
 * that was another process's meanwhile would be seen. */
#include "agent/session/session_target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/machine/procfs.h"
#include "agent/session/session_request.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/macro.h"

#define ENVIRONMENT_MAX ((size_t)4 * 1024 * 1024)
#define ENTRIES_MAX 16384
#define STATUS_SIZE 8192
#define PATH_SIZE 64
#define LINK_SIZE 512
#define LIMIT_NAME_SIZE 26 /* in front of the figures, in /proc/PID/limits */

void session_target_name(const struct session_config *config, char *ret, size_t size)
{
    const struct session_request *request = &config->request;

    (void)snprintf(ret, size, "process %s-%u of job %.200s", request->process.role,
                   request->process.index, request->job);
}

static bool is_alive(int pidfd)
{
    struct pollfd end = { .fd = pidfd, .events = POLLIN };

    return pidfd >= 0 && poll(&end, 1, 0) == 0;
}

bool session_target_lives(const struct session_target *target)
{
    return is_alive(target->program_pidfd);
}

static int gone(const struct session_config *config, struct edl_error *error)
{
    char name[300];

    session_target_name(config, name, sizeof name);
    (void)edl_error_set(error, -ESRCH, "%s does not run on node %.60s any more", name,
                        config->node);
    return edl_error_remedy(error, "edl ps %.200s says what became of it; edl logs has its output",
                            config->request.job);
}

static int starting(const struct session_config *config, struct edl_error *error)
{
    char name[300];

    session_target_name(config, name, sizeof name);
    (void)edl_error_set(error, -EAGAIN, "%s is being started: its program does not run yet", name);
    return edl_error_remedy(error, "try again in a moment");
}

/* ---- the process ---- */

/* says - the file that a link of /proc leads to */
static bool says(pid_t pid, const char *what, char ret[LINK_SIZE])
{
    char path[PATH_SIZE];
    ssize_t n;

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    n = readlink(path, ret, LINK_SIZE - 1);
    ret[MAX_OF(n, 0)] = '\0';
    return n > 0;
}

/* is_started - it executes a program: until then it is a copy of its supervisor */
static bool is_started(const struct supervisor_record *record)
{
    char program[LINK_SIZE], supervisor[LINK_SIZE];

    return !says(record->child_pid, "exe", program) || !says(record->pid, "exe", supervisor) ||
           !streq(program, supervisor);
}

static int find(const struct session_config *config, struct session_target *target,
                struct edl_error *error)
{
    struct supervisor_record *record = &target->record;
    int r = process_dir_read_supervisor(target->dir_fd, record, NULL);

    if (r == -ENOENT)
        return starting(config, error);
    if (r < 0 || !streq(record->boot_id, config->boot_id))
        return gone(config, error);
    target->supervisor_pidfd = procfs_open_verified(record->pid, record->start_ticks);
    if (target->supervisor_pidfd < 0)
        return gone(config, error);
    target->program_pidfd = pidfd_open(record->child_pid, 0);
    if (target->program_pidfd == -1 || procfs_parent(record->child_pid) != record->pid ||
        !is_alive(target->program_pidfd) || !is_alive(target->supervisor_pidfd))
        return gone(config, error);
    return is_started(record) ? 0 : starting(config, error);
}

/* check_account - by what the node's owner allows now, not when it was started */
static int check_account(const struct session_config *config, struct session_target *target,
                         struct edl_error *error)
{
    const json_t *started_by = json_object_get(target->order, "account");
    json_t *wanted = json_is_object(started_by) ? json_deep_copy(started_by) : json_object();
    int r;

    if (config->accounts != NULL)
        (void)json_object_update(wanted, config->accounts);
    r = account_resolve(wanted, &target->account, error);
    json_decref(wanted);
    if (r == 0 && target->account.uid != target->record.uid) {
        (void)edl_error_set(error, -EACCES,
                            "the process runs as account number %u, and this node would run it as "
                            "%.200s now",
                            (unsigned)target->record.uid, target->account.name);
        r = edl_error_remedy(error, "its owner may look at the options of edl-agent there");
    }
    return r;
}

int session_target_open(const struct session_config *config, struct session_target *ret,
                        struct edl_error *error)
{
    int r;

    *ret = (struct session_target)SESSION_TARGET_NONE;
    ret->ours_only = geteuid() != 0;
    ret->dir_fd = process_dir_open(config->process_dir, NULL);
    if (ret->dir_fd < 0)
        return gone(config, error);
    r = process_dir_read_order(ret->dir_fd, &ret->order, error);
    if (r < 0) /* the folder is being removed */
        return r == -ENOENT ? gone(config, error) : r;
    r = find(config, ret, error);
    return r < 0 ? r : check_account(config, ret, error);
}

/* ---- its program ---- */

static int read_whole(pid_t pid, const char *what, size_t most, char **ret, size_t *ret_size)
{
    char path[PATH_SIZE];
    _cleanup_close_ int fd = -1;
    size_t size = 0, room = 0;
    char *text = NULL;
    ssize_t n = 1;

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1)
        return -errno;
    while (n > 0 && size < most) {
        if (size + 1 >= room) {
            room = MAX_OF(room * 2, (size_t)8192);
            text = xreallocarray(text, room, 1);
        }
        n = read(fd, text + size, MIN_OF(room - size - 1, most - size));
        size += n > 0 ? (size_t)n : 0;
    }
    text[size] = '\0';
    *ret = text;
    *ret_size = size;
    return 0;
}

static void add_entry(struct session_target *target, size_t *n, char *take_entry)
{
    target->environment = xreallocarray(target->environment, *n + 2, sizeof(char *));
    target->environment[(*n)++] = take_entry;
    target->environment[*n] = NULL;
}

/* take_ordered - as it was started with: a program may write its title over its environment */
static void take_ordered(struct session_target *target)
{
    const char *name;
    json_t *value;
    size_t n = 0;
    char *entry;

    json_object_foreach(json_object_get(target->order, "env"), name, value)
    {
        if (json_is_string(value) && asprintf(&entry, "%s=%s", name, json_string_value(value)) > 0)
            add_entry(target, &n, entry);
    }
}

/* find_environment - the entry of a name; NULL: it has none */
static const char *find_environment(char *const *environment, const char *name)
{
    size_t length = strlen(name);

    for (; environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

static void free_environment(struct session_target *target)
{
    for (size_t i = 0; target->environment != NULL && target->environment[i] != NULL; i++)
        free(target->environment[i]);
    free(target->environment);
    target->environment = NULL;
}

static void take_environment(struct session_target *target)
{
    _cleanup_free_ char *text = NULL;
    size_t size = 0, n = 0;

    if (read_whole(target->record.child_pid, "environ", ENVIRONMENT_MAX, &text, &size) == 0)
        for (const char *at = text; at < text + size && n < ENTRIES_MAX; at += strlen(at) + 1)
            if (at[0] != '=' && strchr(at, '=') != NULL)
                add_entry(target, &n, xstrdup(at));
    if (find_environment(target->environment, "EDL_JOB") == NULL) {
        free_environment(target);
        take_ordered(target);
    }
}

static int open_link(pid_t pid, const char *what, int flags)
{
    char path[PATH_SIZE];

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    return open(path, flags | O_CLOEXEC);
}

/* open_space - a namespace of its program; -1: it is ours, too */
static int open_space(const struct session_target *target, const char *what)
{
    char its[LINK_SIZE], ours[LINK_SIZE];

    if (!says(target->record.child_pid, what, its) || !says(getpid(), what, ours) ||
        streq(its, ours))
        return -1;
    return open_link(target->record.child_pid, what, O_RDONLY);
}

int session_target_network(const struct session_target *target)
{
    return open_space(target, "ns/net");
}

static uint64_t status_number(const char *status, const char *key, int base, uint64_t absent)
{
    const char *at = strstr(status, key);

    return at != NULL ? strtoull(at + strlen(key), NULL, base) : absent;
}

static bool limit_of(const char *text, rlim_t *ret)
{
    char *end;

    *ret = RLIM_INFINITY;
    if (streq(text, "unlimited"))
        return true;
    *ret = strtoull(text, &end, 10);
    return end != text && *end == '\0';
}

int session_target_limits(const char *text, struct rlimit ret[RLIM_NLIMITS])
{
    char soft[24], hard[24];

    for (int i = 0; i < (int)RLIM_NLIMITS; i++) {
        text = strchr(text, '\n'); /* behind the heading, or the one before */
        if (text == NULL || strcspn(text + 1, "\n") < LIMIT_NAME_SIZE ||
            sscanf(text + 1 + LIMIT_NAME_SIZE, "%23s %23s", soft, hard) != 2 ||
            !limit_of(soft, &ret[i].rlim_cur) || !limit_of(hard, &ret[i].rlim_max))
            return -EINVAL;
        text++;
    }
    return 0;
}

static int take_traits(const struct session_target *target, struct session_traits *ret)
{
    pid_t pid = target->record.child_pid;
    _cleanup_free_ char *status = NULL;
    size_t size = 0;
    int r = read_whole(pid, "status", STATUS_SIZE, &status, &size);

    if (r < 0)
        return r;
    ret->umask = (mode_t)status_number(status, "\nUmask:", 8, 022);
    ret->no_new_privs = status_number(status, "\nNoNewPrivs:", 10, 1) != 0;
    ret->bounding = status_number(status, "\nCapBnd:", 16, 0);
    ret->nice = getpriority(PRIO_PROCESS, (id_t)pid);
    ret->has_cpus = sched_getaffinity(pid, sizeof ret->cpus, &ret->cpus) == 0;
    free(status);
    status = NULL;
    r = read_whole(pid, "limits", STATUS_SIZE, &status, &size);
    return r < 0 ? r : session_target_limits(status, ret->limits);
}

int session_target_look(const struct session_config *config, struct session_target *target,
                        struct edl_error *error)
{
    pid_t pid = target->record.child_pid;
    int r = session_groups_open(pid, target->record.cgroup.unified, config->request.id,
                                &target->groups, error);

    if (r < 0)
        return r;
    r = take_traits(target, &target->traits);
    take_environment(target);
    target->folder_fd = open_link(pid, "cwd", O_PATH | O_DIRECTORY);
    target->mounts_fd = open_space(target, "ns/mnt");
    if (!session_target_lives(target))
        return gone(config, error);
    if (r < 0)
        return edl_error_errno(error, r, "cannot see what the program of the process is like");
    if (target->groups.refused && !target->ours_only)
        return edl_error_set(error, -EACCES, "cannot enter the control groups of the process");
    return 0;
}

void session_target_close(struct session_target *target)
{
    free_environment(target);
    session_groups_close(&target->groups);
    account_done(&target->account);
    json_decref(target->order);
    target->order = NULL;
    target->mounts_fd = safe_close(target->mounts_fd);
    target->folder_fd = safe_close(target->folder_fd);
    target->program_pidfd = safe_close(target->program_pidfd);
    target->supervisor_pidfd = safe_close(target->supervisor_pidfd);
    target->dir_fd = safe_close(target->dir_fd);
}
