/* SPDX-License-Identifier: Apache-2.0 */
/* job_place.h - where the job of a command runs: a folder that is sent, one that nodes have, or
 * none
 *
 * Used by: cmd_submit.c, cmd_search.c. Tests: tests/integration/266-sent-folder.sh. */
#pragma once

#include <stdbool.h>

#include "client/workspace_send.h"

struct job_options;
struct option_words;
struct server;

/* The words of the command line. */
struct place_wish {
    const char *upload; /* the folder to send; NULL: none was named */
    bool no_upload;
};

/* What became of the folder of a command. */
struct job_placed {
    struct workspace_sent sent;
    const char *upload; /* the folder that was sent; NULL: none */
    bool everywhere;    /* each node that may run the job has the folder */
};

/* job_place - sends the folder when that is wished or needed (job_folder.h); job->workspace is set
 * where the job has to run elsewhere than in the current folder, borrowed from *ret. Prints what is
 * wrong. Returns enum status */
int job_place(struct server *server, const struct place_wish *wish,
              const struct option_words *arguments, struct job_options *job,
              struct job_placed *ret);
