/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_send.h - a folder of this machine as a workspace that every node can fetch
 *
 * Packed by edl-workspace, which lies beside this program, and sent unless the scheduler has it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/workspace_id.h"

struct server;

struct workspace_sent {
    char name[WORKSPACE_NAME_MAX + 1]; /* sha256: and 64 digits */
    uint64_t archive_bytes;            /* packed */
    uint64_t files, bytes;             /* that it holds */
    uint64_t left_out_files, left_out_bytes;
};

#define WORKSPACE_WANTED_MAX 2

/* workspace_send_all - prints what is wrong. Returns enum status
 * wanted: paths that a job is about to start, of which a note tells when they are left out; those
 * that are NULL and all behind them are none */
int workspace_send_all(struct server *server, const char *folder,
                       const char *const wanted[WORKSPACE_WANTED_MAX], struct workspace_sent *ret);

/* workspace_send_unasked - the same of a folder that nobody has named: a large one is refused */
#define WORKSPACE_UNASKED_BYTES_MAX (UINT64_C(1) << 30)
#define WORKSPACE_UNASKED_ENTRIES_MAX 20000
int workspace_send_unasked(struct server *server, const char *folder,
                           const char *const wanted[WORKSPACE_WANTED_MAX],
                           struct workspace_sent *ret);

/* workspace_send - the same, without paths that are wanted; ret: sha256: and 64 digits */
int workspace_send(struct server *server, const char *folder, char ret[WORKSPACE_NAME_MAX + 1]);

/* workspace_list - prints what would be sent, and what is left out and why; sends nothing */
int workspace_list(const char *folder, bool json);
