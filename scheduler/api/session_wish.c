/* SPDX-License-Identifier: Apache-2.0 */
/* session_wish.c - see session_wish.h */
#include "scheduler/api/session_wish.h"

#include <errno.h>
#include <string.h>

#include "scheduler/calls/body.h"
#include "scheduler/nodes/sessions.h"
#include "shared/error.h"
#include "shared/macro.h"

#define SIDE_MAX 65535
#define NAME_BYTES_MAX 80

/* Which members each kind takes, beside process, kind and ends_job. */
static const struct {
    const char *members;
    const char *needs; /* without this one it is none; NULL: it needs none */
} rules[] = {
    [SESSION_EXEC] = { "command pty", "command" },
    [SESSION_SHELL] = { "command pty", NULL },
    [SESSION_ATTACH] = { "pty", NULL },
    [SESSION_FORWARD] = { "port", NULL },
    [SESSION_SSH] = { "key", "key" },
};

static int check_words(const json_t *command, struct edl_error *error)
{
    size_t n = json_array_size(command), bytes = 0;

    for (size_t i = 0; i < n; i++) {
        const char *word = json_string_value(json_array_get(command, i));

        if (word == NULL)
            return edl_error_at(error, -EINVAL, "/command", "/command is not a list of words");
        bytes += strlen(word) + 1;
    }
    if (n == 0 || json_string_length(json_array_get(command, 0)) == 0) {
        (void)edl_error_at(error, -EINVAL, "/command", "/command names no program");
        return edl_error_remedy(error, "for example [\"nvidia-smi\"]");
    }
    if (n > SESSION_COMMAND_WORDS_MAX || bytes > SESSION_COMMAND_BYTES_MAX) {
        (void)edl_error_at(error, -E2BIG, "/command",
                           "/command has more than %d words, or than %d bytes",
                           SESSION_COMMAND_WORDS_MAX, SESSION_COMMAND_BYTES_MAX);
        return edl_error_remedy(error, "put it into a script that the process sees, and name that");
    }
    return 0;
}

/* check_size - of the order that is made of it: a byte that no text has takes six in JSON */
static int check_size(const json_t *command, struct edl_error *error)
{
    if (json_dumpb(command, NULL, 0, JSON_COMPACT) <= SESSION_COMMAND_JSON_MAX)
        return 0;
    (void)edl_error_at(error, -E2BIG, "/command", "/command has more than %d bytes in JSON",
                       SESSION_COMMAND_JSON_MAX);
    return edl_error_remedy(error, "put it into a script that the process sees, and name that");
}

static int read_command(const struct body_field *may, json_t *members, struct edl_error *error)
{
    const json_t *command = NULL;
    int r = body_array(may, "command", &command, error);

    if (r < 0 || command == NULL)
        return r;
    r = check_words(command, error);
    if (r == 0)
        r = check_size(command, error);
    if (r == 0)
        (void)json_object_set_new(members, "command", json_deep_copy(command));
    return r;
}

/* A terminal that does not know its size says 0. */
static int read_pty(const struct body_field *may, json_t *members, struct edl_error *error)
{
    struct body_field pty = { .object = json_object_get(may->object, "pty"), .at = "/pty" };
    uint64_t rows = 0, columns = 0;
    const char *term = "xterm";
    int r = 0;

    if (!body_has(may, "pty"))
        return 0;
    if (!json_is_object(pty.object))
        return edl_error_at(error, -EINVAL, "/pty", "/pty is not an object");
    r = body_known(&pty, "rows columns term", error);
    if (r == 0)
        r = body_u64(&pty, "rows", SIDE_MAX, &rows, error);
    if (r == 0)
        r = body_u64(&pty, "columns", SIDE_MAX, &columns, error);
    if (r == 0)
        r = body_string(&pty, "term", SESSION_TERM_BYTES_MAX, &term, error);
    if (r < 0)
        return r;
    if (rows == 0 || columns == 0) {
        rows = SESSION_ROWS_FALLBACK;
        columns = SESSION_COLUMNS_FALLBACK;
    }
    (void)json_object_set_new(members, "pty",
                              json_pack("{s:I,s:I,s:s}", "rows", (json_int_t)rows, "columns",
                                        (json_int_t)columns, "term", term));
    return 0;
}

static int read_port(const struct body_field *may, json_t *members, struct edl_error *error)
{
    uint64_t port = 0;
    int r = body_u64(may, "port", SIDE_MAX, &port, error);

    if (r < 0 || !body_has(may, "port"))
        return r;
    if (port == 0)
        return edl_error_at(error, -EINVAL, "/port", "/port is 0: a port is one from 1 to %d",
                            SIDE_MAX);
    (void)json_object_set_new(members, "port", json_integer((json_int_t)port));
    return 0;
}

/* A line of an authorized_keys file, without options: they would be the caller's word alone. */
static int read_key(const struct body_field *may, json_t *members, struct edl_error *error)
{
    static const char *const kinds[] = { "ssh-", "ecdsa-", "sk-" };
    const char *key = NULL;
    int r = body_string(may, "key", SESSION_KEY_BYTES_MAX, &key, error);

    if (r < 0 || key == NULL)
        return r;
    for (size_t i = 0; i < ELEMENTS(kinds); i++) {
        if (strncmp(key, kinds[i], strlen(kinds[i])) == 0) {
            (void)json_object_set_new(members, "key", json_string(key));
            return 0;
        }
    }
    (void)edl_error_at(error, -EINVAL, "/key", "/key is no public key of OpenSSH");
    return edl_error_remedy(error, "for example the line in ~/.ssh/id_ed25519.pub");
}

static int read_kind(const struct body_field *body, enum session_kind *ret, struct edl_error *error)
{
    struct body_field must = *body;
    const char *word;
    int r, kind;

    must.required = true;
    r = body_string(&must, "kind", NAME_BYTES_MAX, &word, error);
    if (r < 0)
        return r;
    kind = session_kind_from_string(word);
    if (kind >= 0) {
        *ret = (enum session_kind)kind;
        return 0;
    }
    (void)edl_error_at(error, -EINVAL, "/kind", "there is no session of the kind \"%s\"", word);
    return edl_error_remedy(error, "known: exec, shell, attach, forward, ssh");
}

/* refuse_others - what would be taken and not followed is refused */
static int refuse_others(const struct body_field *body, enum session_kind kind,
                         struct edl_error *error)
{
    static const char *const all[] = { "/command", "/pty", "/port", "/key" }; /* pointers */

    for (size_t i = 0; i < ELEMENTS(all); i++) {
        const char *key = all[i] + 1;

        if (!body_has(body, key) || strstr(rules[kind].members, key) != NULL)
            continue;
        (void)edl_error_at(error, -EINVAL, all[i], "a session of the kind %s has no %s",
                           session_kind_to_string(kind), key);
        return edl_error_remedy(error, "leave it out; that kind takes: %s", rules[kind].members);
    }
    if (rules[kind].needs == NULL || body_has(body, rules[kind].needs))
        return 0;
    return edl_error_set(error, -EINVAL, "a session of the kind %s needs a %s",
                         session_kind_to_string(kind), rules[kind].needs);
}

int session_wish_read(const json_t *body, struct session_wish *wish, const char **ret_process,
                      struct edl_error *error)
{
    struct body_field field = { .object = body, .at = "" };
    int r = body_known(&field, "process kind command pty port key ends_job", error);

    if (r == 0)
        r = read_kind(&field, &wish->kind, error);
    if (r == 0)
        r = body_string(&field, "process", NAME_BYTES_MAX, ret_process, error);
    if (r == 0)
        r = refuse_others(&field, wish->kind, error);
    if (r == 0)
        r = body_bool(&field, "ends_job", &wish->ends_job, error);
    if (r == 0)
        r = read_command(&field, wish->members, error);
    if (r == 0)
        r = read_pty(&field, wish->members, error);
    if (r == 0)
        r = read_port(&field, wish->members, error);
    return r == 0 ? read_key(&field, wish->members, error) : r;
}
