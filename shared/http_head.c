/* SPDX-License-Identifier: Apache-2.0 */
/* http_head.c - whether the head of a request says one thing to every reader
 *
 * A proxy between a client and us may end a request elsewhere than we do: a body to the one is the
 * next request to the other, with all that that one had checked (RFC 9112 §11.2). So a head is
 * refused unless it is spelt as RFC 9112 spells it, and nothing that follows it on its connection
 * is believed.
 *
 * libmicrohttpd 0.9.75 takes "Content-Length : 9", a name put together from two lines, a NUL and a
 * line that ends without CR; MHD_OPTION_STRICT_FOR_CLIENT changes none of that, and closes without
 * an answer where we say what is wrong. It ends what it has read in place, by NULs, and hands out
 * pointers into it. So the lines are walked here: each has to begin where the one before ended.
 * (NUL LF is the one line end that looks like CR LF then.) */
#include "shared/http_internal.h"

#include "shared/error.h"
#include "shared/macro.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define CRLF_BYTES 2

struct head {
    const char *next; /* where the next line has to begin */
    unsigned hosts, lengths, codings;
    struct edl_error *error;
    int r;
};

static int refuse(struct edl_error *error, const char *what, const char *remedy)
{
    (void)edl_error_set(error, -EINVAL, "%s", what);
    return edl_error_remedy(error, "%s", remedy);
}

static int refuse_line(struct edl_error *error)
{
    return refuse(error,
                  "the request has a NUL, a header that goes on in a second line, or a line that "
                  "does not end in CR LF",
                  "send each header in one line that ends in CR LF");
}

/* RFC 9110 §5.6.2 */
static bool is_token(const char *text)
{
    return *text != '\0' && text[strspn(text, "!#$%&'*+-.^_`|~0123456789"
                                              "abcdefghijklmnopqrstuvwxyz"
                                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

/* RFC 3986 §3.2, without what belongs in front of an '@': a name or an address, and a port. */
static bool is_host(const char *text)
{
    return text[strspn(text, "-._~%!$&'()*+,;=:[]0123456789"
                             "abcdefghijklmnopqrstuvwxyz"
                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

/* has_control - blanks_too: a blank and a tab are such as well */
static bool has_control(const char *text, bool blanks_too)
{
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++)
        if (*p == 0x7f || (*p < 0x20 && *p != '\t') || (blanks_too && (*p == ' ' || *p == '\t')))
            return true;
    return false;
}

/* What decides where the request ends and whom it is for: each once, and in one spelling. */
static int check_field(struct head *head, const char *name, const char *value)
{
    if (strcasecmp(name, "Host") == 0) {
        head->hosts++;
        if (!is_host(value))
            return refuse(head->error, "the header Host is no name of a host",
                          "send Host: NAME or Host: NAME:PORT");
    } else if (strcasecmp(name, "Content-Length") == 0) {
        head->lengths++;
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        head->codings++;
        if (strcasecmp(value, "chunked") != 0)
            return refuse(head->error, "a Transfer-Encoding other than chunked is not known here",
                          "send Transfer-Encoding: chunked, or Content-Length");
    }
    return 0;
}

static int check_line(struct head *head, const char *name, const char *value)
{
    if (name != head->next)
        return refuse_line(head->error);
    if (!is_token(name))
        return refuse(head->error, "the name of a header has a character that names do not have",
                      "send NAME: VALUE, without a blank in front of the colon");
    if (has_control(value, false))
        return refuse(head->error, "the value of a header has a control character", "leave it out");
    head->next = value + strlen(value) + CRLF_BYTES;
    return check_field(head, name, value);
}

static enum MHD_Result on_line(void *userdata, enum MHD_ValueKind kind, const char *name,
                               const char *value)
{
    struct head *head = userdata;

    (void)kind;
    head->r = check_line(head, name, value);
    return head->r < 0 ? MHD_NO : MHD_YES;
}

/* check_request_line - method: where libmicrohttpd keeps it; version: behind the target, which it
 * has decoded in place since */
static int check_request_line(const struct http_request *request, const char *method,
                              const char *version, struct edl_error *error)
{
    if (has_control(request->target, true))
        return refuse(error, "the target of the request has a blank or a control character",
                      "send it as %XX");
    if (version != method + strlen(method) + 1 + strlen(request->target) + 1)
        return refuse_line(error);
    return 0;
}

static int check_counts(const struct head *head, const char *version, struct edl_error *error)
{
    bool old = streq(version, MHD_HTTP_VERSION_1_0);

    if (head->lengths + head->codings > 1)
        return refuse(error, "the request says twice how long its body is",
                      "send one Content-Length or one Transfer-Encoding");
    if (old && head->codings > 0)
        return refuse(error, "HTTP/1.0 does not know Transfer-Encoding", "send Content-Length");
    if (head->hosts > 1 || (!old && head->hosts == 0))
        return refuse(error,
                      head->hosts > 1 ? "the request names two hosts"
                                      : "the request does not say which host it is for",
                      "send one header Host");
    return 0;
}

int http_check_head(const struct http_request *request, const char *method, const char *version,
                    struct edl_error *error)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    struct head head = { .next = version + strlen(version) + CRLF_BYTES, .error = error };
    int r = check_request_line(request, method, version, error);

    if (r < 0)
        return r;
    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, on_line, &head);
    if (head.r < 0)
        return head.r;
    if (info == NULL || head.next + CRLF_BYTES != method + info->header_size)
        return refuse_line(error);
    return check_counts(&head, version, error);
}
