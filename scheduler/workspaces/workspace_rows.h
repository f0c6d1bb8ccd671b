/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_rows.h - archives as rows of a database that several schedulers share; files of the
 * folder are copies of them then
 *
 *   upload   bytes go into the folder and the rows; then the row that names them; then the file
 *   fetch    rows become a file: when an archive is wanted that this folder lacks
 *   term     the rows say which archives there are; a file that no row has goes, unless a job needs
 *            it: then it is sent (the folder of the days with SQLite)
 *
 * A thread of its own has the connection (worker.h), so neither the loop nor the disk's thread
 * waits for the database. Each job is of the term in which it was started.
 *
 * Used by: workspaces.c, workspace_upload.c, api/workspaces.c. Tests:
 * tests/unit/test_store_workspaces.c, tests/integration/402-standby.sh. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "scheduler/store/store_workspaces.h"
#include "scheduler/worker.h"

struct edl_error;
struct engine;
struct workspace;
struct workspace_rows;
struct workspaces;

/* Where the connection comes from. */
struct workspace_source {
    int (*open)(const char *url, uint64_t term, struct engine **ret, struct edl_error *error);
    const char *url; /* borrowed */
};

int workspace_rows_new(sd_event *event, struct workspaces *workspaces,
                       const struct workspace_source *source, struct workspace_rows **ret,
                       struct edl_error *error);
/* workspace_rows_free - waits for the call that is under way; accepts NULL, returns NULL */
struct workspace_rows *workspace_rows_free(struct workspace_rows *rows);

uint64_t workspace_rows_term(const struct workspace_rows *rows);
struct worker *workspace_rows_worker(struct workspace_rows *rows);

/* workspace_rows_load - a term begins: the archives are those of the store, and no others have
 * `kept`. In the loop, before the store is far. workspace_rows_settle - `needed` is set: files
 * without rows are sent, or go */
int workspace_rows_load(struct workspace_rows *rows, struct store *store, uint64_t term,
                        uint64_t wall_us, struct edl_error *error);
void workspace_rows_settle(struct workspace_rows *rows);

/* workspace_rows_remove - an archive and its rows; workspace_rows_drop - bytes of an upload that
 * ended early. Beside the loop, in that term or never: the next one tidies up */
void workspace_rows_remove(struct workspace_rows *rows, const char *sha256);
void workspace_rows_drop(struct workspace_rows *rows, uint64_t term, const char *pieces);

/* workspace_rows_fetch - the file of an archive; fetched is called once, from the loop: error NULL:
 * it is there. Several may wait for one */
typedef void (*workspace_fetched_fn)(const struct edl_error *error, void *userdata);
void workspace_rows_fetch(struct workspace_rows *rows, const struct workspace *workspace,
                          workspace_fetched_fn fetched, void *userdata);

/* --- in the thread --- */

/* Bytes on their way into the database. */
struct workspace_pieces {
    char name[WORKSPACE_PIECES_SIZE];
    uint64_t n, bytes; /* that are there */
};

/* workspace_rows_send - of a file up to `bytes`: whole pieces only, or all */
int workspace_rows_send(struct workspace_rows *rows, uint64_t term, struct workspace_pieces *pieces,
                        int fd, uint64_t bytes, bool all, struct edl_error *error);
int workspace_rows_name(struct workspace_rows *rows, uint64_t term, const char *pieces,
                        const struct stored_workspace *row, struct edl_error *error);
int workspace_rows_own(struct workspace_rows *rows, uint64_t term, const char *sha256,
                       const char *owners, struct edl_error *error);
