/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_move.h - archives of workspaces go with the state from one engine to the other
 *
 *   out   rows of the database become files of a folder, each with its sender and its owners
 *   in    files of a folder become rows, in the transaction in which all the other rows come
 *
 * An archive passes by the mebibyte, so memory is bounded. It counts as moved when its bytes were
 * read where they are now and have the digest that names them. One that has not where it came from
 * stays behind, and is told: its owner sends it again.
 *
 * These block. No scheduler uses the folder or the database. Used by: scheduler/migrate.c. Tests:
 * tests/integration/272-migrate-archives.sh. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct copy_place;
struct copy_wishes;
struct edl_error;

struct workspace_moved {
    uint64_t n, bytes; /* that are there now */
    char *damaged;     /* owned: digests of those that stayed behind, a line each; NULL: none */
    uint64_t n_damaged;
    bool without_people; /* the folder's file system keeps no sender and no owners */
};
void workspace_moved_done(struct workspace_moved *moved);

struct workspace_move {
    const char *folder;
    const struct copy_wishes *wishes; /* of them progress alone */
    struct workspace_moved moved;     /* the result */
};

/* workspace_move_check_room - for what the folder lacks; -ENOSPC, which says how much
 * workspace_move_out - files are on disk when it returns 0. Else those that it has made are gone */
int workspace_move_check_room(struct copy_place *from, struct workspace_move *move,
                              struct edl_error *error);
int workspace_move_out(struct copy_place *from, struct workspace_move *move,
                       struct edl_error *error);

/* workspace_move_in - behind the rows of a copy (copy.h, behind). The argument `what` is a
 * struct workspace_move. Rows of archives that were there go */
int workspace_move_in(struct copy_place *from, struct copy_place *to, void *what,
                      struct edl_error *error);
