/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_ask.h - questions at the terminal while the loop goes on: one at a time, a line each */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

struct ask;
struct edl_error;

/* ask_fn - the answer without its newline; NULL: the terminal is gone. Borrowed, and wiped. */
typedef void (*ask_fn)(const char *answer, void *userdata);

/* ask_new - *ret is NULL where there is no terminal (/dev/tty): then nothing can be asked */
int ask_new(sd_event *event, struct ask **ret, struct edl_error *error);
/* ask_free - gives the terminal its echo back; accepts NULL, returns NULL */
struct ask *ask_free(struct ask *ask);

/* ask_line - prints question and waits for a line; secret: without echo. No other question may
 * be open. */
void ask_line(struct ask *ask, const char *question, bool secret, ask_fn fn, void *userdata);
/* ask_is_open - a question waits for its answer */
bool ask_is_open(const struct ask *ask);
