/* SPDX-License-Identifier: Apache-2.0 */
/* user_number.c - see user_number.h
 *
 * symlink(2) makes a number somebody's: it is there as a whole or not at all, and fails when
 * another supervisor was faster. Only root can write to the folder. */
#include "agent/machine/user_number.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/account_name.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define TRIES_MAX 65536 /* numbers that others have, before a range counts as full */

uint32_t user_number_first(const struct user_range *range, const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return range->first + (uint32_t)(hash % ((uint64_t)range->last - range->first + 1));
}

static bool is_an_accounts(uid_t number)
{
    return getpwuid(number) != NULL || getgrgid(number) != NULL;
}

/* owner_of - false: nobody's, so far; with errno otherwise */
static bool owner_of(int folder_fd, const char *number, char ret[ACCOUNT_NAME_MAX + 2])
{
    ssize_t n = readlinkat(folder_fd, number, ret, ACCOUNT_NAME_MAX + 1);

    ret[MAX_OF(n, 0)] = '\0';
    return n >= 0;
}

/* take - 1: it is of that name now; 0: somebody else's */
static int take(int folder_fd, uid_t number, const char *name, struct edl_error *error)
{
    char text[16], owner[ACCOUNT_NAME_MAX + 2];
    bool is_new = false;

    (void)snprintf(text, sizeof text, "%lu", (unsigned long)number);
    if (!owner_of(folder_fd, text, owner)) {
        if (errno != ENOENT)
            return edl_error_errno(error, -errno, "cannot read whose number %s is", text);
        if (is_an_accounts(number))
            return 0;
        is_new = symlinkat(name, folder_fd, text) == 0;
        if (!is_new && errno != EEXIST)
            return edl_error_errno(error, -errno, "cannot keep the number %s for %s", text, name);
        if (!owner_of(folder_fd, text, owner))
            return edl_error_errno(error, -errno, "cannot read whose number %s is", text);
    }
    if (!streq(owner, name))
        return 0;
    if (is_new && fsync(folder_fd) == -1)
        return edl_error_errno(error, -errno, "cannot keep the number %s for %s", text, name);
    return 1;
}

/* check - an account may have come since: it and the person would be one */
static int check(uid_t number, const char *name, struct edl_error *error)
{
    if (!is_an_accounts(number))
        return 0;
    (void)edl_error_set(error, -EACCES,
                        "%s runs here as number %lu, which an account or group has by now", name,
                        (unsigned long)number);
    (void)edl_error_remedy(error, "the node's owner may set another user-range in agent.conf");
    return -EACCES;
}

int user_number_find(const char *folder, const struct user_range *range, const char *name,
                     uid_t *ret, struct edl_error *error)
{
    uint32_t size = range->last - range->first; /* less one: all numbers may be too many to count */
    uint32_t at;
    _cleanup_close_ int fd = -1;
    int r = 0;

    if (!account_name_valid(name))
        return edl_error_set(error, -EINVAL, "'%.255s' cannot be a user's name", name);
    at = user_number_first(range, name);
    (void)mkdir(folder, 0700);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd == -1)
        return edl_error_errno(error, -errno, "cannot open %s", folder);
    for (uint32_t i = 0; r == 0 && i <= size && i < TRIES_MAX; i++) {
        *ret = at;
        r = take(fd, at, name, error);
        at = at == range->last ? range->first : at + 1;
    }
    if (r != 0)
        return r < 0 ? r : check(*ret, name, error);
    (void)edl_error_set(error, -EACCES, "no number of %lu-%lu is left for %s",
                        (unsigned long)range->first, (unsigned long)range->last, name);
    (void)edl_error_remedy(error, "the node's owner may set a wider user-range in agent.conf");
    return -EACCES;
}
