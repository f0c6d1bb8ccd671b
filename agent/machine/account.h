/* SPDX-License-Identifier: Apache-2.0 */
/* account.h - the account that a process runs as
 *
 * For supervisors: looking somebody up may take its time (a directory on another machine), which an
 * agent has not. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "shared/unfit.h"

struct edl_error;

struct account {
    char *name, *home, *shell; /* owned */
    uid_t uid;
    gid_t gid;
    gid_t *groups; /* owned; all that it is in */
    int n_groups;
    bool is_other; /* than ours: it has to be changed to */
};

/* account_resolve - from "account" of an order, checked against the node's policy in it
 * -EACCES: the policy does not allow it; -ENOENT: there is none; -EEXIST: it has another number
 * than on the scheduler's machine; each with error and remedy.
 * account_done in any case. */
int account_resolve(const json_t *wanted, struct account *ret, struct edl_error *error);
void account_done(struct account *account);

/* account_unfit - the result of account_resolve as the reason why this node cannot run a process */
enum unfit account_unfit(int code);

/* account_prepare - loads the services that names are looked up with (nsswitch.conf(5)), once for
 * all processes that are forked later: each of them would spend more on it than on all else */
void account_prepare(void);

/* account_give - a folder that was made for it, by path; one that is somebody else's is -EPERM
 * No link is followed at its end. Does nothing for our own account. */
int account_give(const struct account *account, const char *path, struct edl_error *error);

/* account_become - in the child: for good; 0 or -errno. Allocates nothing */
int account_become(const struct account *account);
