/* SPDX-License-Identifier: Apache-2.0 */
/* login_line.c - see login_line.h */
#include "client/login_line.h"

#include <stdio.h>

#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

char *login_line(const json_t *made)
{
    return text_format("edl login %s --ca-pin %s --code %s", json_text(made, "server"),
                       json_text(made, "ca_pin"), json_text(made, "token"));
}

/* left - how long the code is still good */
static const char *left(const json_t *made, char *text, size_t size)
{
    uint64_t now_us = clock_read_us(CLOCK_REALTIME);
    uint64_t end_us = json_u64(made, "expires_us");

    return text_duration(end_us > now_us ? end_us - now_us : 0, text, size);
}

void login_line_print(const json_t *made)
{
    _cleanup_free_ char *line = login_line(made);
    char text[32];

    (void)printf("%s\n", line);
    report_note("%s runs this on the other machine; it is good once, for %s",
                json_text(made, "user"), left(made, text, sizeof text));
}

void login_page_print(const json_t *made)
{
    char text[32];

    (void)printf("%s/#/sign-in/%s\n", json_text(made, "server"), json_text(made, "token"));
    report_note("%s opens this in a browser, or gives the page the code at its end; it is good "
                "once, for %s",
                json_text(made, "user"), left(made, text, sizeof text));
}

json_t *login_line_ask(struct server *server, const char *user)
{
    _cleanup_json_ json_t *body = json_pack("{s:b,s:s*}", "login", 1, "user", user);
    struct http_call call = { .method = "POST", .path = "/tokens", .json = body };
    struct http_answer answer = { 0 };
    struct edl_error error = { 0 };
    json_t *made = NULL;

    if (server_call(server, &call, &answer) == STATUS_OK && json_is_object(answer.json)) {
        _cleanup_free_ char *line = login_line(answer.json);

        made = json_incref(answer.json);
        (void)json_object_set_new(made, "line", json_string(line));
    } else {
        (void)http_answer_error(&answer, &error);
        report_note("%s; %s", error.text, error.remedy);
    }
    http_answer_clear(&answer);
    return made;
}
