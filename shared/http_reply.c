/* SPDX-License-Identifier: Apache-2.0 */
/* http_reply.c - answers: JSON, text, bytes, and problem documents (RFC 9457) */
#include "shared/http_internal.h"

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/json_text.h"
#include "shared/log.h"
#include "shared/macro.h"

#define FILE_PIECE_BYTES ((size_t)64 * 1024)

void http_reply_header(struct http_request *request, const char *name, const char *value)
{
    if (request->n_headers == HTTP_REPLY_HEADERS_MAX)
        return;
    request->headers[request->n_headers++] = (struct http_pair){ xstrdup(name), xstrdup(value) };
}

/* Here, because each request gets exactly one answer, and gets it here. */
static void count(struct http_request *request, unsigned status)
{
    const struct http_server_config *config = &request->server->config;
    size_t route =
        request->route != NULL ? (size_t)(request->route - config->routes) : config->n_routes;

    if (status >= 100 && status / 100 <= HTTP_STATUS_CLASSES)
        request->server->answers[route * HTTP_STATUS_CLASSES + status / 100 - 1]++;
}

/* Stores the answer; on_request queues it, in this turn or once the connection runs again. */
void http_reply_response(struct http_request *request, unsigned status, const char *content_type,
                         struct MHD_Response *take_response)
{
    if (take_response == NULL)
        abort();                /* out of memory: the unit restarts, and state is on disk */
    if (request->status != 0) { /* the first answer counts */
        MHD_destroy_response(take_response);
        return;
    }
    (void)MHD_add_response_header(take_response, "Content-Type", content_type);
    (void)MHD_add_response_header(take_response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(take_response, "X-Request-Id", request->id);
    for (size_t i = 0; i < request->n_headers; i++) /* a name or value with CR or LF is refused */
        (void)MHD_add_response_header(take_response, request->headers[i].name,
                                      request->headers[i].value);
    request->status = status;
    request->response = take_response;
    count(request, status);
    http_request_detach(request);
}

void http_reply_bytes(struct http_request *request, unsigned status, const char *content_type,
                      const void *data, size_t size)
{
    http_reply_response(request, status, content_type,
                        MHD_create_response_from_buffer(size, (void *)(size > 0 ? data : ""),
                                                        MHD_RESPMEM_MUST_COPY));
}

struct file_body {
    int fd;                       /* owned */
    struct http_request *request; /* borrowed: there as long as its answer is read */
    http_may_fn may;              /* NULL: it may */
    void *userdata;
};

/* What libmicrohttpd does for a file by itself goes in pieces of 4 KiB, each a turn of the loop:
 * its sendfile(2) wants to be promised that SIGPIPE is ignored, and is not there with TLS. */
static ssize_t read_file(void *userdata, uint64_t offset, char *buffer, size_t room)
{
    const struct file_body *body = userdata;
    ssize_t n;

    if (body->may != NULL && !body->may(body->request, body->userdata))
        return MHD_CONTENT_READER_END_WITH_ERROR;
    do
        n = pread(body->fd, buffer, room, (off_t)offset);
    while (n == -1 && errno == EINTR);
    /* shorter than it was said to be: whoever reads must not take it for whole */
    return n > 0 ? n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void close_file(void *userdata)
{
    struct file_body *body = userdata;

    (void)safe_close(body->fd);
    free(body);
}

void http_reply_file(struct http_request *request, unsigned status, const char *content_type,
                     int take_fd, uint64_t size_bytes)
{
    http_reply_file_while(request, status, content_type, take_fd, size_bytes, NULL, NULL);
}

void http_reply_file_while(struct http_request *request, unsigned status, const char *content_type,
                           int take_fd, uint64_t size_bytes, http_may_fn may, void *userdata)
{
    struct file_body *body = xcalloc(1, sizeof *body);

    *body = (struct file_body){ take_fd, request, may, userdata };
    http_reply_response(request, status, content_type,
                        MHD_create_response_from_callback(size_bytes, FILE_PIECE_BYTES, read_file,
                                                          body, close_file));
}

void http_reply_text(struct http_request *request, unsigned status, const char *content_type,
                     const char *text)
{
    http_reply_bytes(request, status, content_type, text, strlen(text));
}

static void reply_document(struct http_request *request, unsigned status, const char *content_type,
                           json_t *take_json)
{
    size_t length = 0;
    char *text = take_json != NULL ? json_to_text(take_json, &length) : NULL;

    if (text == NULL && take_json != NULL) { /* nobody may take that for an empty answer */
        log_error("an answer cannot be written as JSON");
        status = MHD_HTTP_INTERNAL_SERVER_ERROR;
    }
    json_decref(take_json);
    if (text == NULL)
        http_reply_bytes(request, status, content_type, "", 0);
    else
        http_reply_response(request, status, content_type,
                            MHD_create_response_from_buffer(length, text, MHD_RESPMEM_MUST_FREE));
}

void http_reply_json(struct http_request *request, unsigned status, json_t *take_json)
{
    reply_document(request, status, "application/json", take_json);
}

/* Error texts quote what came in, and are cut at a fixed size: they need not be valid UTF-8. */
static json_t *safe_string(const char *text)
{
    json_t *value = json_string(text);
    char copy[sizeof((struct edl_error *)0)->text];

    if (value != NULL)
        return value;
    (void)snprintf(copy, sizeof copy, "%s", text);
    for (char *p = copy; *p != '\0'; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    return json_string(copy);
}

static json_t *problem(const struct edl_error *error, unsigned status)
{
    json_t *document = json_object();

    (void)json_object_set_new(document, "type", json_string("about:blank"));
    (void)json_object_set_new(document, "title", json_string(MHD_get_reason_phrase_for(status)));
    (void)json_object_set_new(document, "status", json_integer((json_int_t)status));
    (void)json_object_set_new(document, "detail", safe_string(error->text));
    if (error_code_word(error->code) != NULL)
        (void)json_object_set_new(document, "code", json_string(error_code_word(error->code)));
    if (error->remedy[0] != '\0')
        (void)json_object_set_new(document, "remedy", safe_string(error->remedy));
    if (error->pointer[0] != '\0')
        (void)json_object_set_new(document, "errors",
                                  json_pack("[{s:o,s:o}]", "pointer", safe_string(error->pointer),
                                            "detail", safe_string(error->text)));
    return document;
}

static void tell_refusal(const struct http_request *request, unsigned status,
                         const struct edl_error *error)
{
    const struct http_server_config *config = &request->server->config;

    if ((status == MHD_HTTP_UNAUTHORIZED || status == MHD_HTTP_FORBIDDEN) && request->status == 0 &&
        config->refused != NULL)
        config->refused(request, error, config->userdata);
}

/* It is no answer: its handler has to be called once more. */
static bool is_postponed(struct http_request *request, const struct edl_error *error)
{
    const struct http_server_config *config = &request->server->config;

    return error->code == -EINPROGRESS && request->status == 0 && config->postpone != NULL &&
           config->postpone(request, config->userdata);
}

void http_reply_problem(struct http_request *request, const struct edl_error *error,
                        json_t *take_members)
{
    unsigned status = (unsigned)error_code_http_status(error->code);
    json_t *document;

    if (is_postponed(request, error)) {
        json_decref(take_members);
        return;
    }
    document = problem(error, status);
    tell_refusal(request, status, error);
    (void)json_object_update_missing(document, take_members);
    json_decref(take_members);
    if (status == MHD_HTTP_UNAUTHORIZED)
        http_reply_header(request, "WWW-Authenticate", "Bearer");
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE || status == MHD_HTTP_TOO_MANY_REQUESTS)
        http_reply_header(request, "Retry-After", "1");
    reply_document(request, status, "application/problem+json", document);
}

void http_reply_error(struct http_request *request, const struct edl_error *error)
{
    http_reply_problem(request, error, NULL);
}
