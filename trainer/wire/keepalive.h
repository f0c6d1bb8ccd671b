/* SPDX-License-Identifier: Apache-2.0 */
/* keepalive.h - a machine that is gone without a word is seen by who waits for it
 *
 * Whoever only waits sends nothing, so nothing tells it. Used by: ps_connection, ps_client. */
#pragma once

/* keepalive_set - of a TCP socket: its connection ends some ten seconds after the other machine */
void keepalive_set(int fd);
