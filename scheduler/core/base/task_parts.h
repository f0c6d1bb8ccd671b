/* SPDX-License-Identifier: Apache-2.0 */
/* task_parts.h - the chunks of every task of a queue: they never change, so a queue and its copies
 * share them
 *
 * Memory in blocks: of hundreds of thousands of tasks each is a few bytes, and all go at once.
 *
 * Used by: task_queue.c. Tests: tests/unit/test_task_queue.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct task_chunk;
struct task_parts;

struct task_parts *task_parts_new(void);
struct task_parts *task_parts_ref(struct task_parts *parts);
void task_parts_unref(struct task_parts *parts);

/* task_parts_is_shared - whether anybody else has a reference */
int task_parts_is_shared(const struct task_parts *parts);

/* task_parts_add - copies chunks and their paths; the copy is there as long as parts are */
const struct task_chunk *task_parts_add(struct task_parts *parts, const struct task_chunk *chunks,
                                        uint32_t n);

/* task_parts_bytes - what the chunks and paths take */
uint64_t task_parts_bytes(const struct task_parts *parts);
