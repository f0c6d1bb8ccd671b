/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_rows_internal.h - what workspace_rows.c and workspace_fetch.c share; the name of bytes
 * is for workspace_upload.c, too */
#pragma once

#include <stdatomic.h>

#include "scheduler/workspaces/workspace_rows.h"

struct workspace_fetch;

struct workspace_rows {
    struct workspaces *workspaces; /* borrowed */
    struct worker *worker;         /* owned */
    struct workspace_source source;
    struct engine *engine; /* owned; the thread's, as engine_term is: NULL: not open */
    uint64_t engine_term;
    uint64_t term;    /* of what is started */
    uint64_t n_names; /* of bytes, so far */
    atomic_bool ends;
    struct workspace_fetch *fetches; /* owned list */
};

/* workspace_rows_engine - the connection, of that term. workspace_rows_end_call - gives up one that
 * was lost; returns r. Both in the thread */
int workspace_rows_engine(struct workspace_rows *rows, uint64_t term, struct engine **ret,
                          struct edl_error *error);
int workspace_rows_end_call(struct workspace_rows *rows, int r);

/* workspace_rows_new_name - of bytes, unlike any other in the database */
void workspace_rows_new_name(struct workspace_rows *rows, char ret[WORKSPACE_PIECES_SIZE]);
