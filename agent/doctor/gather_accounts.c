/* SPDX-License-Identifier: Apache-2.0 */
/* gather_accounts.c - whom agent.conf names, and whether they are there */
#include "agent/doctor/gather.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/options.h"

static void add(struct account_facts *ret, const char *name, bool is_group, bool is_default)
{
    struct named_account *account = &ret->named[ret->n_named];
    const struct passwd *user;

    if (ret->n_named == NAMED_ACCOUNTS_MAX)
        return;
    ret->n_named++;
    *account = (struct named_account){ .is_group = is_group, .is_default = is_default };
    (void)snprintf(account->name, sizeof account->name, "%s", name);
    if (is_group) {
        account->exists = getgrnam(name) != NULL;
        return;
    }
    user = getpwnam(name);
    account->exists = user != NULL;
    account->uid = user != NULL ? user->pw_uid : UINT32_MAX;
}

void gather_accounts(const struct doctor_context *context, struct doctor_facts *all)
{
    const struct agent_options *options = context->options;
    struct account_facts *ret = &all->accounts;
    const struct passwd *self = getpwuid(geteuid());

    ret->root = geteuid() == 0;
    ret->allow_root = options->allow_root;
    if (self != NULL)
        (void)snprintf(ret->self, sizeof ret->self, "%s", self->pw_name);
    else
        (void)snprintf(ret->self, sizeof ret->self, "%u", (unsigned)geteuid());
    if (options->default_user != NULL)
        add(ret, options->default_user, false, true);
    for (size_t i = 0; i < options->allow_users.n; i++)
        add(ret, options->allow_users.list[i], false, false);
    for (size_t i = 0; i < options->allow_groups.n; i++)
        add(ret, options->allow_groups.list[i], true, false);
}
