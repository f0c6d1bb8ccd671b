/* SPDX-License-Identifier: Apache-2.0 */
/* pserver_saves.c - a parameter server's checkpoints: when they are written, and read at the start
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "trainer/server/checkpoint.h"
#include "trainer/server/pserver_internal.h"
#include "trainer/exchange/table.h"

static void checkpoint_done(struct pserver *server, bool ok)
{
    server->child = 0;
    server->child_source = sd_event_source_disable_unref(server->child_source);
    if (ok) {
        server->saved_updates = server->saving_updates;
        return;
    }
    log_error("the checkpoint %s could not be written; trying again later",
              server->checkpoint_path);
    if (one_writer_holds(&server->writer)) /* a child that was killed has left its file */
        checkpoint_sweep(server->checkpoint_path);
}

static int on_child(sd_event_source *source, const siginfo_t *info, void *userdata)
{
    (void)source;
    checkpoint_done(userdata, info->si_code == CLD_EXITED && info->si_status == 0);
    return 0;
}

static bool checkpoint_due(const struct pserver *server)
{
    return server->checkpoint_path != NULL && server->table != NULL &&
           !table_awaits_values(server->table) &&
           table_updates(server->table) != server->saved_updates;
}

static int claim(struct pserver *server, struct edl_error *error)
{
    return checkpoint_claim(&server->writer, &server->config, error);
}

/* The child has the table as it is at this moment (copy on write) and does nothing but write it. */
static void checkpoint_start(struct pserver *server)
{
    struct edl_error error = { 0 };
    pid_t child;
    int r = claim(server, &error);

    if (r < 0) {
        (void)log_failure(&error, "no checkpoint is written");
        return;
    }
    child = fork();
    if (child < 0) {
        log_error("cannot fork for a checkpoint: %s", strerror(errno));
        return;
    }
    if (child == 0) {
        /* The connections are not the child's: if the server dies now, its peers must notice at
         * once. */
        (void)close_range(3, UINT_MAX, 0);
        r = checkpoint_write(server->checkpoint_path, server->config.job_id, server->table, NULL,
                             &server->writer, &error);
        if (r < 0)
            (void)log_failure(&error, "checkpoint");
        _exit(r < 0 ? 1 : 0);
    }
    server->child = child;
    server->saving_updates = table_updates(server->table);
    r = sd_event_add_child(server->event, &server->child_source, child, WEXITED, on_child, server);
    if (r < 0)
        log_error("cannot watch the checkpoint's child: %s", strerror(-r));
}

int pserver_checkpoint_now(struct pserver *server, struct edl_error *error)
{
    int status, r;

    if (server->child > 0) {
        server->child_source = sd_event_source_disable_unref(server->child_source);
        while ((r = waitpid(server->child, &status, 0)) < 0 && errno == EINTR)
            ;
        checkpoint_done(server, r > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    if (!checkpoint_due(server))
        return 0;
    r = claim(server, error);
    if (r >= 0)
        r = checkpoint_write(server->checkpoint_path, server->config.job_id, server->table, NULL,
                             &server->writer, error);
    if (r >= 0)
        server->saved_updates = table_updates(server->table);
    return r;
}

int pserver_on_checkpoint_due(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct pserver *server = userdata;

    (void)time_us;
    if (server->child == 0 && checkpoint_due(server))
        checkpoint_start(server);
    (void)sd_event_source_set_time_relative(source, server->config.checkpoint_period_us);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* Another server that writes there is found now, not after hours; a full disk may have room by then
 */
int pserver_load(struct pserver *server, struct edl_error *error)
{
    int r = claim(server, error);

    if (r == -EBUSY)
        return r;
    if (r < 0)
        (void)log_failure(error, "checkpoint");
    r = checkpoint_read(server->checkpoint_path, server->config.job_id, server->config.index,
                        &server->table, NULL, error);
    if (r == -ENOENT)
        return 0;
    if (r < 0) {
        (void)edl_error_remedy(error, "remove or replace the file to start without it");
        return r;
    }
    server->saved_updates = table_updates(server->table);
    log_info("restored %zu parameter%s after %" PRIu64 " update%s from %s",
             table_shape(server->table)->total_values,
             PLURAL(table_shape(server->table)->total_values), server->saved_updates,
             PLURAL(server->saved_updates), server->checkpoint_path);
    return 0;
}
