/* SPDX-License-Identifier: Apache-2.0 */
/* judge_reach.c - the scheduler: how far a call to it gets, and whether it knows this node */
#include "agent/doctor/facts.h"

#include <stdio.h>

#include "shared/http_probe.h"
#include "shared/macro.h"

#define REMEDY_JOIN                                                                                \
    "on the scheduler's host: edl node add NAME; then run here the line that it prints"

/* true: it is of no use to go on */
static bool judge_membership(const struct reach_facts *facts, struct findings *ret)
{
    if (facts->member_fault.code != 0) {
        found_problem(ret, "membership", "%s", facts->member_fault.text);
        found_remedy(ret, "%s", facts->member_fault.remedy);
        return true;
    }
    if (facts->joined) {
        found_ok(ret, "membership", "joined as %s", facts->node);
    } else {
        found_warning(ret, "membership", "this machine has not joined a cluster");
        found_remedy(ret, REMEDY_JOIN);
    }
    return facts->server[0] == '\0';
}

static bool judge_authority(const struct reach_facts *facts, struct findings *ret)
{
    if (!facts->tls)
        return false;
    if (facts->ca_path[0] != '\0' && facts->ca_fault.code == 0) {
        found_ok(ret, "authority", "%s, pin %s", facts->ca_path, facts->pin);
        return false;
    }
    found_problem(ret, "authority", "%s",
                  facts->ca_path[0] != '\0' ? facts->ca_fault.text
                                            : "nothing says which scheduler is the true one");
    found_remedy(ret, "copy ca.pem of the scheduler's state directory here, and give it with --ca;"
                      " or join anew");
    return facts->ca_path[0] != '\0';
}

/* The steps that were got through, then the one that was not. */
static void judge_steps(const struct reach_facts *facts, struct findings *ret)
{
    static const struct {
        const char *check, *good, *bad, *remedy;
    } steps[] = {
        [HTTP_STAGE_NAME] = { "scheduler's name", "is found", "is not found",
                              "getent hosts NAME; correct /etc/hosts or /etc/resolv.conf, or give"
                              " its address: edl-agent --scheduler URL" },
        [HTTP_STAGE_CONNECTION] = { "connection", "is accepted", "is not accepted",
                                    "is it running? systemctl status edl-scheduler on its host; "
                                    "does"
                                    " a firewall keep its port closed?" },
        [HTTP_STAGE_TLS] = { "tls", "its certificate is good", "fails",
                             "compare the pin with that of: edl node add; if the scheduler is"
                             " another one now, remove the state folder and join anew" },
        [HTTP_STAGE_ANSWER] = { "answer", "came", "did not come",
                                "journalctl -u edl-scheduler, on its host" },
    };

    for (int stage = HTTP_STAGE_NAME; stage < (int)ELEMENTS(steps); stage++) {
        if (stage == HTTP_STAGE_TLS && !facts->tls)
            continue;
        if (stage < facts->stage) {
            found_ok(ret, steps[stage].check, "%s%s%s", steps[stage].good,
                     stage == HTTP_STAGE_CONNECTION && facts->peer[0] != '\0' ? " by " : "",
                     stage == HTTP_STAGE_CONNECTION ? facts->peer : "");
            continue;
        }
        found_problem(ret, steps[stage].check, "%s: %s", steps[stage].bad, facts->text);
        found_remedy(ret, "%s",
                     facts->remedy[0] != '\0' && stage != HTTP_STAGE_TLS ? facts->remedy
                                                                         : steps[stage].remedy);
        return;
    }
}

/* version_of - "0.3.1" to 0 and 3 */
static bool version_of(const char *text, unsigned *ret_major, unsigned *ret_minor)
{
    return sscanf(text, "%5u.%5u", ret_major, ret_minor) == 2;
}

static void judge_version(const struct reach_facts *facts, struct findings *ret)
{
    unsigned major, minor, our_major, our_minor;

    if (facts->status != 200 || !version_of(facts->version, &major, &minor) ||
        !version_of(EDL_VERSION, &our_major, &our_minor)) {
        found_problem(ret, "version", "%s answers (%u), but not as a scheduler does", facts->server,
                      facts->status);
        found_remedy(ret, "is this its address and port? look at: edl node add, on its host");
        return;
    }
    if (major == our_major &&
        (minor == our_minor || minor + 1 == our_minor || minor == our_minor + 1)) {
        found_ok(ret, "version", "scheduler %s, this node %s", facts->version, EDL_VERSION);
        return;
    }
    found_problem(ret, "version", "scheduler %s and node %s are more than one version apart",
                  facts->version, EDL_VERSION);
    found_remedy(ret, "upgrade the older one, first the scheduler: apt-get install edl");
}

/* true: it looked at no credential */
static bool judge_store(const struct reach_facts *facts, struct findings *ret)
{
    if (facts->unstored_text[0] == '\0')
        return false;
    found_problem(ret, "scheduler's store", "%s", facts->unstored_text);
    found_remedy(ret, "%s",
                 facts->unstored_remedy[0] != '\0' ? facts->unstored_remedy
                                                   : "journalctl -u edl-scheduler, on its host");
    return facts->orders_status == 503;
}

static void judge_credential(const struct reach_facts *facts, struct findings *ret)
{
    if (facts->orders_status == 0)
        return;
    if (facts->orders_status == 200 || facts->orders_status == 503) {
        found_ok(ret, "credential", "the scheduler knows it%s",
                 facts->orders_status == 503 ? "; the agent has not reported yet" : "");
        return;
    }
    found_problem(ret, "credential", "the scheduler refuses it (%u): %s", facts->orders_status,
                  facts->orders_text);
    found_remedy(ret,
                 "on the scheduler's host: edl node add %s; remove the file credential of the"
                 " state folder; then run here the line that was printed",
                 facts->node);
}

void judge_reach(const struct doctor_facts *all, struct findings *ret)
{
    const struct reach_facts *facts = &all->reach;

    if (judge_membership(facts, ret) || judge_authority(facts, ret))
        return;
    judge_steps(facts, ret);
    if (facts->stage != HTTP_STAGE_DONE)
        return;
    judge_version(facts, ret);
    if (!judge_store(facts, ret))
        judge_credential(facts, ret);
}
