/* SPDX-License-Identifier: Apache-2.0 */
/* http_probe.h - how far a call to a server gets, for programs that look for a fault
 *
 * For `edl doctor`. Blocks. Tests: tests/integration/275-doctor.sh. */
#pragma once

#include <stdint.h>

#include "shared/http_client.h"

enum http_stage { /* in their order; the one that a probe did not get through */
                  HTTP_STAGE_NAME,
                  HTTP_STAGE_CONNECTION,
                  HTTP_STAGE_TLS,
                  HTTP_STAGE_ANSWER,
                  HTTP_STAGE_DONE, /* there is an answer, with any status */
};

struct http_probe {
    enum http_stage stage;
    struct http_answer answer; /* of a failure: what is wrong, in words */
    char peer[HTTP_ADDRESS_MAX];
    uint64_t took_us;   /* from the call to the answer */
    uint64_t middle_us; /* wall clock halfway between question and answer */
    uint64_t date_us;   /* the answer's Date, which has whole seconds; 0: it has none */
};

/* http_probe - one call over a connection of its own; ca_path: NULL for the system's authorities
 * ret is always valid (http_probe_clear). */
void http_probe(const char *base, const char *ca_path, const struct http_call *call,
                struct http_probe *ret);
void http_probe_clear(struct http_probe *probe);
