/* SPDX-License-Identifier: Apache-2.0 */
/* session_request.c - see session_request.h */
#include "agent/session/session_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/processes/process_id_json.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/macro.h"

#define DEFAULT_ROWS 24
#define DEFAULT_COLUMNS 80
#define DEFAULT_TERM "dumb"

static const char *const kinds[SESSION_KINDS] = { [SESSION_KIND_EXEC] = "exec",
                                                  [SESSION_KIND_SHELL] = "shell",
                                                  [SESSION_KIND_ATTACH] = "attach",
                                                  [SESSION_KIND_FORWARD] = "forward",
                                                  [SESSION_KIND_SSH] = "ssh" };

bool session_request_id(const json_t *entry, char ret[SESSION_ID_SIZE])
{
    const char *id = json_text(entry, "session");

    if (strlen(id) != SESSION_ID_SIZE - 1 || strspn(id, "0123456789abcdef") != SESSION_ID_SIZE - 1)
        return false;
    (void)memcpy(ret, id, SESSION_ID_SIZE);
    return true;
}

struct session_size session_size_or_default(struct session_size size)
{
    if (size.rows == 0 || size.columns == 0) {
        size.rows = DEFAULT_ROWS;
        size.columns = DEFAULT_COLUMNS;
    }
    return size;
}

static int parse_kind(const json_t *entry, enum session_kind *ret, struct edl_error *error)
{
    const char *word = json_text(entry, "kind");

    for (unsigned i = 0; i < SESSION_KINDS; i++)
        if (streq(kinds[i], word)) {
            *ret = (enum session_kind)i;
            return 0;
        }
    (void)edl_error_set(error, -EINVAL, "this node's edl-agent knows no session of kind '%.40s'",
                        word);
    return edl_error_remedy(error, "upgrade the package edl-agent on the node");
}

static int parse_words(const json_t *entry, struct session_request *request,
                       struct edl_error *error)
{
    const json_t *command = json_object_get(entry, "command");
    size_t n = json_array_size(command);

    if (n > SESSION_WORDS_MAX)
        return edl_error_set(error, -EINVAL, "'command' has more than %d words", SESSION_WORDS_MAX);
    request->words = xcalloc(n + 1, sizeof *request->words);
    for (size_t i = 0; i < n; i++) {
        const char *word = json_string_value(json_array_get(command, i));

        if (word == NULL)
            return edl_error_set(error, -EINVAL, "word %zu of 'command' is not text", i);
        request->words[i] = xstrdup(word);
    }
    if (request->kind == SESSION_KIND_EXEC && (n == 0 || request->words[0][0] == '\0'))
        return edl_error_set(error, -EINVAL, "'command' names no program");
    return 0;
}

static uint16_t cells(const json_t *pty, const char *key)
{
    return (uint16_t)MIN_OF(json_u64(pty, key), UINT16_MAX);
}

static int parse_pty(const json_t *entry, struct session_request *request, struct edl_error *error)
{
    const json_t *pty = json_object_get(entry, "pty");
    const char *term = json_text(pty, "term");

    request->has_pty = json_is_object(pty);
    if (!request->has_pty)
        return 0;
    request->size = session_size_or_default(
        (struct session_size){ .rows = cells(pty, "rows"), .columns = cells(pty, "columns") });
    if (strlen(term) >= sizeof request->term || strpbrk(term, "/\n") != NULL)
        return edl_error_set(error, -EINVAL, "'pty.term' is not the name of a terminal");
    (void)snprintf(request->term, sizeof request->term, "%s",
                   term[0] != '\0' ? term : DEFAULT_TERM);
    return 0;
}

/* parse_key - one line, as it becomes one of a file */
static int parse_key(const json_t *entry, struct session_request *request, struct edl_error *error)
{
    const char *key = json_text(entry, "key");

    if (request->kind != SESSION_KIND_SSH)
        return 0;
    if (key[0] == '\0' || strlen(key) > SESSION_KEY_MAX || strpbrk(key, "\r\n") != NULL)
        return edl_error_set(error, -EINVAL, "'key' is not a public key of one line");
    request->key = xstrdup(key);
    return 0;
}

int session_request_parse(const json_t *entry, struct session_request *ret, struct edl_error *error)
{
    int r;

    *ret = (struct session_request){ 0 };
    ret->job = xstrdup(json_text(entry, "job"));
    if (!session_request_id(entry, ret->id))
        return edl_error_set(error, -EINVAL, "'session' is not the number of a session");
    r = process_id_from_json(entry, &ret->process, error);
    if (r == 0)
        r = parse_kind(entry, &ret->kind, error);
    if (r == 0)
        r = parse_words(entry, ret, error);
    if (r == 0)
        r = parse_pty(entry, ret, error);
    return r < 0 ? r : parse_key(entry, ret, error);
}

void session_request_clear(struct session_request *request)
{
    for (size_t i = 0; request->words != NULL && request->words[i] != NULL; i++)
        free(request->words[i]);
    free(request->words);
    free(request->job);
    free(request->key);
    *request = (struct session_request){ 0 };
}

static char *text_of(const json_t *document, const char *key)
{
    return xstrdup(json_text(document, key));
}

int session_config_parse(const json_t *document, struct session_config *ret,
                         struct edl_error *error)
{
    const json_t *ca = json_object_get(document, "ca");

    *ret = (struct session_config){
        .server = text_of(document, "server"),
        .ca = json_is_string(ca) ? text_of(document, "ca") : NULL,
        .credential = text_of(document, "credential"),
        .node = text_of(document, "node"),
        .boot_id = text_of(document, "boot_id"),
        .process_dir = text_of(document, "process_dir"),
        .program_dir = text_of(document, "program_dir"),
        .accounts = json_incref(json_object_get(document, "accounts")),
    };
    return session_request_parse(json_object_get(document, "session"), &ret->request, error);
}

void session_config_clear(struct session_config *config)
{
    free(config->server);
    free(config->ca);
    free(config->credential);
    free(config->node);
    free(config->boot_id);
    free(config->process_dir);
    free(config->program_dir);
    json_decref(config->accounts);
    session_request_clear(&config->request);
    *config = (struct session_config){ 0 };
}
