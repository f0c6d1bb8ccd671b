/* SPDX-License-Identifier: Apache-2.0 */
/* paddle_secret.c - see paddle_secret.h */
#include "client/paddle/paddle_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/hex.h"
#include "shared/job_secret.h"
#include "shared/macro.h"

static int folder_of_user(char **ret, struct edl_error *error)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const struct passwd *entry;

    if (config != NULL && config[0] == '/') {
        *ret = text_format("%s/edl", config);
        return 0;
    }
    if (home == NULL || home[0] != '/') {
        entry = getpwuid(geteuid());
        home = entry != NULL ? entry->pw_dir : NULL;
    }
    if (home == NULL)
        return edl_error_set(error, -ENOENT, "there is no home folder for the servers' secret");
    *ret = text_format("%s/.config/edl", home);
    return 0;
}

/* make_folders - the last two of the path; their errors show when the file is made */
static void make_folders(char *folder)
{
    char *slash = strrchr(folder, '/');

    *slash = '\0';
    (void)mkdir(folder, 0700);
    *slash = '/';
    (void)mkdir(folder, 0700);
}

/* make - under another name first: a file that is there is whole */
static int make(const char *path, struct edl_error *error)
{
    _cleanup_free_ char *temporary = text_format("%s.XXXXXX", path);
    _cleanup_close_ int fd = mkstemp(temporary);
    uint8_t secret[JOB_SECRET_BYTES];
    char digits[2 * JOB_SECRET_BYTES + 2];
    int r = 0;

    if (fd == -1)
        return edl_error_errno(error, -errno, "cannot make the servers' secret %s", path);
    if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret) {
        r = edl_error_errno(error, -errno, "no random bytes for the servers' secret");
    } else {
        hex_encode(secret, sizeof secret, digits);
        digits[2 * JOB_SECRET_BYTES] = '\n'; /* no text from here on */
        if (write(fd, digits, sizeof digits - 1) != (ssize_t)sizeof digits - 1 || fsync(fd) == -1 ||
            (link(temporary, path) == -1 && errno != EEXIST))
            r = edl_error_errno(error, -errno, "cannot make the servers' secret %s", path);
    }
    (void)unlink(temporary);
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(digits, sizeof digits);
    return r;
}

static int find_or_make(char **ret, struct edl_error *error)
{
    _cleanup_free_ char *folder = NULL, *path = NULL;
    int r = folder_of_user(&folder, error);

    if (r < 0)
        return r;
    path = text_format("%s/paddle-secret", folder);
    if (access(path, F_OK) == -1) {
        make_folders(folder);
        r = make(path, error);
    }
    if (r < 0)
        return r;
    *ret = TAKE_PTR(path);
    return 0;
}

int paddle_secret_file(char **ret, struct edl_error *error)
{
    return find_or_make(ret, error) < 0
               ? edl_error_remedy(error, "name a file of your own: --secret_file=FILE")
               : 0;
}
