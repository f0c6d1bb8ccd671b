/* SPDX-License-Identifier: Apache-2.0 */
/* stop_signals.h - a verb that makes files removes them when SIGINT, SIGTERM or SIGHUP ends it
 *
 * The signal is noted, and the verb fails as for any other reason. Once it has tidied up, the
 * process ends by that signal, so a shell sees why. Used by: client. */
#pragma once

struct edl_error;

/* stop_signals_catch - from now on; a signal that is ignored (nohup) stays ignored */
void stop_signals_catch(void);

/* stop_signals_input - borrowed: a read of it that waits finds the end of the input when a signal
 * comes; -1: no input is read any more */
void stop_signals_input(int fd);

/* stop_signals_check - 0; -EINTR: a signal has come */
int stop_signals_check(struct edl_error *error);

/* stop_signals_end - ends the process by the signal that has come, if any */
void stop_signals_end(void);
