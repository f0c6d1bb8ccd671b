/* SPDX-License-Identifier: Apache-2.0 */
/* distill_ask.h - a GET of the agent for a program with a poll loop, asked until it is answered */
#pragma once

#include "libedl/distill_source.h"

void distill_ask_init(struct distill_ask *ask, struct edl_client *client, int epoll_fd,
                      uint64_t number);
void distill_ask_clear(struct distill_ask *ask);

/* distill_ask_begin - at at_us at the earliest */
void distill_ask_begin(struct distill_ask *ask, uint64_t at_us, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline bool distill_ask_is_on(const struct distill_ask *ask)
{
    return ask->path[0] != '\0';
}

/* distill_ask_go_on - -EAGAIN: poll; 0: *ret is the answer, the caller's; else a negative code, as
 * -ENOENT, with the client's error. With 0 or an error nothing is asked any more. */
int distill_ask_go_on(struct distill_ask *ask, uint64_t now_us, json_t **ret);
uint64_t distill_ask_next_us(const struct distill_ask *ask);
