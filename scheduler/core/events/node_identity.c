/* SPDX-License-Identifier: Apache-2.0 */
/* node_identity.c - whether who reports as a node is that node: boots, and copies of machines
 *
 * A machine that was made as a copy of another one has its /etc/machine-id, and one that was copied
 * after it had joined has its name and credential as well. The first is seen from the boot: several
 * agents on one machine run in the same one, two machines never do. The second is seen when a boot
 * that was over reports again. The identities that agents tell of their machines are not stored:
 * after a restart of the scheduler it is known again with the first reports, which are checked for
 * that reason. */
#include "scheduler/core/events/node_identity.h"

#include <errno.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/machines.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/reports.h"
#include "scheduler/core/model/states.h"
#include "shared/error.h"
#include "shared/macro.h"

/* cluster_note_machine - on which machine a node joins, before its first report says so; NULL, "":
 * not told */
void cluster_note_machine(struct cluster *cluster, struct node *node, const char *machine_id)
{
    node_take_machine(cluster, node, machine_id);
}

/* node_awaits_first_report - it joined from that very machine (in this run), and never reported */
bool node_awaits_first_report(const struct node *node, const char *machine_id)
{
    return !node->ever_reported && node->machine != NULL && machine_id != NULL &&
           streq(node->machine->id, machine_id);
}

/* cluster_check_machine - see node_identity.h; linear in the nodes on the same machine */
int cluster_check_machine(const struct cluster *cluster, const char *name, const char *machine_id,
                          const char *boot_id, struct edl_error *error)
{
    const struct machine_nodes *machine = cluster_machine(cluster, machine_id);
    const struct node *other;

    if (machine == NULL || boot_id == NULL || *boot_id == '\0')
        return 0;
    DL_FOREACH2(machine->nodes, other, machine_next)
    if (other->heard && other->state != NODE_LOST && !streq(other->name, name) &&
        !streq(other->boot_id, boot_id))
        break;
    if (other == NULL)
        return 0;
    (void)edl_error_at(error, -EEXIST, "/machine_id",
                       "node %s at %s has the same /etc/machine-id: one of the two machines is a "
                       "copy of the other",
                       other->name, other->offer.address);
    (void)edl_error_remedy(error,
                           "on the copy: rm /etc/machine-id; systemd-machine-id-setup; reboot, and "
                           "join again; if it is %.63s under a new name: edl node remove %.63s",
                           other->name, other->name);
    return -EEXIST;
}

/* ---- boots ---- */

static int refuse_twin(const struct node *node, struct edl_error *error)
{
    (void)edl_error_set(error, -EEXIST,
                        "two machines report as node %s: one is a copy of the other, made after it "
                        "had joined",
                        node->name);
    (void)edl_error_remedy(error,
                           "on the copy stop edl-agent, remove its state folder and "
                           "/etc/machine-id; systemd-machine-id-setup; reboot, and join it with "
                           "the line of: edl node add");
    return -EEXIST;
}

/* A report that the agent gave up long ago may be delivered all the same. A process that it does
 * not list would be taken for gone, though it was started since; and one of a boot before would
 * look like one more start of the machine. Within a boot the node's clock tells which report is
 * newer. Between two boots nothing does, and a scheduler that was started again has forgotten what
 * it was told: then a report has to repeat what the answer to it said, and answers reach the living
 * only. */
int node_admit(struct cluster *cluster, struct node *node, const struct node_report *report,
               struct edl_error *error)
{
    char boot_id[sizeof node->boot_id];
    bool same_boot;

    (void)snprintf(boot_id, sizeof boot_id, "%s", report->boot_id != NULL ? report->boot_id : "");
    same_boot = streq(boot_id, node->boot_id);
    if (report->sent_us == 0)
        return 0;
    if (*node->boot_id == '\0' || (same_boot && node->report_sent_us != 0)) {
        if (same_boot && report->sent_us < node->report_sent_us)
            return edl_error_set(error, EDL_ESTALE, "a newer report has overtaken this one");
    } else if (node->session == 0 || report->session != node->session ||
               !streq(boot_id, node->session_boot)) {
        node->session = ++cluster->sessions;
        memcpy(node->session_boot, boot_id, sizeof boot_id);
        return edl_error_set(error, EDL_ESTALE,
                             "the node or the scheduler was started again: report once more with "
                             "this session");
    } else if (streq(boot_id, node->former_boot_id)) {
        return refuse_twin(node, error);
    } else {
        node->session = 0;
    }
    node->report_sent_us = report->sent_us;
    return 0;
}

static bool take_boot_id(struct cluster *cluster, struct node *node, const char *boot_id)
{
    char id[sizeof node->boot_id] = { 0 };
    bool again;

    (void)snprintf(id, sizeof id, "%s", boot_id != NULL ? boot_id : "");
    if (streq(id, node->boot_id))
        return false;
    again = *node->boot_id != '\0';
    if (again)
        fact_machine_changed(cluster, node);
    memcpy(node->former_boot_id, node->boot_id, sizeof id);
    memcpy(node->boot_id, id, sizeof id);
    effect_save_node(cluster, node);
    return again;
}

bool node_take_identity(struct cluster *cluster, struct node *node,
                        const struct node_report *report)
{
    node_take_machine(cluster, node, report->machine_id);
    return take_boot_id(cluster, node, report->boot_id);
}
