/* SPDX-License-Identifier: Apache-2.0 */
/* account_policy.h - under which account a process of a root agent may run; pure
 *
 * The node's owner decides, and no order of the scheduler changes that. agent/machine/account.c
 * looks up the account on this machine. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;

#define ACCOUNT_SYSTEM_BELOW 1000 /* numbers below are the system's own (adduser.conf(5)) */

/* Numbers that nobody else has (agent/machine/user_number.h); both 0: none. */
struct user_range {
    uint32_t first, last;
};

struct account_policy {
    const char *const *users;  /* NULL-terminated; borrowed */
    const char *const *groups; /* the same; an account that is in one may run processes */
    const char *fallback;      /* for submitters without an account here; "": none */
    bool allow_root;           /* what names no account runs as root */
    struct user_range range;   /* without fallback: each of them has a number of its own in it */
    const char *const *maps;   /* NULL-terminated, or NULL; borrowed: "NAME", "NAME=ACCOUNT", "*" */
};

#define ACCOUNT_EVERYBODY "*"
#define ACCOUNT_UID_UNKNOWN (-1) /* the scheduler's machine has no such account */

/* account_mapped - the account that the node's owner says somebody is; NULL: nothing is said */
const char *account_mapped(const struct account_policy *policy, const char *name);

/* account_check_number - -EEXIST with error and remedy where a name has another number here than on
 * the scheduler's machine: files, processes and folders of that number are another person's */
int account_check_number(const char *name, int64_t wanted, uint32_t uid, struct edl_error *error);

/* account_candidates - the accounts to try, best first; the first that exists is the one
 * user: that the job names, or ""; submitter: who submitted it, or "". Returns how many there are:
 * 0 when nobody says. */
size_t account_candidates(const struct account_policy *policy, const char *user,
                          const char *submitter, const char *ret[static 2]);

/* account_is_numbered - whether somebody of whom no candidate exists gets a number of its own
 * wanted: the number that the scheduler's machine has for it: who has one gets no other */
bool account_is_numbered(const struct account_policy *policy, const char *user,
                         const char *submitter, int64_t wanted);

/* account_check - -EACCES with error and remedy unless processes may run as this account
 * is_in_group: it is in one of policy->groups */
int account_check(const struct account_policy *policy, const char *name, uint32_t uid,
                  bool is_in_group, struct edl_error *error);
