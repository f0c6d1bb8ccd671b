/* SPDX-License-Identifier: Apache-2.0 */
/* denials.h - every refused caller in the log: its name, its address, the call, the reason
 *
 * A flood must not fill the journal: of each address the first few lines of 10 seconds are written,
 * and how many more there were at their end. Tests: tests/unit/test_join_tokens.c,
 * tests/integration/150-trust.sh. */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

struct denied_peer;
struct edl_error;
struct http_request;

struct denials {
    sd_event_source *timer;    /* owned; the end of the 10 seconds */
    struct denied_peer *peers; /* owned; uthash */
    unsigned n_peers;
    unsigned n_lines;
    uint64_t n_elsewhere; /* from addresses for which there was no room */
    uint64_t total;       /* since the start */
};

int denials_init(struct denials *denials, sd_event *event, struct edl_error *error);
void denials_done(struct denials *denials); /* tells what is untold */

/* denials_note - of a request; error says why */
void denials_note(struct denials *denials, const struct http_request *request,
                  const struct edl_error *error);

/* denials_note_text - of a caller at an address, in words */
void denials_note_text(struct denials *denials, const char *peer, const char *what,
                       const char *why);
