/* SPDX-License-Identifier: Apache-2.0 */
/* account_policy.c - see account_policy.h */
#include "agent/core/account_policy.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"

static bool lists(const char *const *names, const char *name)
{
    for (; *names != NULL; names++)
        if (streq(*names, name))
            return true;
    return false;
}

const char *account_mapped(const struct account_policy *policy, const char *name)
{
    size_t length = strlen(name);

    for (const char *const *map = policy->maps; map != NULL && *map != NULL; map++) {
        if (streq(*map, ACCOUNT_EVERYBODY) || streq(*map, name))
            return name;
        if (strncmp(*map, name, length) == 0 && (*map)[length] == '=')
            return *map + length + 1;
    }
    return NULL;
}

int account_check_number(const char *name, int64_t wanted, uint32_t uid, struct edl_error *error)
{
    if (wanted == ACCOUNT_UID_UNKNOWN || wanted == uid)
        return 0;
    (void)edl_error_set(error, -EEXIST,
                        "%.255s is number %" PRIu32 " here and %" PRId64
                        " on the scheduler's machine",
                        name, uid, wanted);
    (void)edl_error_remedy(error,
                           "its owner may give it the same number, or set map-user: %.255s in "
                           "agent.conf",
                           name);
    return -EEXIST;
}

size_t account_candidates(const struct account_policy *policy, const char *user,
                          const char *submitter, const char *ret[static 2])
{
    const char *const given[] = { submitter, policy->fallback };
    size_t n = 0;

    if (*user != '\0' || policy->allow_root) {
        ret[0] = *user != '\0' ? user : "root";
        return 1;
    }
    for (size_t i = 0; i < ELEMENTS(given); i++)
        if (*given[i] != '\0')
            ret[n++] = given[i];
    return n;
}

bool account_is_numbered(const struct account_policy *policy, const char *user,
                         const char *submitter, int64_t wanted)
{
    return wanted == ACCOUNT_UID_UNKNOWN && policy->range.last != 0 && *user == '\0' &&
           *submitter != '\0' && !policy->allow_root && *policy->fallback == '\0';
}

/* Accounts of programs, and those that stand for nobody, also in the 16 bits of old file systems */
static bool is_systems(uint32_t uid)
{
    return uid < ACCOUNT_SYSTEM_BELOW || uid == UINT16_MAX - 1 || uid == UINT16_MAX ||
           uid == UINT32_MAX;
}

int account_check(const struct account_policy *policy, const char *name, uint32_t uid,
                  bool is_in_group, struct edl_error *error)
{
    bool is_named = lists(policy->users, name) || streq(policy->fallback, name);

    if (is_named || (uid == 0 && policy->allow_root))
        return 0;
    if (is_systems(uid))
        (void)edl_error_set(error, -EACCES, "this node runs no process as %.255s: it is %s", name,
                            uid == 0 ? "root" : "an account of the system");
    else if ((*policy->users != NULL || *policy->groups != NULL) && !is_in_group)
        (void)edl_error_set(error, -EACCES,
                            "this node runs no process as %.255s: it is not one of those allowed",
                            name);
    else
        return 0;
    (void)edl_error_remedy(error, "its owner may allow it with allow-user in agent.conf");
    return -EACCES;
}
