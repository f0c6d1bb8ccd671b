/* SPDX-License-Identifier: Apache-2.0 */
/* wire.h - what the clients in bench/ share: HTTP by hand, so that they cost little beside the
 * measured program
 *
 * Any error here ends the program with a line on stderr: a figure beside a failure is none. */
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

/* wire_die - ends the program: "what: text of errno" */
_Noreturn void wire_die(const char *what);

/* wire_read_file - at most size - 1 bytes of it, as text */
void wire_read_file(const char *path, char *ret, size_t size);

/* wire_read_token - the first line of it */
void wire_read_token(const char *path, char *ret, size_t size);

/* wire_server - "HOST:PORT" with an IPv4 address; 0, or -EINVAL */
int wire_server(const char *text, struct sockaddr_in *ret);

/* wire_connect - a socket that is connected, blocking, without delay of small writes */
int wire_connect(const struct sockaddr_in *server);

/* wire_whole_answer - the length of the answer in buffer, which is text; 0: it is not whole yet */
size_t wire_whole_answer(const char *buffer, size_t used);

/* wire_status - of a whole answer */
unsigned wire_status(const char *buffer);

/* wire_percentile - permille/1000 of them are at most so large. Sorts values; 0 without any. */
uint64_t wire_percentile(uint64_t *values, size_t n, unsigned permille);
