/* SPDX-License-Identifier: Apache-2.0 */
/* keepalive.h - a process that waits for another machine sees that it is gone
 *
 * A waiting process sends nothing, so without this nothing tells it. Used by: ps_connection,
 * ps_client. */
#pragma once

/* keepalive_set - of a TCP socket: its connection ends some ten seconds after the other machine */
void keepalive_set(int fd);
