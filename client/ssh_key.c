/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_key.c - see ssh_key.h */
#include "client/ssh_key.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/client_conf.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define KEY_MAX 1024

extern char **environ;

int ssh_key_path(char **ret, struct edl_error *error)
{
    _cleanup_free_ char *folder = client_conf_folder();

    if (folder == NULL) {
        (void)edl_error_set(error, -ENOENT, "there is no home folder for the key: HOME is not set");
        return edl_error_remedy(error, "export HOME=/home/you");
    }
    *ret = text_format("%s/ssh/id_ed25519", folder);
    return 0;
}

int ssh_key_read(char **ret, struct edl_error *error)
{
    _cleanup_free_ char *path = NULL, *public = NULL, *key = xcalloc(1, KEY_MAX + 1);
    _cleanup_close_ int fd = -1;
    ssize_t n;
    int r = ssh_key_path(&path, error);

    if (r < 0)
        return r;
    public = text_format("%s.pub", path);
    fd = open(public, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    n = fd == -1 ? -1 : read(fd, key, KEY_MAX);
    if (n == -1) {
        r = edl_error_errno(error, -errno, "reading the key %s", public);
        (void)edl_error_remedy(error, "edl ssh-config >> ~/.ssh/config makes it");
        return r;
    }
    key[strcspn(key, "\r\n")] = '\0';
    if (strncmp(key, "ssh-", 4) != 0 || !printable_is(key))
        return edl_error_set(error, -EINVAL, "%s holds no public key of ssh", public);
    *ret = TAKE_PTR(key);
    return 0;
}

static int make_folders(const char *path, struct edl_error *error)
{
    _cleanup_free_ char *folder = xstrdup(path);

    for (char *at = folder + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        if (mkdir(folder, 0700) == -1 && errno != EEXIST)
            return edl_error_errno(error, -errno, "making the folder %s", folder);
        *at = '/';
    }
    return 0;
}

static int keygen(const char *path, struct edl_error *error)
{
    const char *const argv[] = { "ssh-keygen", "-q",  "-t", "ed25519", "-N", "",
                                 "-C",         "edl", "-f", path,      NULL };
    int status = 0;
    pid_t pid;
    int r = posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ);

    if (r != 0) {
        (void)edl_error_errno(error, -r, "ssh-keygen cannot be started");
        return edl_error_remedy(error, "apt install openssh-client");
    }
    while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
        continue;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return edl_error_set(error, -EIO, "ssh-keygen made no key at %s", path);
    return 0;
}

int ssh_key_make(char **ret_path, struct edl_error *error)
{
    _cleanup_free_ char *path = NULL, *public = NULL;
    int r = ssh_key_path(&path, error);

    if (r < 0)
        return r;
    public = text_format("%s.pub", path);
    if (access(path, F_OK) != 0 || access(public, F_OK) != 0) {
        r = make_folders(path, error);
        if (r == 0)
            (void)unlink(path); /* half of one: ssh-keygen would ask */
        if (r == 0)
            r = keygen(path, error);
    }
    if (r == 0)
        *ret_path = TAKE_PTR(path);
    return r;
}
