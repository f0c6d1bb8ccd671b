/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_job.h - the files of one job, from its nodes to this machine
 *
 * Used by: cmd_fetch.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct server;

/* What was typed; all borrowed. */
struct fetch_wish {
    struct server *server;
    const char *pattern; /* "": what was written or changed */
    const char *role;    /* NULL: all */
    uint64_t index;      /* UINT64_MAX: all */
    bool list;           /* tell, and fetch nothing */
    bool replace;        /* also what edl fetch did not put there */
    bool named;          /* the folder was: it is meant, whatever is in it */
    bool json;
};

/* fetch_job - into the folder root, which is made; prints what was done, and failures; returns enum
 * status
 * member: its name where it is one of an array, which may have no file; else NULL. answers: its
 * answer for --json is appended there; NULL: printed. *ret_found: files and links are added */
int fetch_job(const struct fetch_wish *wish, const char *job, const char *root, const char *member,
              json_t *answers, uint64_t *ret_found);
