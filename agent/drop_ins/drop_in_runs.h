/* SPDX-License-Identifier: Apache-2.0 */
/* drop_in_runs.h - the agent's end of edl-supervisor --drop-ins: so many at a time, none waited for
 *
 * Where processes are units, such a one is a unit as well: it has all rights of root, not those
 * that the sandbox of the agent leaves it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct drop_in_errand; /* one run */
struct drop_in_runs;

/* reason: "" it ended well; NULL: it was cut off, or never began, as it was stopped; else why not.
 * Called from the loop, once, never from within a call below; the run is freed behind it */
typedef void (*drop_in_ended_fn)(const char *reason, void *userdata);

/* drop_in_runs_new - program: edl-supervisor, copied */
struct drop_in_runs *drop_in_runs_new(sd_event *event, const char *program, bool by_systemd);

/* drop_in_runs_free - what runs is cut off, and nobody is told. Accepts NULL, returns NULL */
struct drop_in_runs *drop_in_runs_free(struct drop_in_runs *runs);

/* drop_in_runs_add - behind the others; kind and job_id name it. take_document: of
 * drop_ins_serve.h; timeout_us: the same as in it */
struct drop_in_errand *drop_in_runs_add(struct drop_in_runs *runs, const char *kind,
                                        uint64_t job_id, json_t *take_document, uint64_t timeout_us,
                                        drop_in_ended_fn ended, void *userdata);

/* drop_in_errand_stop - it ends what it has started, and ended is called */
void drop_in_errand_stop(struct drop_in_errand *run);
