/* SPDX-License-Identifier: Apache-2.0 */
/* http_duplex.h - one end of a two-way stream: a POST whose body goes out for as long as there is
 * something to say, and a GET whose answer comes in, on the event loop
 *
 * Each has a connection of its own, as an answer must not begin before the body of its own request
 * has ended. libcurl, named in shared/http_*.c only. Used by edl and edl-session. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct edl_error;
struct http_duplex;

/* What waits to go out at most, if its writer looks at the room. */
#define HTTP_DUPLEX_QUEUE_BYTES ((size_t)256 * 1024)

/* All texts are copied. Callbacks come from the loop, never from within a function below; each may
 * call all of them, http_duplex_free too. */
struct http_duplex_config {
    sd_event *event;
    const char *base;         /* as http_client_new has it */
    const char *ca_path;      /* as http_client_trust has it; NULL: the system's */
    const char *bearer_token; /* NULL: none */
    const char *in_path;      /* of the POST */
    const char *out_path;     /* of the GET */
    /* of the GET; whoever takes all of it bounds it by a window of its own */
    void (*on_data)(void *userdata, const uint8_t *data, size_t size);
    /* after http_duplex_room was small: most of what was written has gone out. May be NULL. */
    void (*on_room)(void *userdata);
    /* after http_duplex_finish: the server has taken and answered the whole POST. May be NULL. */
    void (*on_sent)(void *userdata);
    /* Once, and the last one: the GET ended, cleanly if error is NULL. A POST that fails or is
     * refused ends it too, but not before the GET was silent for 2 s: what the other end said last
     * may still be on its way. */
    void (*on_end)(void *userdata, const struct edl_error *error);
    void *userdata;
};

/* http_duplex_open - both requests are on their way; -EINVAL: an address or path that is none */
int http_duplex_open(const struct http_duplex_config *config, struct http_duplex **ret,
                     struct edl_error *error);

/* http_duplex_room - bytes that may be written now; 0 when nobody takes any more */
size_t http_duplex_room(const struct http_duplex *duplex);

/* http_duplex_write - data is copied. The caller looks at the room before; what is small and has to
 * go out (control frames) may exceed it. What is written after the POST ended is lost. */
void http_duplex_write(struct http_duplex *duplex, const void *data, size_t size);

/* http_duplex_finish - no more is written: the POST ends behind what was */
void http_duplex_finish(struct http_duplex *duplex);

/* http_duplex_free - breaks off what has not ended, without a callback; NULL is accepted */
struct http_duplex *http_duplex_free(struct http_duplex *duplex);
