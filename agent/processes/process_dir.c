/* SPDX-License-Identifier: Apache-2.0 */
/* process_dir.c - the folder of one process */
#include "agent/processes/process_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/groups/cgroup_home.h"
#include "agent/supervisor/program_input.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/write_all.h"

/* of exit.json: a reason of which JSON escapes every byte, and the numbers */
#define EXIT_BYTES_MAX 4096

#define SUPERVISOR_BYTES 4096 /* of the next supervisor.json, as groups mostly are called */

#define PROMISE "promise"
#define SESSION_OOMS "session_ooms"
#define OOMS_MAX 4096 /* kills that are told apart */

static const char *const known_files[] = {
    "order.json",      "supervisor.json",      "exit.json",
    ".order.json.tmp", ".supervisor.json.tmp", ".exit.json.tmp",
    PROMISE,           PROGRAM_INPUT_FIFO,     SESSION_OOMS
};

static int open_temporary(int dir_fd, const char *name, mode_t mode, char ret_temporary[80])
{
    (void)snprintf(ret_temporary, 80, ".%s.tmp", name);
    return openat(dir_fd, ret_temporary, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
}

/* durable: it survives a loss of power, too. Room that was reserved for it is used. */
static int write_atomic(int dir_fd, const char *name, const void *data, size_t size, mode_t mode,
                        bool durable, struct edl_error *error)
{
    char temporary[80];
    _cleanup_close_ int fd = open_temporary(dir_fd, name, mode, temporary);
    int r = 0;

    if (fd == -1)
        return edl_error_errno(error, -errno, "cannot create %s", name);
    r = write_all(fd, data, size);
    if (r == 0 && ftruncate(fd, (off_t)size) == -1)
        r = -errno;
    if (r == 0 && durable && fsync(fd) == -1)
        r = -errno;
    if (r == 0 && renameat(dir_fd, temporary, dir_fd, name) == -1)
        r = -errno;
    if (r == 0 && durable && fsync(dir_fd) == -1)
        r = -errno;
    if (r < 0) {
        (void)unlinkat(dir_fd, temporary, 0);
        return edl_error_errno(error, r, "cannot write %s", name);
    }
    return 0;
}

int file_write_atomic(int dir_fd, const char *name, const void *data, size_t size, mode_t mode,
                      struct edl_error *error)
{
    return write_atomic(dir_fd, name, data, size, mode, true, error);
}

/* Not durable: the process ends with the power as well, and what its folder says of another boot
 * counts for nothing. The end of the agent or of a supervisor loses nothing that was written. */
static int write_json(int dir_fd, const char *name, const json_t *value, struct edl_error *error)
{
    _cleanup_free_ char *text = json_dumps(value, JSON_INDENT(1));

    if (text == NULL)
        return edl_error_set(error, -EINVAL, "cannot write %s: not valid JSON", name);
    return write_atomic(dir_fd, name, text, strlen(text), 0600, false, error);
}

int file_read_json(int dir_fd, const char *name, json_t **ret, struct edl_error *error)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    _cleanup_fclose_ FILE *file = fd != -1 ? fdopen(fd, "r") : NULL;
    json_error_t where;
    json_t *value;

    if (file == NULL)
        return edl_error_errno(error, -errno, "cannot open %s", name);
    value = json_loadf(file, JSON_REJECT_DUPLICATES, &where); /* json_loadfd reads byte by byte */
    if (!json_is_object(value)) {
        json_decref(value);
        return edl_error_set(error, EDL_ECORRUPT, "%s is damaged: %s", name, where.text);
    }
    *ret = value;
    return 0;
}

/* reserve - the disk may be full when the process ends, and its end must not be lost */
static int reserve(int dir_fd, const char *name, off_t bytes, struct edl_error *error)
{
    char temporary[80];
    _cleanup_close_ int fd = open_temporary(dir_fd, name, 0600, temporary);
    int r = fd == -1 ? errno : posix_fallocate(fd, 0, bytes);

    return r != 0 ? edl_error_errno(error, -r, "cannot reserve room for %s", name) : 0;
}

int process_dir_create(const char *path, const json_t *order, struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    int r;

    if (mkdir(path, 0700) == -1)
        return edl_error_errno(error, -errno, "cannot make the process folder %s", path);
    fd = process_dir_open(path, error);
    r = fd < 0 ? fd : reserve(fd, "exit.json", EXIT_BYTES_MAX, error);
    if (r == 0)
        r = write_json(fd, "order.json", order, error);
    if (r < 0)
        (void)process_dir_remove(path, NULL);
    return r;
}

int process_dir_open(const char *path, struct edl_error *error)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

    return fd == -1 ? edl_error_errno(error, -errno, "cannot open the process folder %s", path)
                    : fd;
}

int process_dir_lock(int dir_fd)
{
    return flock(dir_fd, LOCK_EX | LOCK_NB) == -1 ? -errno : 0;
}

int process_dir_read_order(int dir_fd, json_t **ret, struct edl_error *error)
{
    return file_read_json(dir_fd, "order.json", ret, error);
}

/* read_legacy - absent: a unit, whose group has the same path in all hierarchies */
static int read_legacy(const json_t *record, struct cgroup_paths *paths)
{
    const json_t *legacy = json_object_get(record, "cgroup_legacy");

    if (legacy == NULL && paths->unified[0] != '\0')
        cgroup_paths_everywhere(paths, paths->unified);
    return cgroup_legacy_from_json(legacy, paths->legacy);
}

int process_dir_read_supervisor(int dir_fd, struct supervisor_record *ret, struct edl_error *error)
{
    json_t *value = NULL;
    json_int_t pid, start, child, uid = geteuid(); /* as before there was another */
    json_int_t frozen_since = 0, frozen = 0, started = 0;
    const char *boot, *cgroup = "";
    int r = file_read_json(dir_fd, "supervisor.json", &value, error);

    if (r < 0)
        return r;
    if (json_unpack(value, "{s:I, s:I, s:s, s:I, s?s, s?I, s?I, s?I, s?I}", "pid", &pid,
                    "start_time_ticks", &start, "boot_id", &boot, "child_pid", &child, "cgroup",
                    &cgroup, "uid", &uid, "frozen_since_us", &frozen_since, "frozen_us", &frozen,
                    "started_us", &started) == -1 ||
        strlen(boot) >= BOOT_ID_SIZE || strlen(cgroup) >= CGROUP_PATH_SIZE) {
        r = edl_error_set(error, EDL_ECORRUPT, "supervisor.json is damaged");
    } else {
        *ret = (struct supervisor_record){ .pid = (pid_t)pid,
                                           .start_ticks = (uint64_t)start,
                                           .child_pid = (pid_t)child,
                                           .uid = (uid_t)uid,
                                           .started_us = (uint64_t)started,
                                           .frozen_since_us = (uint64_t)frozen_since,
                                           .frozen_us = (uint64_t)frozen };
        (void)snprintf(ret->boot_id, sizeof ret->boot_id, "%s", boot);
        (void)snprintf(ret->cgroup.unified, CGROUP_PATH_SIZE, "%s", cgroup);
        if (read_legacy(value, &ret->cgroup) < 0)
            r = edl_error_set(error, EDL_ECORRUPT, "supervisor.json is damaged");
    }
    json_decref(value);
    return r;
}

int process_dir_read_exit(int dir_fd, struct exit_record *ret, struct edl_error *error)
{
    json_t *value = NULL;
    json_int_t ended = 0, cpu = 0, orphans = 0, frozen = 0, error_before = 0;
    const char *reason, *told = "", *unfit = NULL, *fault = NULL, *cause = NULL;
    int code, sig;
    int r = file_read_json(dir_fd, "exit.json", &value, error);

    if (r < 0)
        return r;
    if (json_unpack(value, "{s:i, s:i, s:s, s?I, s?I, s?I, s?s, s?s, s?I, s?s, s?I, s?s}",
                    "exit_code", &code, "exit_signal", &sig, "reason", &reason, "ended_wall_us",
                    &ended, "cpu_used_us", &cpu, "orphans_reaped", &orphans, "unfit", &unfit,
                    "start_fault", &fault, "frozen_us", &frozen, "cause", &cause, "error_before_us",
                    &error_before, "error", &told) == -1) {
        r = edl_error_set(error, EDL_ECORRUPT, "exit.json is damaged");
    } else {
        *ret = (struct exit_record){ .exit_code = code,
                                     .exit_signal = sig,
                                     .cause = exit_cause_from_string(cause),
                                     .unfit = unfit_from_string(unfit),
                                     .fault = start_fault_from_string(fault, reason),
                                     .ended_wall_us = (uint64_t)ended,
                                     .cpu_used_us = (uint64_t)cpu,
                                     .frozen_us = (uint64_t)frozen,
                                     .error_before_us = (uint64_t)error_before,
                                     .orphans_reaped = (uint64_t)orphans };
        (void)snprintf(ret->reason, sizeof ret->reason, "%s", reason);
        (void)snprintf(ret->error, sizeof ret->error, "%s", told);
    }
    json_decref(value);
    return r;
}

int process_dir_write_supervisor(int dir_fd, const struct supervisor_record *record,
                                 struct edl_error *error)
{
    json_t *value =
        json_pack("{s:I, s:I, s:s, s:I, s:s, s:I, s:I}", "pid", (json_int_t)record->pid,
                  "start_time_ticks", (json_int_t)record->start_ticks, "boot_id", record->boot_id,
                  "child_pid", (json_int_t)record->child_pid, "cgroup", record->cgroup.unified,
                  "uid", (json_int_t)record->uid, "started_us", (json_int_t)record->started_us);
    int r;

    if (record->frozen_since_us > 0)
        (void)json_object_set_new(value, "frozen_since_us",
                                  json_integer((json_int_t)record->frozen_since_us));
    if (record->frozen_us > 0)
        (void)json_object_set_new(value, "frozen_us", json_integer((json_int_t)record->frozen_us));
    if (record->cgroup.unified[0] != '\0' && !cgroup_is_unit(record->cgroup.unified))
        (void)json_object_set_new(value, "cgroup_legacy",
                                  cgroup_legacy_to_json(record->cgroup.legacy));
    r = write_json(dir_fd, "supervisor.json", value, error);
    json_decref(value);
    if (r == 0)
        (void)reserve(dir_fd, "supervisor.json", SUPERVISOR_BYTES, NULL);
    return r;
}

static json_t *exit_to_json(const struct exit_record *record, const char *reason)
{
    return json_pack("{s:i, s:i, s:s, s:I, s:I, s:I, s:s, s:s, s:I, s:s, s:I, s:s*}", "exit_code",
                     record->exit_code, "exit_signal", record->exit_signal, "reason", reason,
                     "ended_wall_us", (json_int_t)record->ended_wall_us, "cpu_used_us",
                     (json_int_t)record->cpu_used_us, "orphans_reaped",
                     (json_int_t)record->orphans_reaped, "unfit", unfit_to_string(record->unfit),
                     "start_fault", start_fault_to_string(record->fault), "frozen_us",
                     (json_int_t)record->frozen_us, "cause", exit_cause_to_string(record->cause),
                     "error_before_us", (json_int_t)record->error_before_us, "error",
                     record->error[0] != '\0' ? record->error : NULL);
}

/* Not to the disk: a loss of power ends the process as well, and a disk may hold the writer. */
int process_dir_write_promise(int dir_fd, uint64_t within_us)
{
    _cleanup_close_ int fd =
        openat(dir_fd, PROMISE, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    char text[24];
    int n = snprintf(text, sizeof text, "%llu\n", (unsigned long long)within_us);

    return fd == -1 ? -errno : write_all(fd, text, (size_t)n);
}

uint64_t process_dir_read_promise(int dir_fd)
{
    _cleanup_close_ int fd = openat(dir_fd, PROMISE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char text[24] = "";
    uint64_t within_us = 0;

    if (fd == -1 || read(fd, text, sizeof text - 1) <= 0)
        return 0;
    text[strcspn(text, "\n")] = '\0';
    return parse_u64(text, &within_us) == 0 ? within_us : 0;
}

/* A byte for each, at its number: sessions that run beside each other write of the same ones. */
void process_dir_note_ooms(int dir_fd, uint64_t from, uint64_t to)
{
    _cleanup_close_ int fd =
        openat(dir_fd, SESSION_OOMS, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    to = MIN_OF(to, (uint64_t)OOMS_MAX);
    while (fd != -1 && from < to && pwrite(fd, "x", 1, (off_t)from) == 1)
        from++;
}

uint64_t process_dir_read_ooms(int dir_fd)
{
    _cleanup_close_ int fd = openat(dir_fd, SESSION_OOMS, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char marks[OOMS_MAX];
    ssize_t size = fd != -1 ? read(fd, marks, sizeof marks) : 0;
    uint64_t n = 0;

    for (ssize_t i = 0; i < size; i++)
        n += marks[i] != 0;
    return n;
}

int process_dir_write_exit(int dir_fd, const struct exit_record *record, struct edl_error *error)
{
    json_t *value = exit_to_json(record, record->reason);
    int r;

    if (value == NULL) /* a name in the reason was not UTF-8; the end itself must not be lost */
        value = exit_to_json(record, "(reason is not valid text)");
    r = write_json(dir_fd, "exit.json", value, error);
    json_decref(value);
    return r;
}

static bool has_file(int dir_fd, const char *name)
{
    return faccessat(dir_fd, name, F_OK, 0) == 0;
}

int process_dir_forget_unstarted(const char *path, struct edl_error *error)
{
    _cleanup_close_ int fd = process_dir_open(path, error); /* keeps the lock until it is removed */
    int r;

    if (fd < 0)
        return fd;
    if (process_dir_lock(fd) < 0 || has_file(fd, "supervisor.json") || has_file(fd, "exit.json"))
        return 0;
    r = process_dir_remove(path, error);
    return r < 0 ? r : 1;
}

int process_dir_remove(const char *path, struct edl_error *error)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

    if (fd == -1)
        return errno == ENOENT ? 0 : edl_error_errno(error, -errno, "cannot open %s", path);
    for (size_t i = 0; i < ELEMENTS(known_files); i++)
        (void)unlinkat(fd, known_files[i], 0);
    if (rmdir(path) == -1 && errno != ENOENT)
        return edl_error_errno(error, -errno, "cannot remove %s", path);
    return 0;
}
