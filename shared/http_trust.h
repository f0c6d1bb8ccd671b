/* SPDX-License-Identifier: Apache-2.0 */
/* http_trust.h - which servers a client believes, and the fault of one that it does not
 *
 * Shared by the files of the client. */
#pragma once

#include "shared/http_exchange.h"

/* http_trust_set - TLS 1.2 and later; the base's authority and no other, or the system's without
 * one */
void http_trust_set(CURL *easy, const struct http_base *base);

/* http_trust_explain - a failed call in words: text (what is wrong; unchanged when it has nothing
 * to do with trust) and remedy (what to type next, "" when nothing can be said) */
void http_trust_explain(CURL *easy, const struct http_base *base, CURLcode result, char *text,
                        size_t text_size, char *remedy, size_t remedy_size);
