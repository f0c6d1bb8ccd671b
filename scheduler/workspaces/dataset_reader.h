/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_reader.h - the body of PUT /jobs/{job}/dataset, read piece by piece as it comes
 *
 * The list of a job's tasks is the longest body that there is. Here it is never whole: a task is
 * parsed when its last byte is there, and kept as a task. Pure: no I/O, no clock, no log, so that a
 * worker's thread can do it.
 *
 * Used by: datasets.c. Tests: tests/unit/test_dataset_reader.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct dataset_reader;
struct edl_error;
struct task_queue;
struct task_queue_config;

/* Of one task, as it is sent: about 2,500 chunks. The answer to a lease is of the same size. */
#define DATASET_TASK_BYTES_MAX (256 * 1024)

/* dataset_reader_new - config: of the queue that is made; NULL: tasks are passed over unread, for a
 * caller that has them already and asks for the digest. tasks_max: more are refused; 0: any
 * number */
struct dataset_reader *dataset_reader_new(const struct task_queue_config *config,
                                          uint64_t tasks_max);
struct dataset_reader *dataset_reader_free(struct dataset_reader *reader);

/* dataset_reader_add - the next piece; EDL_EBADSPEC: too many tasks, or one that is too long;
 * -EINVAL with where. Nothing may be added after an error. */
int dataset_reader_add(struct dataset_reader *reader, const char *data, size_t size,
                       struct edl_error *error);

/* dataset_reader_end - the body is over: -EINVAL when something of it is missing */
int dataset_reader_end(struct dataset_reader *reader, struct edl_error *error);

/* dataset_reader_digest - "" before it came; borrowed */
const char *dataset_reader_digest(const struct dataset_reader *reader);

/* dataset_reader_queue - of the tasks that came so far; borrowed. dataset_reader_take_queue - the
 * caller's from now on */
const struct task_queue *dataset_reader_queue(const struct dataset_reader *reader);
struct task_queue *dataset_reader_take_queue(struct dataset_reader *reader);
