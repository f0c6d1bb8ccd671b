/* SPDX-License-Identifier: Apache-2.0 */
/* teach_server.h - a teacher on an event loop: students come, get credit, send tasks, are answered
 *
 * Tasks that wait are computed together: as many samples as a batch has at most, or those that came
 * until the first task has waited for batch_wait_us. It waits only while another task can come. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "shared/job_secret.h"

struct edl_error;
struct teach_server;
struct teach_worker;

struct teach_server_config {
    int listen_fd;               /* taken */
    struct teach_worker *worker; /* borrowed, outlives the server */
    uint32_t max_batch;
    uint64_t batch_wait_us;
    uint64_t patience_us; /* with a student that stands still while others wait, or at the end */
    uint8_t secret[JOB_SECRET_BYTES]; /* all zeros: nobody's */
};

/* Since the start. */
struct teach_figures {
    uint64_t tasks, batches, samples, failed; /* answered */
    uint64_t compute_us, wait_us;             /* of those batches, and before them without work */
    uint64_t queue;    /* now: here and not begun, or offered beyond credit */
    uint32_t students; /* now */
    bool leaving;
};

int teach_server_new(sd_event *event, const struct teach_server_config *config,
                     struct teach_server **ret, struct edl_error *error);
struct teach_server *teach_server_free(struct teach_server *server);

/* teach_server_leave - gives no more credit, answers what it has, and ends the loop with 0. A
 * student that does not use its credit, or does not read, is waited for as long as patience_us. */
void teach_server_leave(struct teach_server *server);

void teach_server_figures(const struct teach_server *server, struct teach_figures *ret);

/* teach_server_failure - why the loop has ended with a failure; code 0: none */
const struct edl_error *teach_server_failure(const struct teach_server *server);
