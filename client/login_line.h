/* SPDX-License-Identifier: Apache-2.0 */
/* login_line.h - the line `edl login ...` for another machine, of a code that the scheduler made */
#pragma once

#include <jansson.h>

struct server;

/* login_line - of an answer with server, ca_pin and token: new string */
char *login_line(const json_t *made);

/* login_line_print - the line on stdout, and on stderr how long it is good */
void login_line_print(const json_t *made);

/* login_page_print - the page's address with the code, and on stderr how long it is good */
void login_page_print(const json_t *made);

/* login_line_ask - a code for user (NULL: the caller); prints no failure but notes it. NULL: none,
 * else a new reference: the answer, with the member "line" */
json_t *login_line_ask(struct server *server, const char *user);
