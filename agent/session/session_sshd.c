/* SPDX-License-Identifier: Apache-2.0 */
/* session_sshd.c - see session_sshd.h
 *
 * All of it has the account's rights alone: folder, keys and configuration are its own, and no
 * stranger can enter a connection that is no port. */
#include "agent/session/session_sshd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/text_format.h"

#define SSHD "/usr/sbin/sshd"
#define KEYGEN "/usr/bin/ssh-keygen"
#define CHROOT "/run/sshd"
#define STATUS_NO_PROGRAM 127
#define STATUS_FAILED 255

static const char *const files[] = { "host_key", "host_key.pub", "authorized_keys", "sshd_config" };

/* ---- its configuration ---- */

/* set_by_sshd - of the person, of the connection, of the terminal */
static bool set_by_sshd(const char *entry)
{
    static const char *const names[] = { "TERM=", "SSH_", "LS_COLORS=", "_=", "OLDPWD=" };

    for (size_t i = 0; i < ELEMENTS(names); i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

void session_sshd_environment(FILE *file, char *const *environment)
{
    size_t n = 0;

    for (; environment != NULL && *environment != NULL; environment++) {
        if (set_by_sshd(*environment) || strpbrk(*environment, "\n\r") != NULL ||
            strchr(*environment, '=') == NULL)
            continue;
        (void)fputs(n++ == 0 ? "SetEnv \"" : " \"", file);
        for (const char *at = *environment; *at != '\0'; at++) {
            if (*at == '"' || *at == '\\')
                (void)fputc('\\', file);
            (void)fputc(*at, file);
        }
        (void)fputc('"', file);
    }
    if (n > 0)
        (void)fputc('\n', file);
}

bool session_sshd_has_terminals(const char *mounts)
{
    const char *at = strstr(mounts, " /dev/pts devpts ");
    size_t length = at != NULL ? strcspn(at, "\n") : 0;
    const char *gid = at != NULL ? strstr(at, "gid=5,") : NULL;
    const char *mode = at != NULL ? strstr(at, "mode=620") : NULL;

    return gid != NULL && mode != NULL && gid < at + length && mode < at + length;
}

static int write_file(const char *folder, const char *name, const char *text)
{
    _cleanup_free_ char *path = text_format("%s/%s", folder, name);
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t size = strlen(text);

    return fd != -1 && write(fd, text, size) == (ssize_t)size ? 0 : -errno;
}

static int write_config(const char *folder)
{
    _cleanup_free_ char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    if (file == NULL)
        return -errno;
    (void)fprintf(file,
                  "HostKey %s/host_key\nAuthorizedKeysFile %s/authorized_keys\nPidFile none\n"
                  "LogLevel ERROR\nUsePAM no\nStrictModes no\nPasswordAuthentication no\n"
                  "KbdInteractiveAuthentication no\nPubkeyAuthentication yes\n"
                  "LogLevel ERROR\nPermitRootLogin prohibit-password\nPermitUserEnvironment "
                  "no\nPermitTunnel no\n"
                  "X11Forwarding no\nGatewayPorts no\nPrintMotd no\nPrintLastLog no\n"
                  "AcceptEnv LANG LC_* COLORTERM TERM_PROGRAM\nSubsystem sftp internal-sftp\n",
                  folder, folder);
    session_sshd_environment(file, environ);
    if (fclose(file) != 0)
        return -ENOMEM;
    return write_file(folder, "sshd_config", text);
}

/* ---- programs ---- */

bool session_sshd_is_installed(void)
{
    return access(SSHD, X_OK) == 0 && access(KEYGEN, X_OK) == 0;
}

static int run(const char *const *argv, bool quiet)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t ignored;
    pid_t pid;
    int r, status = 0;

    (void)sigemptyset(&ignored);
    (void)sigaddset(&ignored, SIGHUP);
    (void)sigaddset(&ignored, SIGTERM);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigdefault(&attributes, &ignored);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    (void)posix_spawn_file_actions_init(&actions);
    if (quiet) {
        (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    }
    /* why the cast: it writes to none of them */
    r = posix_spawn(&pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    if (r != 0)
        return STATUS_NO_PROGRAM;
    while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_FAILED;
}

static int make_key(const char *folder)
{
    _cleanup_free_ char *path = text_format("%s/host_key", folder);
    const char *const argv[] = {
        KEYGEN, "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path, NULL
    };

    return run(argv, true);
}

/* make_chroot - the empty folder that sshd wants of a machine as root; its own service makes it at
 * each start of that (sshd(8)) */
static void make_chroot(void)
{
    if (geteuid() == 0)
        (void)mkdir(CHROOT, 0755);
}

static int run_sshd(const char *folder)
{
    _cleanup_free_ char *config = text_format("%s/sshd_config", folder);
    const char *const argv[] = { SSHD, "-i", "-e", "-f", config, NULL };

    return run(argv, false);
}

/* ---- its folder ---- */

static char *make_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    char *path = text_format("%s/edl-ssh-XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");

    if (mkdtemp(path) != NULL)
        return path;
    free(path);
    path = text_format("/tmp/edl-ssh-XXXXXX");
    if (mkdtemp(path) != NULL)
        return path;
    free(path);
    return NULL;
}

static void remove_folder(const char *folder)
{
    for (size_t i = 0; i < ELEMENTS(files); i++) {
        _cleanup_free_ char *path = text_format("%s/%s", folder, files[i]);

        (void)unlink(path);
    }
    (void)rmdir(folder);
}

static void tell_terminals(void)
{
    char text[65536];
    _cleanup_fclose_ FILE *mounts = fopen("/proc/self/mounts", "re");
    size_t n = mounts != NULL ? fread(text, 1, sizeof text - 1, mounts) : 0;

    text[n] = '\0';
    if (geteuid() != 0 && !session_sshd_has_terminals(text))
        (void)fprintf(stderr, "edl: this node's /dev/pts is not mounted with gid=5,mode=620, so "
                              "ssh has no terminal there; edl shell has\n");
}

int session_sshd(const char *key)
{
    _cleanup_free_ char *line = text_format("%s\n", key);
    _cleanup_free_ char *folder = NULL;
    int status;

    /* its folder is removed whoever ends it: sshd ends when its connection does */
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    make_chroot();
    (void)umask(0077);
    tell_terminals();
    folder = make_folder();
    if (folder == NULL || write_file(folder, "authorized_keys", line) < 0 ||
        write_config(folder) < 0 || make_key(folder) != 0) {
        (void)fprintf(stderr, "edl: cannot make the files of sshd on the node: %s\n",
                      strerror(errno));
        status = STATUS_FAILED;
    } else {
        status = run_sshd(folder);
    }
    if (folder != NULL)
        remove_folder(folder);
    return status;
}
