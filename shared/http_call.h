/* SPDX-License-Identifier: Apache-2.0 */
/* http_call.h - what does not depend on how a call is carried: addresses of servers, checks of a
 * call, answers
 *
 * Shared by the files of the clients; without libcurl. */
#pragma once

#include "shared/http_client.h"

#define HTTP_TIMEOUT_US UINT64_C(30000000) /* of a call that names none */
/* three round trips of 2 s with TLS, and some */
#define HTTP_CONNECT_TIMEOUT_US UINT64_C(8000000)
#define HTTP_RETRY_AFTER_MAX_S 3600
#define HTTP_ANSWER_MAX_BYTES ((size_t)64 * 1024 * 1024)

/* Of a failure that a server of the other kind would cause. */
#define HTTP_REMEDY_TLS "if the server speaks TLS at this port, give https:// instead of http://"

struct http_base {
    char *url;         /* owned: "https://host:port", no '/' at the end */
    char *socket_path; /* owned; NULL for TCP */
    bool in_clear;     /* plain HTTP to another machine */
    char *ca_path;     /* owned; the one authority that is believed; NULL: the system's */
};

/* http_host_is_this_machine - of a URL from its host on; by the spelling: nobody is asked what a
 * name means */
bool http_host_is_this_machine(const char *host);

/* http_base_parse - -EINVAL with a remedy when text is not the address of a server */
int http_base_parse(const char *text, struct http_base *ret, struct edl_error *error);
void http_base_trust(struct http_base *base, const char *ca_path);
void http_base_clear(struct http_base *base);

/* http_call_check - 0 when the call may be sent; -EINVAL: a path that is none, a line break in a
 * header, a token that everybody on the way could read */
int http_call_check(const struct http_base *base, const struct http_call *call,
                    struct edl_error *error);

/* http_call_body - what is sent as the body, the caller's to free; *ret stays NULL when there is
 * none. -EINVAL: JSON that cannot be written */
int http_call_body(const struct http_call *call, char **ret, size_t *ret_size,
                   struct edl_error *error);

/* http_call_has_body - also one of no bytes, whose length is told */
bool http_call_has_body(const struct http_call *call);

/* http_call_leader - the value of the header EDL-Leader, size bytes with what is around it
 * *ret is "" when it is no address that could be asked: too long, or not of printable letters. */
void http_call_leader(const char *value, size_t size, char ret[HTTP_LEADER_MAX]);

/* http_answer_take - an answer came: body (NULL: none) is the answer's from now on */
void http_answer_take(struct http_answer *ret, unsigned status, bool says_json, char *body,
                      size_t size);

/* http_answer_fail - none came, for a reason in words; http_answer_refuse - nothing was asked */
void http_answer_fail(struct http_answer *ret, const struct http_base *base, int code,
                      const char *what, const char *remedy);
void http_answer_refuse(struct http_answer *ret, const struct edl_error *error);
