/* SPDX-License-Identifier: Apache-2.0 */
/* file_reads.h - hands files of processes to readers that wait at the scheduler
 *
 * Orders list what is waited for. For each, edl-workspace reads beside the agent (file_reader.h);
 * the agent passes its output on, a piece a call: the scheduler answers when it takes more, and
 * until then nothing is read. So neither holds more than a piece of a file, however large. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

struct file_reads;
struct layout;
struct link;

struct file_reads_config {
    sd_event *event;
    struct link *link;           /* borrowed */
    const struct layout *layout; /* borrowed */
    bool allow_root;             /* files of a process that ran as root are read as root */
};

struct file_reads *file_reads_new(const struct file_reads_config *config);
struct file_reads *file_reads_free(struct file_reads *reads);

/* file_reads_follow - "reads" of orders (NULL: none): new ones begin, and those that nobody waits
 * for any more end */
void file_reads_follow(struct file_reads *reads, const json_t *array);
