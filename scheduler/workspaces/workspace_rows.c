/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_rows.c - see workspace_rows.h */
#include "scheduler/workspaces/workspace_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/store/engine.h"
#include "scheduler/workspaces/workspace_rows_internal.h"
#include "scheduler/workspaces/workspaces_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

/* A change of the rows that nobody waits for. */
struct chore {
    struct worker_job job; /* first */
    struct workspace_rows *rows;
    uint64_t term;
    char name[WORKSPACE_HEX + 1]; /* of an archive, or of bytes */
    int (*act)(struct engine *engine, const char *name, struct edl_error *error);
    struct edl_error error;
};

/* A file that is sent because a job needs it. */
struct sending {
    struct worker_job job; /* first */
    struct workspace_rows *rows;
    uint64_t term;
    char sha256[WORKSPACE_HEX + 1], sender[WORKSPACE_SENDER_MAX + 1];
    char *owners; /* owned */
    uint64_t bytes;
    int fd; /* owned */
    struct workspace_pieces pieces;
    struct edl_error error;
};

int workspace_rows_new(sd_event *event, struct workspaces *workspaces,
                       const struct workspace_source *source, struct workspace_rows **ret,
                       struct edl_error *error)
{
    struct workspace_rows *rows = xcalloc(1, sizeof *rows);
    int r;

    rows->workspaces = workspaces;
    rows->source = *source;
    r = worker_new(event, "edl-archives", &rows->worker, error);
    if (r < 0) {
        free(rows);
        return r;
    }
    *ret = rows;
    return 0;
}

struct workspace_rows *workspace_rows_free(struct workspace_rows *rows)
{
    if (rows == NULL)
        return NULL;
    atomic_store(&rows->ends, true);
    rows->worker = worker_free(rows->worker);
    rows->engine = engine_close(rows->engine);
    free(rows);
    return NULL;
}

uint64_t workspace_rows_term(const struct workspace_rows *rows)
{
    return rows->term;
}

struct worker *workspace_rows_worker(struct workspace_rows *rows)
{
    return rows->worker;
}

/* ---- the thread ---- */

int workspace_rows_engine(struct workspace_rows *rows, uint64_t term, struct engine **ret,
                          struct edl_error *error)
{
    int r;

    if (atomic_load(&rows->ends))
        return edl_error_set(error, -EAGAIN, "the scheduler stops");
    if (rows->engine != NULL && rows->engine_term != term)
        rows->engine = engine_close(rows->engine);
    if (rows->engine == NULL) {
        r = rows->source.open(rows->source.url, term, &rows->engine, error);
        if (r < 0)
            return r;
        rows->engine_term = term;
    }
    *ret = rows->engine;
    return 0;
}

int workspace_rows_end_call(struct workspace_rows *rows, int r)
{
    if (r == -ENOTCONN)
        rows->engine = engine_close(rows->engine);
    return r;
}

static int read_piece(int fd, char *data, size_t size, uint64_t offset, struct edl_error *error)
{
    while (size > 0) {
        ssize_t n = pread(fd, data, size, (off_t)offset);

        if (n == -1 && errno == EINTR)
            continue;
        if (n <= 0)
            return edl_error_errno(error, n == 0 ? -EIO : -errno, "reading the archive");
        data += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

int workspace_rows_send(struct workspace_rows *rows, uint64_t term, struct workspace_pieces *pieces,
                        int fd, uint64_t bytes, bool all, struct edl_error *error)
{
    _cleanup_free_ char *data = xcalloc(WORKSPACE_PIECE_BYTES, 1);
    struct engine *engine;
    int r = 0;

    while (r == 0 && pieces->bytes < bytes) {
        size_t size = (size_t)MIN_OF(bytes - pieces->bytes, (uint64_t)WORKSPACE_PIECE_BYTES);

        if (size < WORKSPACE_PIECE_BYTES && !all)
            break;
        r = workspace_rows_engine(rows, term, &engine, error);
        if (r == 0)
            r = read_piece(fd, data, size, pieces->bytes, error);
        if (r == 0)
            r = store_workspace_put(engine, pieces->name, pieces->n, data, size, error);
        if (r == 0) {
            pieces->n++;
            pieces->bytes += size;
        }
    }
    return workspace_rows_end_call(rows, r);
}

int workspace_rows_name(struct workspace_rows *rows, uint64_t term, const char *pieces,
                        const struct stored_workspace *row, struct edl_error *error)
{
    struct engine *engine;
    int r = workspace_rows_engine(rows, term, &engine, error);

    if (r == 0)
        r = store_workspace_name(engine, pieces, row, error);
    return workspace_rows_end_call(rows, r);
}

int workspace_rows_own(struct workspace_rows *rows, uint64_t term, const char *sha256,
                       const char *owners, struct edl_error *error)
{
    struct engine *engine;
    int r = workspace_rows_engine(rows, term, &engine, error);

    if (r == 0)
        r = store_workspace_own(engine, sha256, owners, error);
    return workspace_rows_end_call(rows, r);
}

/* ---- chores ---- */

static void run_chore(struct worker_job *job)
{
    struct chore *chore = (struct chore *)job;
    struct engine *engine;
    int r = workspace_rows_engine(chore->rows, chore->term, &engine, &chore->error);

    if (r == 0)
        r = chore->act(engine, chore->name, &chore->error);
    (void)workspace_rows_end_call(chore->rows, r);
}

static void on_chore(struct worker_job *job)
{
    struct chore *chore = (struct chore *)job;

    if (chore->error.code != 0 && chore->error.code != -ESTALE)
        log_warning("rows of workspaces stay until the next term: %s", chore->error.text);
    free(chore);
}

static void start_chore(struct workspace_rows *rows, uint64_t term, const char *name,
                        int (*act)(struct engine *, const char *, struct edl_error *))
{
    struct chore *chore = xcalloc(1, sizeof *chore);

    chore->job = (struct worker_job){ .run = run_chore, .done = on_chore };
    chore->rows = rows;
    chore->term = term;
    chore->act = act;
    (void)snprintf(chore->name, sizeof chore->name, "%s", name);
    worker_start(rows->worker, &chore->job);
}

static int tidy(struct engine *engine, const char *name, struct edl_error *error)
{
    (void)name;
    return store_workspace_tidy(engine, error);
}

void workspace_rows_remove(struct workspace_rows *rows, const char *sha256)
{
    start_chore(rows, rows->term, sha256, store_workspace_remove);
}

void workspace_rows_drop(struct workspace_rows *rows, uint64_t term, const char *pieces)
{
    start_chore(rows, term, pieces, store_workspace_drop);
}

/* ---- a term begins ---- */

struct loading {
    struct workspaces *workspaces;
    uint64_t wall_us;
};

/* The bytes and the people of the row count; when it was last needed is not known: now. */
static void take_row(const struct stored_workspace *row, void *userdata)
{
    struct loading *loading = userdata;
    struct workspaces *workspaces = loading->workspaces;
    struct workspace *workspace = workspaces_find(workspaces, row->sha256);

    if (!workspace_hex_valid(row->sha256))
        return;
    if (workspace != NULL && !workspace->far && workspace->bytes != row->bytes) {
        (void)workspaces_unlink(workspaces, workspace->sha256);
        workspace->far = true;
    }
    if (workspace == NULL) {
        workspace = workspaces_insert(workspaces, row->sha256, row->bytes, loading->wall_us);
        workspace->far = true;
        workspaces->bytes += row->bytes;
    }
    workspaces->bytes += row->bytes - workspace->bytes;
    workspace->bytes = row->bytes;
    workspace->used_wall_us = loading->wall_us;
    workspace->kept = true;
    (void)snprintf(workspace->sender, sizeof workspace->sender, "%s", row->sender);
    free(workspace->owners);
    workspace->owners = xstrdup(row->owners);
}

int workspace_rows_load(struct workspace_rows *rows, struct store *store, uint64_t term,
                        uint64_t wall_us, struct edl_error *error)
{
    struct loading loading = { rows->workspaces, wall_us };

    for (struct workspace *at = rows->workspaces->all; at != NULL; at = at->hh.next)
        at->kept = false;
    rows->term = term;
    return store_workspaces_each(store, take_row, &loading, error);
}

static void run_sending(struct worker_job *job)
{
    struct sending *sending = (struct sending *)job;
    const struct stored_workspace row = { sending->sha256, sending->sender, sending->owners,
                                          sending->bytes };
    int r = workspace_rows_send(sending->rows, sending->term, &sending->pieces, sending->fd,
                                sending->bytes, true, &sending->error);

    if (r == 0)
        (void)workspace_rows_name(sending->rows, sending->term, sending->pieces.name, &row,
                                  &sending->error);
}

static void on_sent(struct worker_job *job)
{
    struct sending *sending = (struct sending *)job;
    struct workspace *workspace = workspaces_find(sending->rows->workspaces, sending->sha256);

    if (sending->error.code != 0)
        log_warning("workspace %s is not in the database: %s", sending->sha256,
                    sending->error.text);
    else if (workspace != NULL)
        workspace->kept = true;
    else
        workspace_rows_remove(sending->rows, sending->sha256);
    (void)safe_close(sending->fd);
    free(sending->owners);
    free(sending);
}

static void send_file(struct workspace_rows *rows, const struct workspace *workspace)
{
    struct sending *sending;
    int fd = workspaces_file(rows->workspaces, workspace, NULL);

    if (fd < 0)
        return;
    sending = xcalloc(1, sizeof *sending);
    sending->job = (struct worker_job){ .run = run_sending, .done = on_sent };
    sending->rows = rows;
    sending->term = rows->term;
    sending->bytes = workspace->bytes;
    sending->fd = fd;
    sending->owners = xstrdup(workspace->owners != NULL ? workspace->owners : "");
    memcpy(sending->sha256, workspace->sha256, sizeof sending->sha256);
    memcpy(sending->sender, workspace->sender, sizeof sending->sender);
    workspace_rows_new_name(rows, sending->pieces.name);
    worker_start(rows->worker, &sending->job);
}

void workspace_rows_new_name(struct workspace_rows *rows, char ret[WORKSPACE_PIECES_SIZE])
{
    (void)snprintf(ret, WORKSPACE_PIECES_SIZE, "%" PRIu64 ".%" PRIu64, rows->term, rows->n_names++);
}

void workspace_rows_settle(struct workspace_rows *rows)
{
    struct workspace *workspace, *next;

    start_chore(rows, rows->term, "", tidy);
    HASH_ITER(hh, rows->workspaces->all, workspace, next)
    {
        if (workspace->kept || workspaces_is_stored_now(rows->workspaces, workspace->sha256))
            continue;
        if (workspace->needed && !workspace->far)
            send_file(rows, workspace);
        else
            workspaces_forget(rows->workspaces, workspace);
    }
}
