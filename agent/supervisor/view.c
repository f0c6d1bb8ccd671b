/* SPDX-License-Identifier: Apache-2.0 */
/* view.c - what a program sees of its machine (see view.h) */
#include "agent/supervisor/view.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/core/process_id.h"
#include "agent/supervisor/notify.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/log.h"
#include "shared/macro.h"

/* view_choose_hidden - by a service manager it is hidden from us already (unit_plan.c). What the
 * node's owner put there is seen; a job that is given a workspace there does not get to see the
 * rest. */
void view_choose_hidden(const json_t *order, struct child_spec *spec,
                        const char *hidden[HIDDEN_MAX + 1])
{
    const json_t *env = json_object_get(order, "env");
    const char *in_use[] = { json_text(env, "EDL_SOCKET"), json_text(env, "EDL_OUTPUT_DIR"),
                             json_text(order, "log_path"), NULL };

    hidden_paths(in_use, json_text(order, "scheduler_socket"), hidden);
    if (!notify_wanted())
        spec->hidden = hidden;
}

static bool is_in_shm(const char *path)
{
    return strncmp(path, JOB_SHM_BASE "/", strlen(JOB_SHM_BASE "/")) == 0;
}

/* view_choose_shm - a /dev/shm of its job's own, unless something that it has to see is in the
 * machine's. An agent that is not root cannot, and a machine may have none: then it has the
 * machine's. */
void view_choose_shm(const json_t *order, const char *path, const char *key,
                     struct child_spec *spec, const struct account *account, struct job_shm *ret)
{
    const json_t *env = json_object_get(order, "env");
    const char *in_use[] = { path, json_text(env, "EDL_SOCKET"), json_text(env, "EDL_OUTPUT_DIR"),
                             json_text(order, "log_path"), json_text(order, "workspace") };
    bool other = spec->account != NULL;
    _cleanup_free_ char *folder = xstrdup(path); /* of all processes of this agent */
    struct edl_error error = { 0 };
    struct process_id id;

    for (size_t i = 0; i < ELEMENTS(in_use); i++)
        if (is_in_shm(in_use[i]))
            return;
    if (geteuid() != 0 || process_id_parse(key, &id) < 0 || key == path)
        return;
    folder[key - path] = '\0';
    if (job_shm_enter(JOB_SHM_BASE, folder, id.job_id, other ? account->uid : 0,
                      other ? account->gid : 0, ret, &error) < 0)
        (void)log_failure(&error, "it has the machine's " JOB_SHM_BASE);
    else
        spec->shm = ret->path;
}
