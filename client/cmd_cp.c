/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_cp.c - `edl cp`: a file or folder from a process of a job, or to it
 *
 * Commands of a session do it, cat and tar: what a process can read or write can be copied, outputs
 * or not. At the receiving side it grows under another name, and gets its own when it is whole. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/session.h"
#include "client/session_name.h"
#include "client/session_run.h"
#include "client/session_verb.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

extern char **environ;

struct cp_options {
    struct common_options common;
};

/* Nothing of the process's environment steers these. */
#define BEGIN "p=; unset CDPATH TAR_OPTIONS\n"

/* What the process has at a path: "file 644 1234" or "folder 755 0". */
#define LOOK                                                                                       \
    BEGIN                                                                                          \
    "if [ -d \"$1\" ]; then k=folder; elif [ -f \"$1\" ]; then k=file\n"                           \
    "elif [ -e \"$1\" ]; then echo \"edl cp: $1 is neither a file nor a folder\" >&2; exit 1\n"    \
    "else echo \"edl cp: the process has no $1 (in $PWD)\" >&2; exit 1; fi\n"                      \
    "exec stat -L -c \"$k %a %s\" -- \"$1\"\n"

#define GIVE_FILE BEGIN "exec cat -- \"$1\"\n"

/* GNU tar ends with 1 if a file changed while tar read it; another tar ends so with any failure. */
#define GIVE_FOLDER                                                                                \
    BEGIN                                                                                          \
    "cd -- \"$1\" || exit; tar -cf - . && exit; r=$?\n"                                            \
    "case $r$(tar --version 2>/dev/null) in 1*GNU*) ;; *) exit $r ;; esac\n"                       \
    "echo 'edl cp: some files changed while they were copied' >&2\n"

/* $1 the path, $2 the name if that is a folder, $3 the mode, $4 the size. What is cut off by the
 * end of the session is never renamed. */
#define TAKE                                                                                       \
    BEGIN                                                                                          \
    "t=$1; [ ! -d \"$t\" ] || t=${t%/}/$2\n"                                                       \
    "if [ -L \"$t\" ]; then\n"                                                                     \
    "  [ -e \"$t\" ] || { echo \"edl cp: $t is a link that leads nowhere\" >&2; exit 1; }\n"       \
    "  t=$(readlink -f -- \"$t\" && echo .) && t=${t%??} || exit 1\n"                              \
    "fi\n"                                                                                         \
    "case $t in */*) d=${t%/*} ;; *) d=. ;; esac; d=${d:-/}\n"                                     \
    "[ -d \"$d\" ] || { echo \"edl cp: the process has no folder $d\" >&2; exit 1; }\n"            \
    "trap 'rm -rf -- \"$p\"' EXIT; trap 'exit 1' HUP INT TERM\n"
#define TAKE_FILE                                                                                  \
    TAKE "[ ! -e \"$t\" ] || [ -f \"$t\" ] || { echo \"edl cp: $t is no regular file\" >&2; exit " \
         "1; }\n"                                                                                  \
         "p=$(mktemp \"$d/.edl-cp-XXXXXX\") && cat >\"$p\" || exit 1\n"                            \
         "[ \"$(stat -c %s \"$p\")\" = \"$4\" ] || { echo 'edl cp: a part is missing' >&2; exit "  \
         "1; }\n"                                                                                  \
         "chmod \"$3\" \"$p\" && mv -fT -- \"$p\" \"$t\"\n"

/* mv -n may end with 0 although it did nothing. */
#define TAKE_FOLDER                                                                                \
    TAKE "there() { echo \"edl cp: $t is there already\" >&2; exit 1; }\n"                         \
         "[ ! -e \"$t\" ] || there\n"                                                              \
         "p=$(mktemp -d \"$d/.edl-cp-XXXXXX\") || exit 1\n"                                        \
         "tar -xf - --no-same-owner --no-same-permissions -C \"$p\" || exit 1\n"                   \
         "mv -nT -- \"$p\" \"$t\" && [ ! -e \"$p\" ] || there\n"

struct copy {
    struct server *server;
    struct session_place place; /* at the process */
    const char *here;
};

/* run_there - a script with its words at the process; STATUS_OK, or STATUS_FAILED: it was told */
static int run_there(const struct copy *copy, const char *script, const char *const more[3],
                     int in_fd, int out_fd)
{
    const char *const words[] = { "sh",    "-c",    script,  "edl-cp", copy->place.path,
                                  more[0], more[1], more[2], NULL };
    size_t n = 0;
    json_t *body;
    int status;

    while (words[n] != NULL)
        n++;
    body = session_body("exec", (char *const *)words, n);
    if (body == NULL)
        return STATUS_BAD_INPUT;
    status = session_run(&(struct session_run){ .server = copy->server,
                                                .name = &copy->place.name,
                                                .body = body,
                                                .reads = in_fd >= 0,
                                                .in_fd = in_fd,
                                                .out_fd = out_fd,
                                                .detaches = true });
    json_decref(body);
    return status == 0 ? STATUS_OK : STATUS_FAILED;
}

static int fail(int code, const char *what, const char *path)
{
    struct edl_error error = { 0 };

    (void)edl_error_errno(&error, code, "%s %s", what, path);
    (void)report_error(&error);
    return STATUS_FAILED;
}

/* --- tar at this side --- */

/* What is unpacked gets no foreign owner, and no file of it runs as another account. */
static const char *const packs[] = { "tar", "-cf", "-", "-C", NULL, ".", NULL };
static const char *const unpacks[] = {
    "tar", "-xf", "-", "--no-same-owner", "--no-same-permissions", "-C", NULL, NULL
};
enum { TAR_WORDS_MAX = 8, TAR_FILES_CHANGED = 1 };

/* tar_begin - one end of a pipe is its; *ret_fd: the other one. words: folder belongs where the
 * first NULL is. -errno */
static int tar_begin(const char *const *words, const char *folder, pid_t *ret_pid, int *ret_fd)
{
    const char *argv[TAR_WORDS_MAX + 1] = { NULL };
    bool gives = words == packs;
    posix_spawn_file_actions_t actions;
    int fds[2], ours = gives ? 0 : 1, r;
    size_t n = 0;

    for (; words[n] != NULL; n++)
        argv[n] = words[n];
    argv[n] = folder;
    argv[n + 1] = words[n + 1];
    if (pipe2(fds, O_CLOEXEC) == -1)
        return -errno;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, fds[1 - ours],
                                           gives ? STDOUT_FILENO : STDIN_FILENO);
    r = posix_spawnp(ret_pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)safe_close(fds[1 - ours]);
    if (r != 0)
        (void)safe_close(fds[ours]);
    else
        *ret_fd = fds[ours];
    return -r;
}

/* child_end - its exit status; 128 and the number of a signal, as a shell has it */
static int child_end(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : SESSION_SIGNALLED + WTERMSIG(status);
}

static int remove_folder(const char *path)
{
    const char *const argv[] = { "rm", "-rf", "--", path, NULL };
    pid_t pid;

    return posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ) == 0
               ? child_end(pid)
               : STATUS_FAILED;
}

/* --- from the process --- */

struct found {
    bool folder;
    unsigned mode;
};

static int look(const struct copy *copy, struct found *ret)
{
    static const char *const none[3];
    _cleanup_close_ int fd = memfd_create("edl-cp", MFD_CLOEXEC);
    char text[128] = "", kind[8] = "";
    unsigned long long size = 0;
    int status;

    if (fd == -1)
        return fail(-errno, "making room for", "an answer");
    status = run_there(copy, LOOK, none, -1, fd);
    if (status != STATUS_OK)
        return status;
    if (pread(fd, text, sizeof text - 1, 0) == -1 ||
        sscanf(text, "%7s %o %llu", kind, &ret->mode, &size) != 3) /* NOLINT */
        return fail(-EBADMSG, "the process's stat told nothing of", copy->place.path);
    ret->folder = streq(kind, "folder");
    ret->mode &= 0777;
    return STATUS_OK;
}

/* target_here - as cp(1): into a folder under the same name; new string */
static char *target_here(const struct copy *copy)
{
    _cleanup_free_ char *path = xstrdup(copy->place.path);
    const char *name = basename(path);
    struct stat st;

    if (stat(copy->here, &st) == -1 || !S_ISDIR(st.st_mode))
        return xstrdup(copy->here);
    return text_format("%s/%s", copy->here,
                       streq(name, ".") || streq(name, "..") || streq(name, "/")
                           ? copy->place.name.job
                           : name);
}

/* partial_here - where it grows: beside the target; new string, for mkstemp and mkdtemp */
static char *partial_here(const char *target)
{
    _cleanup_free_ char *path = xstrdup(target);

    return text_format("%s/.edl-cp-XXXXXX", dirname(path));
}

/* file_here - the file that a copy replaces: where the target is a link, what that leads to; a new
 * string. NULL after the target, a device or pipe or folder, was refused. */
static char *file_here(const char *target)
{
    struct edl_error error = { 0 };
    struct stat st;
    char *real;

    if (lstat(target, &st) == -1)
        return xstrdup(target);
    real = realpath(target, NULL);
    if (real != NULL && stat(real, &st) == 0 && S_ISREG(st.st_mode))
        return real;
    if (real == NULL && stat(target, &st) == -1)
        (void)edl_error_set(&error, -ENOENT, "%s is a link that leads nowhere", target);
    else
        (void)edl_error_set(&error, -EINVAL, "%s is no regular file, and is not replaced", target);
    (void)edl_error_remedy(&error, "another name, or edl exec JOB -- cat PATH >%s", target);
    (void)report_error(&error);
    free(real);
    return NULL;
}

static int get_file(const struct copy *copy, const struct found *found, const char *given)
{
    static const char *const none[3];
    _cleanup_free_ char *target = file_here(given), *partial = NULL;
    _cleanup_close_ int fd = -1;
    mode_t mask = umask(0);
    int status;

    (void)umask(mask);
    if (target == NULL)
        return STATUS_FAILED;
    partial = partial_here(target);
    fd = mkostemp(partial, O_CLOEXEC);
    if (fd == -1)
        return fail(-errno, "writing beside", target);
    status = run_there(copy, GIVE_FILE, none, -1, fd);
    if (status == STATUS_OK &&
        (fchmod(fd, found->mode & ~mask) == -1 || fsync(fd) == -1 || rename(partial, target) == -1))
        status = fail(-errno, "writing", target);
    if (status != STATUS_OK)
        (void)unlink(partial);
    return status;
}

static int get_folder(const struct copy *copy, const char *target)
{
    static const char *const none[3];
    _cleanup_free_ char *partial = partial_here(target);
    pid_t pid = 0;
    struct stat st;
    int fd = -1, status, r;

    if (lstat(target, &st) == 0)
        return fail(-EEXIST, "making the folder", target);
    if (mkdtemp(partial) == NULL)
        return fail(-errno, "making a folder beside", target);
    r = tar_begin(unpacks, partial, &pid, &fd);
    if (r < 0) {
        (void)rmdir(partial);
        return fail(r, "starting", "tar");
    }
    status = run_there(copy, GIVE_FOLDER, none, -1, fd);
    (void)safe_close(fd);
    if (child_end(pid) != 0 && status == STATUS_OK)
        status = fail(-EIO, "tar could not write", target);
    if (status == STATUS_OK && rename(partial, target) == -1)
        status = fail(-errno, "making the folder", target);
    if (status != STATUS_OK)
        (void)remove_folder(partial);
    return status;
}

static int get(const struct copy *copy)
{
    _cleanup_free_ char *target = target_here(copy);
    struct found found = { 0 };
    int status = look(copy, &found);

    if (status != STATUS_OK)
        return status;
    return found.folder ? get_folder(copy, target) : get_file(copy, &found, target);
}

/* --- to the process --- */

static int put_file(const struct copy *copy, const char *name, int fd, const struct stat *st)
{
    _cleanup_free_ char *mode = text_format("%o", st->st_mode & 0777u);
    _cleanup_free_ char *size = text_format("%" PRIu64, (uint64_t)st->st_size);
    const char *const more[3] = { name, mode, size };

    return run_there(copy, TAKE_FILE, more, fd, 0);
}

static int put_folder(const struct copy *copy, const char *name)
{
    const char *const more[3] = { name, NULL, NULL };
    pid_t pid = 0;
    int fd = -1, status, ended, r = tar_begin(packs, copy->here, &pid, &fd);

    if (r < 0)
        return fail(r, "starting", "tar");
    status = run_there(copy, TAKE_FOLDER, more, fd, 0);
    (void)safe_close(fd);
    ended = child_end(pid);
    if (status != STATUS_OK)
        return status;
    if (ended == TAR_FILES_CHANGED)
        report_note("some files changed while they were copied");
    else if (ended != 0)
        status = fail(-EIO, "tar could not read all of", copy->here);
    return status;
}

static int put(const struct copy *copy)
{
    _cleanup_close_ int fd = open(copy->here, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    _cleanup_free_ char *real = realpath(copy->here, NULL);
    struct stat st;

    if (fd == -1 || real == NULL || fstat(fd, &st) == -1)
        return fail(-errno, "reading", copy->here);
    if (S_ISDIR(st.st_mode))
        return put_folder(copy, basename(real));
    if (!S_ISREG(st.st_mode))
        return fail(-EINVAL, "neither a file nor a folder is", copy->here);
    return put_file(copy, basename(real), fd, &st);
}

static int run(const struct invocation *invocation)
{
    char **args = invocation->arguments.args;
    bool from = session_place_is(args[0]), to = session_place_is(args[1]);
    struct copy copy = { .here = args[from ? 1 : 0] };
    struct edl_error error = { 0 };
    struct server server;
    int status = session_verb_check(invocation);

    if (status != STATUS_OK)
        return status;
    if (from == to)
        return session_verb_refuse(from ? "./NAME for a file here whose name has a colon"
                                        : "edl cp JOB:PATH HERE, or edl cp HERE JOB:PATH",
                                   from ? "edl cp: both are at processes of jobs"
                                        : "edl cp: neither is at a process of a job");
    if (session_place_read(args[from ? 0 : 1], &copy.place, &error) < 0)
        return report_error(&error);
    status = server_open(&((const struct cp_options *)invocation->options)->common, &server);
    if (status == STATUS_OK) {
        copy.server = &server;
        status = from ? get(&copy) : put(&copy);
        server_clear(&server);
    }
    session_name_clear(&copy.place.name);
    return status;
}

const struct verb verb_cp = {
    .name = "cp",
    .usage = "JOB[.ROLE-N]:PATH HERE | HERE JOB[.ROLE-N]:PATH",
    .summary = "Copy a file or folder from a running process, or to it",
    .details =
        "PATH is as the process sees it, from its working folder on. What is a folder is copied\n"
        "with all in it. A target that is a folder takes it in under its own name. A file is\n"
        "replaced when the copy is whole, and a folder is never: nothing half stands under the\n"
        "name. `edl fetch` gets what a job wrote, also after its end.",
    .options_size = sizeof(struct cp_options),
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
