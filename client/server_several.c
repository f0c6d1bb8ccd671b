/* SPDX-License-Identifier: Apache-2.0 */
/* server_several.c - see server_several.h */
#include "client/server_several.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/server.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/server_list.h"

#define NAMED_MOST 2

static char *base_from(const char *given)
{
    if (strstr(given, "://") != NULL || strncmp(given, "unix:", 5) == 0)
        return xstrdup(given);
    return text_format("http://%s", given);
}

/* A path of a socket may have a comma. */
static bool is_one(const char *given)
{
    return strncmp(given, "unix:", 5) == 0 || strchr(given, ',') == NULL;
}

static int parse(const char *given, struct server_list *ret, struct edl_error *error)
{
    struct server_list list = { 0 };
    int r = 0;

    for (const char *at = given; r == 0;) {
        size_t size = strcspn(at, ",");
        _cleanup_free_ char *item = text_format("%.*s", (int)size, at);
        _cleanup_free_ char *base = base_from(item);

        r = size == 0 ? edl_error_set(error, -EINVAL, "an address of a scheduler is empty")
                      : server_list_add(&list, base, error);
        if (r == -EEXIST)
            r = 0;
        if (at[size] == '\0')
            break;
        at += size + 1;
    }
    if (r < 0) {
        (void)edl_error_remedy(error, "give URL, or URL,URL without blanks");
        server_list_clear(&list);
        return r;
    }
    *ret = list;
    return 0;
}

/* --- which one answered last --- */

/* NULL when there is no home */
static char *state_path(const char *name)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");

    if (state != NULL && state[0] == '/')
        return text_format("%s/%s", state, name);
    return home != NULL && home[0] == '/' ? text_format("%s/.local/state/%s", home, name) : NULL;
}

static size_t recall(const struct server_list *list)
{
    _cleanup_free_ char *path = state_path("edl/server");
    _cleanup_close_ int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    char text[PATH_MAX];
    ssize_t n = fd != -1 ? read(fd, text, sizeof text - 1) : -1;
    size_t at;

    if (n <= 0)
        return 0;
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    at = server_list_find(list, text);
    return at < list->n ? at : 0;
}

/* make_folders - of the file in path; a fresh account has none of them */
static void make_folders(char *path)
{
    for (char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
}

/* Nothing depends on it: where it cannot be kept, the next command begins with the first one. */
static void keep(const char *base)
{
    _cleanup_free_ char *path = state_path("edl/server");
    _cleanup_free_ char *fresh = path != NULL ? text_format("%s.%d", path, (int)getpid()) : NULL;
    _cleanup_free_ char *line = text_format("%s\n", base);
    _cleanup_close_ int fd = -1;

    if (fresh == NULL)
        return;
    make_folders(path);
    fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd == -1)
        return;
    if (write(fd, line, strlen(line)) != (ssize_t)strlen(line) || rename(fresh, path) == -1)
        (void)unlink(fresh);
}

/* --- */

int server_several_take(const char *given, struct server *server, struct edl_error *error)
{
    struct server_list list = { 0 };
    int r;

    if (is_one(given)) {
        server->base = base_from(given);
        return 0;
    }
    r = parse(given, &list, error);
    if (r < 0)
        return r;
    server->servers = list;
    server->current = recall(&list);
    server->kept = server->current;
    server->base = xstrdup(list.urls[server->current]);
    return 0;
}

bool server_several_covers(const char *given, const struct server *server)
{
    struct server_list list = { 0 };
    bool covers = true;

    if (is_one(given)) {
        _cleanup_free_ char *base = base_from(given);

        return server->servers.n < 2 && streq(base, server->base);
    }
    if (parse(given, &list, NULL) < 0)
        return false;
    if (server->servers.n == 0)
        covers = server_list_find(&list, server->base) < list.n;
    for (size_t i = 0; i < server->servers.n; i++)
        covers = covers && server_list_find(&list, server->servers.urls[i]) < list.n;
    server_list_clear(&list);
    return covers;
}

bool server_several_turn(struct server *server, size_t at)
{
    struct http_client *http;

    if (http_client_new_quick(server->servers.urls[at], &http, NULL) < 0)
        return false;
    if (server->ca != NULL)
        http_client_trust(http, server->ca);
    (void)http_client_free(server->http);
    server->http = http;
    free(server->base);
    server->base = xstrdup(server->servers.urls[at]);
    server->current = at;
    return true;
}

/* The leader that a standby names; n: none that was given */
static size_t named(const struct server *server, const struct http_answer *answer)
{
    const struct server_list *list = &server->servers;

    return answer->leader[0] != '\0' ? server_list_find(list, answer->leader) : list->n;
}

bool server_several_next(struct server *server, const struct http_answer *answer,
                         struct server_round *round)
{
    size_t n = server->servers.n;
    size_t leader;

    if (n < 2 || answer->failure == -ETIMEDOUT ||
        (answer->failure == 0 && answer->status != 503 && answer->status != 401))
        return false;
    round->tried |= 1U << server->current;
    leader = answer->failure == 0 ? named(server, answer) : n;
    if (leader < n && leader != server->current && round->named < NAMED_MOST) {
        round->named++;
        return server_several_turn(server, leader);
    }
    for (size_t i = 1; i < n; i++) {
        size_t at = (server->current + i) % n;

        if ((round->tried & 1U << at) == 0)
            return server_several_turn(server, at);
    }
    return false;
}

void server_several_fault(struct server *server, const struct http_answer *answer)
{
    struct edl_error error = { 0 };

    if (answer == NULL) {
        for (size_t i = 0; i < server->servers.n; i++)
            free(TAKE_PTR(server->faults[i]));
        return;
    }
    (void)http_answer_error(answer, &error);
    free(server->faults[server->current]);
    server->faults[server->current] =
        text_format("%s%s%s%s%s", answer->failure == 0 ? server->base : "",
                    answer->failure == 0 ? ": " : "", error.text,
                    error.remedy[0] != '\0' ? "; try: " : "", error.remedy);
}

char *server_several_faults(const struct server *server, size_t but)
{
    char *lines = NULL;

    for (size_t i = 0; i < server->servers.n; i++) {
        char *longer;

        if (i == but || server->faults[i] == NULL)
            continue;
        longer = text_format("%s%s%s", lines != NULL ? lines : "", lines != NULL ? "\n" : "",
                             server->faults[i]);
        free(lines);
        lines = longer;
    }
    return lines;
}

void server_several_heard(struct server *server)
{
    if (server->servers.n < 2 || server->current == server->kept)
        return;
    keep(server->base);
    server->kept = server->current;
}
