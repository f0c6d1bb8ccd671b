/* SPDX-License-Identifier: Apache-2.0 */
/* account.c - see account.h */
#include "agent/machine/account.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/account_policy.h"
#include "agent/machine/user_number.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/macro.h"

#define GROUPS_MAX 65536 /* NGROUPS_MAX of Linux */

static uint32_t number_of(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 && value <= INT32_MAX ? (uint32_t)value : 0;
}

/* names_of - NULL-terminated, to be freed; the names are the array's */
static const char **names_of(const json_t *object, const char *key)
{
    const json_t *array = json_object_get(object, key);
    const char **names = xcalloc(json_array_size(array) + 1, sizeof *names);
    size_t i, n = 0;
    json_t *name;

    json_array_foreach(array, i, name) if (json_is_string(name)) names[n++] =
        json_string_value(name);
    return names;
}

/* take - what is to be known of it */
static int take(struct account *account, const struct passwd *entry, struct edl_error *error)
{
    int n = 32;

    account->name = xstrdup(entry->pw_name);
    account->home = xstrdup(entry->pw_dir);
    account->shell = xstrdup(entry->pw_shell);
    account->uid = entry->pw_uid;
    account->gid = entry->pw_gid;
    do { /* n: room for so many, then how many there are */
        free(account->groups);
        account->groups = xcalloc((size_t)n, sizeof *account->groups);
        account->n_groups = n;
    } while (getgrouplist(account->name, account->gid, account->groups, &n) == -1 &&
             n > account->n_groups && n <= GROUPS_MAX);
    if (n > account->n_groups)
        return edl_error_set(error, -E2BIG, "%.255s is in too many groups", account->name);
    account->n_groups = n;
    return 0;
}

/* look_up - 1: found; 0: there is none of that name */
static int look_up(const char *name, struct account *account, struct edl_error *error)
{
    const struct passwd *entry;
    int r;

    errno = 0;
    entry = getpwnam(name);
    if (entry == NULL && errno != 0 && errno != ENOENT && errno != ESRCH)
        return edl_error_errno(error, -errno, "cannot look up the account %.255s", name);
    if (entry == NULL)
        return 0;
    r = take(account, entry, error);
    return r < 0 ? r : 1;
}

static bool is_in_one(const struct account *account, const char *const *groups)
{
    for (; *groups != NULL; groups++) {
        const struct group *group = getgrnam(*groups);

        for (int i = 0; group != NULL && i < account->n_groups; i++)
            if (account->groups[i] == group->gr_gid)
                return true;
    }
    return false;
}

/* number_wanted - that the person has on the scheduler's machine */
static int64_t number_wanted(const json_t *wanted)
{
    const json_t *uid = json_object_get(wanted, "uid");
    json_int_t value = json_integer_value(uid);

    return json_is_integer(uid) && value >= 0 && value < UINT32_MAX ? value : ACCOUNT_UID_UNKNOWN;
}

static int refuse_unknown(const char *user, const char *submitter, int64_t number,
                          struct edl_error *error)
{
    if (*user == '\0' && *submitter == '\0')
        (void)edl_error_set(error, -ENOENT, "nobody says as whom it is to run here");
    else
        (void)edl_error_set(error, -ENOENT, "there is no account %.255s on this node",
                            *user != '\0' ? user : submitter);
    if (number != ACCOUNT_UID_UNKNOWN)
        (void)edl_error_remedy(error,
                               "the node's owner may create it with number %lld, or set map-user "
                               "in agent.conf",
                               (long long)number);
    else
        (void)edl_error_remedy(error, "give the job a user that is there; the node's owner may set "
                                      "user-range in agent.conf");
    return -ENOENT;
}

/* give_number - 1: somebody without an account here, with a number of his own; 0: not so here */
static int give_number(const json_t *wanted, const struct account_policy *policy, int64_t number,
                       struct account *account, struct edl_error *error)
{
    const char *submitter = json_text(wanted, "submitter");
    int r;

    if (!account_is_numbered(policy, json_text(wanted, "user"), submitter, number))
        return 0;
    r = user_number_find(json_text(wanted, "users_dir"), &policy->range, submitter, &account->uid,
                         error);
    if (r < 0)
        return r;
    account->name = xstrdup(submitter);
    account->home = xstrdup("/nonexistent");
    account->shell = xstrdup("/bin/sh");
    account->gid = account->uid;
    account->groups = xcalloc(1, sizeof *account->groups);
    account->groups[0] = account->gid;
    account->n_groups = 1;
    account->is_other = true;
    return 1;
}

/* look_up_person - who has another number here is somebody else, unless the owner maps it. What is
 * there for people without an account (default-user, allow-root) is the owner's own word. */
static int look_up_person(const char *name, const char *person, int64_t number,
                          struct account *account, struct edl_error *error)
{
    int r = look_up(name, account, error);

    if (r > 0 && streq(name, person) && account_check_number(name, number, account->uid, error) < 0)
        return -EEXIST;
    return r;
}

static int resolve_as_root(const json_t *wanted, const struct account_policy *policy,
                           struct account *ret, struct edl_error *error)
{
    const char *user = json_text(wanted, "user"), *submitter = json_text(wanted, "submitter");
    const char *person = *user != '\0' ? user : submitter;
    const char *mapped = account_mapped(policy, person);
    int64_t number = mapped == NULL ? number_wanted(wanted) : ACCOUNT_UID_UNKNOWN;
    const char *names[2];
    size_t n = account_candidates(policy, mapped != NULL && *user != '\0' ? mapped : user,
                                  mapped != NULL && *user == '\0' ? mapped : submitter, names);
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = look_up_person(names[i], person, number, ret, error);
    if (r == 0) {
        r = give_number(wanted, policy, number, ret, error);
        if (r != 0)
            return MIN_OF(r, 0);
        r = refuse_unknown(user, submitter, number, error);
    }
    if (r > 0)
        r = account_check(policy, ret->name, ret->uid, is_in_one(ret, policy->groups), error);
    ret->is_other = r == 0 && ret->uid != 0;
    return r;
}

/* Whoever is not root can be nobody else. */
static int resolve_own(const json_t *wanted, struct account *ret, struct edl_error *error)
{
    const struct passwd *entry = getpwuid(geteuid());
    const char *user = json_text(wanted, "user");
    int r = entry != NULL ? take(ret, entry, error) : 0;

    if (entry == NULL) {
        ret->name = xstrdup("nobody");
        ret->home = xstrdup("/");
        ret->shell = xstrdup("/bin/sh");
    }
    if (r < 0 || *user == '\0' || streq(user, ret->name))
        return r;
    (void)edl_error_set(error, -EACCES,
                        "this node's agent runs as %.255s and can run no process as %.255s",
                        ret->name, user);
    (void)edl_error_remedy(error, "leave user out, or let edl-agent run as root there");
    return -EACCES;
}

int account_resolve(const json_t *wanted, struct account *ret, struct edl_error *error)
{
    _cleanup_free_ const char **users = names_of(wanted, "allow_users");
    _cleanup_free_ const char **groups = names_of(wanted, "allow_groups");
    _cleanup_free_ const char **maps = names_of(wanted, "map_users");
    const struct account_policy policy = {
        .users = users,
        .groups = groups,
        .fallback = json_text(wanted, "default_user"),
        .range = { number_of(wanted, "user_first"), number_of(wanted, "user_last") },
        .allow_root = json_is_true(json_object_get(wanted, "allow_root")),
        .maps = maps,
    };

    *ret = (struct account){ 0 };
    return geteuid() == 0 ? resolve_as_root(wanted, &policy, ret, error)
                          : resolve_own(wanted, ret, error);
}

void account_prepare(void)
{
    struct edl_error error = { 0 };
    struct account account = { 0 };

    (void)look_up("root", &account, &error);
    account_done(&account);
}

enum unfit account_unfit(int code)
{
    switch (code) {
    case -ENOENT:
        return UNFIT_NO_ACCOUNT;
    case -EACCES:
        return UNFIT_ACCOUNT_REFUSED;
    case -EEXIST:
        return UNFIT_ACCOUNT_DIFFERS;
    default:
        return UNFIT_NOT;
    }
}

void account_done(struct account *account)
{
    free(account->name);
    free(account->home);
    free(account->shell);
    free(account->groups);
    *account = (struct account){ 0 };
}

int account_give(const struct account *account, const char *path, struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    struct stat st;

    if (!account->is_other)
        return 0;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd == -1 || fstat(fd, &st) == -1)
        return edl_error_errno(error, -errno, "cannot open the folder %s", path);
    if (st.st_uid == account->uid)
        return 0;
    if (st.st_uid != geteuid()) {
        (void)edl_error_set(error, -EPERM, "the folder %.160s is not %.255s's but of account %lu",
                            path, account->name, (unsigned long)st.st_uid);
        (void)edl_error_remedy(error, "its owner may move it away");
        return -EPERM;
    }
    /* made in a folder that hands its group on: it stays that group's */
    if (fchown(fd, account->uid, (st.st_mode & S_ISGID) != 0 ? (gid_t)-1 : account->gid) == -1)
        return edl_error_errno(error, -errno, "cannot give the folder %s to %s", path,
                               account->name);
    return 0;
}

/* is_for_good - nothing of what we were can be had back */
static bool is_for_good(const struct account *account)
{
    uid_t uid[3];
    gid_t gid[3];

    if (getresuid(&uid[0], &uid[1], &uid[2]) == -1 || getresgid(&gid[0], &gid[1], &gid[2]) == -1)
        return false;
    for (size_t i = 0; i < ELEMENTS(uid); i++)
        if (uid[i] != account->uid || gid[i] != account->gid)
            return false;
    return setresuid((uid_t)-1, 0, (uid_t)-1) == -1 &&
           (account->gid == 0 || setresgid((gid_t)-1, 0, (gid_t)-1) == -1);
}

int account_become(const struct account *account)
{
    if (setgroups((size_t)account->n_groups, account->groups) == -1 ||
        setresgid(account->gid, account->gid, account->gid) == -1 ||
        setresuid(account->uid, account->uid, account->uid) == -1 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
        return -errno;
    return is_for_good(account) ? 0 : -EPERM;
}
