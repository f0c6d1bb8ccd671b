/* SPDX-License-Identifier: Apache-2.0 */
/* account_numbers.h - the numbers that accounts have on the scheduler's machine
 *
 * They go with the orders that start processes: a node on which the name is not there, or has
 * another number, is another person's (agent/machine/account.c). The account database is asked
 * beside the loop (worker.h), and only what waits for the answer waits. It has a thread of its own:
 * a name that takes long holds up no caller on the Unix socket (peer.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

struct account_numbers;
struct edl_error;

/* An answer is as good as new for so long; then it is asked for again, and counts meanwhile. */
#define ACCOUNT_NUMBER_FRESH_US (60 * USEC_PER_SEC)
/* A database that fails is asked again after so long. */
#define ACCOUNT_NUMBER_RETRY_US USEC_PER_SEC

/* account_numbers_new - known is called in the loop with each name of which nothing was known
 * before
 */
int account_numbers_new(sd_event *event, void (*known)(const char *name, void *userdata),
                        void *userdata, struct account_numbers **ret, struct edl_error *error);

/* account_numbers_free - waits for no answer; accepts NULL; returns NULL */
struct account_numbers *account_numbers_free(struct account_numbers *numbers);

/* account_numbers_pause - known is called for no name until it ends; accepts NULL */
void account_numbers_pause(struct account_numbers *numbers, bool pause);

/* account_number - 1 with *ret; 0: there is no such account, or numbers is NULL; -EAGAIN: it is
 * being asked for. What was answered once is always answered. now_us: of a clock that only rises */
int account_number(struct account_numbers *numbers, const char *name, uint64_t now_us, uid_t *ret);
