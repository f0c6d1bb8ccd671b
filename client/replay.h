/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - the parts of `edl replay`: where a record comes from, and how many places there are */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "client/verb.h"

struct edl_error;
struct record;
struct recording;
struct server;

struct replay_options {
    struct common_options common;
    const char *policy, *since, *nodes, *against, *export_to, *restart, *level;
    const char *events, *jobs; /* files; NULL: the server is asked */
};

/* A cluster's record as it is read. */
struct replay {
    const struct replay_options *options;
    struct record *record; /* owned */
    json_t *jobs, *nodes;  /* arrays as the server tells them; NULL: not asked for; owned */
    uint64_t end_us;       /* of the record, by the server's clock; 0: with its newest event */
    uint32_t n_nodes, per_node;
    json_t
        *cluster; /* its policy and load limit, as the server tells them; NULL: not asked; owned */
    char places[160]; /* how the nodes were made of those that there are; "": they were given */
};

/* replay_read_server - jobs, events and nodes; prints what is wrong; enum status */
int replay_read_server(struct replay *replay, struct server *server);

/* replay_read_files - of options->events and options->jobs. Errors: -EINVAL and what opening gives,
 * with file, line and remedy */
int replay_read_files(struct replay *replay, struct edl_error *error);

/* replay_add_event - -EINVAL: it is none; error names the member */
int replay_add_event(struct record *record, const json_t *event, struct edl_error *error);

/* replay_role - of a job of the list, whose instances decide how fast it is: the first that is
 * elastic, else the trainers, else the last. Borrowed; NULL: it has none */
const json_t *replay_role(const json_t *job);

/* replay_read_job - with its specification; *ret NULL and STATUS_OK: it is not kept any more.
 * Prints what is wrong; enum status */
int replay_read_job(struct server *server, uint64_t id, json_t **ret);

/* replay_add_jobs - all of replay->jobs to the record */
void replay_add_jobs(struct replay *replay);

/* replay_places - how many instances of the median request fit on each ready node of replay->nodes;
 * asks for the specifications of some jobs. Prints what is wrong; enum status */
int replay_places(struct replay *replay, struct server *server);

/* replay_print - what the record has, what was left out, and what was assumed, for people */
void replay_print(const struct replay *replay, const struct recording *recording);
/* replay_json - the same for programs; new reference */
json_t *replay_json(const struct replay *replay, const struct recording *recording);
