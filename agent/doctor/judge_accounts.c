/* SPDX-License-Identifier: Apache-2.0 */
/* judge_accounts.c - agent.conf, and whom it lets run processes here */
#include "agent/doctor/facts.h"
#include "shared/macro.h"

static void judge_one(const struct named_account *account, struct findings *ret)
{
    const char *what = account->is_default ? "default-user"
                       : account->is_group ? "allow-group"
                                           : "allow-user";

    if (!account->exists && account->is_default) {
        found_problem(ret, "accounts", "default-user: there is no account %s", account->name);
        found_remedy(ret, "adduser --system --group %s; or name another one in agent.conf",
                     account->name);
    } else if (!account->exists) {
        found_warning(ret, "accounts", "%s: there is no %s %s", what,
                      account->is_group ? "group" : "account", account->name);
        found_remedy(ret, "getent %s %s; correct it in agent.conf",
                     account->is_group ? "group" : "passwd", account->name);
    } else if (!account->is_group && account->uid == 0) {
        found_warning(ret, "accounts", "%s: %s is root: jobs own this machine", what,
                      account->name);
        found_remedy(ret, "name an account that is not root in agent.conf");
    } else if (account->is_default) {
        found_warning(ret, "accounts", "default-user: everybody without an account here is %s",
                      account->name);
        found_remedy(ret, "user-range: 2010000000-2099999999 in agent.conf instead: a number each");
    }
}

static void judge_policy(const struct account_facts *facts, struct findings *ret)
{
    size_t allowed = 0;
    size_t before = ret->n;

    for (size_t i = 0; i < facts->n_named; i++) {
        judge_one(&facts->named[i], ret);
        allowed += !facts->named[i].is_default;
    }
    if (facts->allow_root) {
        found_warning(ret, "accounts", "allow-root: jobs that name no user run as root");
        found_remedy(ret,
                     "take allow-root out of agent.conf; user-range gives each person a number");
    }
    if (ret->n > before)
        return;
    if (allowed > 0)
        found_ok(ret, "accounts", "%zu user%s or group%s may run processes", allowed,
                 PLURAL(allowed), PLURAL(allowed));
    else
        found_ok(ret, "accounts", "all but root and those of the system may run processes");
}

void judge_accounts(const struct doctor_facts *all, struct findings *ret)
{
    const struct account_facts *facts = &all->accounts;

    if (facts->conf_fault.code != 0) {
        found_problem(ret, "agent.conf", "%s", facts->conf_fault.text);
        found_remedy(ret, "%s",
                     facts->conf_fault.remedy[0] != '\0' ? facts->conf_fault.remedy
                                                         : "man edl-agent, CONFIGURATION");
        return;
    }
    found_ok(ret, "agent.conf", "is understood");
    if (facts->root)
        judge_policy(facts, ret);
    else
        found_ok(ret, "accounts", "an agent of %s runs every process as %s", facts->self,
                 facts->self);
}
