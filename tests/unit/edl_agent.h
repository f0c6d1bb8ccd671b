/* SPDX-License-Identifier: Apache-2.0 */
/* edl_agent.h - an agent that says whatever the test wants, for the tests of the library for
 * programs
 *
 * It is a forked child: each connection gets the next of its answers, and its questions lie in
 * shared memory. */
#pragma once

#include <sys/types.h>

#include "libedl/edl/edl.h"

#define HEAD(status) "HTTP/1.1 " status "\r\nContent-Type: application/json\r\n"
#define SAYS(json) HEAD("200 OK") "Connection: close\r\n\r\n" json
#define REFUSES(status, detail)                                                                    \
    "HTTP/1.1 " status "\r\nContent-Type: application/problem+json\r\n\r\n"                        \
    "{\"detail\":\"" detail "\",\"remedy\":\"do this\"}"
#define HELD "held"     /* nothing is said until the client goes */
#define UNREAD "unread" /* refused before it is read, as too large */
/* Its caller, which must be a process of its own, is stopped for so long; it is answered as it goes
 * on, or meanwhile. */
#define STOPPED_MS 7000
#define THEN_SAYS(answer) "then " answer
#define MEANWHILE_SAYS(answer) "meanwhile " answer

#define ASKED_MAX 32
#define ASKED_BYTES 1024

struct asked {
    unsigned n, n_answered;
    char text[ASKED_MAX][ASKED_BYTES]; /* request line, an empty line, body; cut */
};

struct agent {
    pid_t pid;
    struct asked *asked; /* shared */
    char folder[64], path[80];
    struct edl_client *client;
};

/* edl_agent_begin - answers end with NULL; its client waits for them as long as a test may take
 * A client without patience gives up after a second: that is for calls that are to fail. */
void edl_agent_begin(struct agent *agent, const char *const *answers);
/* edl_agent_end - all answers were asked for */
void edl_agent_end(struct agent *agent);
/* edl_agent_asked - how many requests have come */
unsigned edl_agent_asked(const struct agent *agent);
/* edl_agent_answered - how many of them have their answer, or are HELD */
unsigned edl_agent_answered(const struct agent *agent);
/* assert_says - the last error of its client has that part */
void assert_says(const struct agent *agent, const char *part);
