/* SPDX-License-Identifier: Apache-2.0 */
/* web.c - see web.h
 *
 * A file's ETag is of its content, and a browser asks whether it is still so each time: after an
 * upgrade no old part stays among new ones. The browser is told once and strictly which files the
 * page may load, and from where: a name that somebody gave to a job can bring no script along. */
#include "scheduler/web/web.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "scheduler/api/precondition.h"
#include "scheduler/scheduler.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

static const struct asset {
    const char *name; /* "page.css"; "" is the page itself */
    const char *type;
    const char *tag; /* its ETag, quotes included */
    const char *text;
} assets[] = {
#include "scheduler/web/assets.inc"
};

static const struct {
    const char *name, *value;
} headers[] = {
    { "Cache-Control", "no-cache" }, /* keep it, and ask whether it is still so */
    { "Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src "
                                 "'self'; connect-src 'self'; "
                                 "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                                 "require-trusted-types-for 'script'; trusted-types 'none'" },
    { "Referrer-Policy", "no-referrer" },
    { "Cross-Origin-Opener-Policy", "same-origin" },
    { "Cross-Origin-Resource-Policy", "same-origin" },
};

/* What may be kept, as long as its tag is this one. */
static void reply_kept(struct http_request *request, const char *type, const char *tag,
                       const char *text, size_t size)
{
    for (size_t h = 0; h < ELEMENTS(headers); h++)
        http_reply_header(request, headers[h].name, headers[h].value);
    http_reply_header(request, "ETag", tag);
    if (precondition_is_known(request, tag))
        http_reply_bytes(request, 304, type, "", 0);
    else
        http_reply_bytes(request, 200, type, text, size);
}

static void reply(struct http_request *request, const char *name)
{
    struct edl_error error = { 0 };

    for (size_t i = 0; i < ELEMENTS(assets); i++) {
        const struct asset *asset = &assets[i];

        if (!streq(asset->name, name))
            continue;
        reply_kept(request, asset->type, asset->tag, asset->text, strlen(asset->text));
        return;
    }
    (void)edl_error_set(&error, -ENOENT, "the page has no part \"%.60s\"", name);
    http_reply_error(request, &error);
}

void api_page(struct http_request *request, void *userdata)
{
    (void)userdata;
    reply(request, "");
}

void api_page_asset(struct http_request *request, void *userdata)
{
    (void)userdata;
    reply(request, http_request_param(request, "asset"));
}

void api_page_library(struct http_request *request, void *userdata)
{
    const struct scheduler *scheduler = userdata;
    const struct web_library *library = &scheduler->library;
    struct edl_error error = { 0 };

    if (library->text != NULL && streq(http_request_param(request, "library"), WEB_LIBRARY_NAME)) {
        reply_kept(request, "text/javascript; charset=utf-8", library->tag, library->text,
                   library->size);
        return;
    }
    (void)edl_error_set(&error, -ENOENT, "the page has no library \"%.60s\"",
                        http_request_param(request, "library"));
    (void)edl_error_remedy(&error, "apt install libjs-chart.js on the scheduler's machine, and"
                                   " restart the scheduler");
    http_reply_error(request, &error);
}
