/* SPDX-License-Identifier: Apache-2.0 */
/* http_answer.c - the parts that an answer owns, its making, and its meaning as an error */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/http_call.h"
#include "shared/macro.h"

#define TITLE_MAX 64

void http_answer_clear(struct http_answer *answer)
{
    json_decref(answer->json);
    free(answer->body);
    free(answer->each);
    *answer = (struct http_answer){ 0 };
}

/* What a status means when only the status is known; the reverse of error_code_http_status. */
static int status_code(unsigned status)
{
    static const struct {
        unsigned status;
        int code;
    } map[] = {
        { 400, -EINVAL }, { 401, EDL_EUNAUTHENTICATED }, { 403, -EACCES },
        { 404, -ENOENT }, { 405, -EOPNOTSUPP },          { 409, -EEXIST },
        { 413, -E2BIG },  { 422, EDL_EBADSPEC },         { 429, EDL_ETOOMANY },
        { 503, -EAGAIN }, { 504, -ETIMEDOUT },           { 507, -ENOSPC },
    };

    for (size_t i = 0; i < ELEMENTS(map); i++)
        if (map[i].status == status)
            return map[i].code;
    return EDL_EHTTP;
}

/* What a page says in its title, printable: web servers and proxies put the reason there. */
static const char *page_title(const struct http_answer *answer, char buffer[TITLE_MAX])
{
    static const char tag[] = "<title>";
    const char *begin = answer->body != NULL ? strcasestr(answer->body, tag) : NULL;

    buffer[0] = '\0';
    if (begin != NULL) {
        begin += strlen(tag);
        (void)snprintf(buffer, TITLE_MAX, " (%.*s)",
                       (int)MIN_OF(strcspn(begin, "<"), TITLE_MAX - 4), begin);
        for (char *p = buffer; *p != '\0'; p++)
            if (*p < ' ' || *p > '~')
                *p = '?';
    }
    return buffer;
}

/* Every answer of a scheduler that is an error tells a code. */
static int answer_of_another(const struct http_answer *answer, int code, struct edl_error *error)
{
    char title[TITLE_MAX];

    (void)edl_error_set(error, code,
                        "status %u%s is no answer of a scheduler: a proxy on the way to it gives "
                        "it, or another server has this address",
                        answer->status, page_title(answer, title));
    if (answer->status == 413)
        return edl_error_remedy(error,
                                "let the proxy take larger bodies (nginx: client_max_body_size 0), "
                                "or name the scheduler's own address: --server URL");
    return edl_error_remedy(error, "name the scheduler's own address: --server URL");
}

int http_answer_error(const struct http_answer *answer, struct edl_error *error)
{
    const char *detail;
    const char *pointer;
    const char *remedy;
    int code;

    if (answer->failure != 0) {
        (void)edl_error_set(error, answer->failure, "%s", answer->text);
        if (answer->remedy[0] != '\0')
            (void)edl_error_remedy(error, "%s", answer->remedy);
        return answer->failure;
    }
    if (answer->status < 300)
        return 0;
    code = error_code_of_word(json_string_value(json_object_get(answer->json, "code")));
    if (code == 0)
        code = status_code(answer->status);
    detail = json_string_value(json_object_get(answer->json, "detail"));
    remedy = json_string_value(json_object_get(answer->json, "remedy"));
    pointer = json_string_value(
        json_object_get(json_array_get(json_object_get(answer->json, "errors"), 0), "pointer"));
    if (detail == NULL)
        return answer_of_another(answer, code, error);
    (void)edl_error_at(error, code, pointer, "%s", detail);
    if (remedy != NULL)
        (void)edl_error_remedy(error, "%s", remedy);
    return code;
}

void http_answer_take(struct http_answer *ret, unsigned status, bool says_json, char *body,
                      size_t size)
{
    *ret = (struct http_answer){ .status = status, .body = body, .body_size = size };
    if (body == NULL)
        ret->body = xstrdup("");
    else if (says_json)
        ret->json = json_loadb(body, size, JSON_DECODE_ANY, NULL);
}

void http_answer_fail(struct http_answer *ret, const struct http_base *base, int code,
                      const char *what, const char *remedy)
{
    *ret = (struct http_answer){ .failure = code };
    (void)snprintf(ret->text, sizeof ret->text, "%s%.100s: %.140s",
                   base->socket_path != NULL ? "unix:" : "",
                   base->socket_path != NULL ? base->socket_path : base->url, what);
    (void)snprintf(ret->remedy, sizeof ret->remedy, "%s", remedy);
}

void http_answer_refuse(struct http_answer *ret, const struct edl_error *error)
{
    *ret = (struct http_answer){ .failure = error->code };
    (void)snprintf(ret->text, sizeof ret->text, "%.*s", (int)sizeof ret->text - 1, error->text);
    (void)snprintf(ret->remedy, sizeof ret->remedy, "%.*s", (int)sizeof ret->remedy - 1,
                   error->remedy);
}
