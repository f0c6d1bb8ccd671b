/* SPDX-License-Identifier: Apache-2.0 */
/* pserver_rounds.c - synchronous SGD at a parameter server
 *
 * A push waits in the buffer of its connection until its round is over. So the gradient of a
 * trainer that dies before is in no sum, and the sum is made in the order of the trainers' numbers,
 * however they came. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "trainer/exchange/table.h"
#include "trainer/server/ps_connection.h"
#include "trainer/server/pserver_internal.h"

/* A request that is held. */
struct waiting {
    struct ps_connection *connection;
    struct wire_push_pull request; /* points into the connection */
};

/* ---- what ends with the round ---- */

static int by_trainer(const void *a, const void *b)
{
    const struct waiting *one = a, *other = b;
    uint32_t first = ps_connection_peer(one->connection)->trainer;
    uint32_t second = ps_connection_peer(other->connection)->trainer;

    return (first > second) - (first < second);
}

/* gather - the pushes of the present round, by trainer; they were checked when they came */
static struct waiting *gather(const struct pserver *server, size_t *ret_n)
{
    struct waiting *all = xcalloc(server->n_connections + 1, sizeof *all);
    size_t n = 0;

    for (size_t i = 0; i < server->n_connections; i++) {
        struct ps_connection *connection = server->connections[i];
        size_t size = 0;
        const uint8_t *body = ps_connection_held(connection, &size);

        if (body == NULL || wire_push_pull_decode(body, size, table_shape(server->table),
                                                  &all[n].request, NULL) < 0)
            continue;
        if ((all[n].request.flags & WIRE_ROUND) != 0)
            all[n++].connection = connection;
    }
    qsort(all, n, sizeof *all, by_trainer);
    *ret_n = n;
    return all;
}

/* update - one, by the sum of all */
static int update(struct pserver *server, const struct waiting *all, size_t n,
                  struct edl_error *error)
{
    _cleanup_free_ const struct wire_push_pull **pushes = xcalloc(n, sizeof *pushes);
    struct wire_push_pull sum;
    int r;

    if (server->sum == NULL)
        server->sum = push_sum_new(table_shape(server->table));
    for (size_t i = 0; i < n; i++)
        pushes[i] = &all[i].request;
    r = push_sum_make(server->sum, pushes, n, &sum, error);
    if (r >= 0 && n > 1)
        r = table_check(server->table, &sum, error);
    if (r < 0)
        return r;
    table_push(server->table, &sum);
    for (size_t i = 0; i < n; i++)
        server->trainers[ps_connection_peer(all[i].connection)->trainer].lag.committed++;
    return 0;
}

/* release - with its values, or with what is wrong */
static void release(struct pserver *server, const struct waiting *one, int code,
                    const struct edl_error *why)
{
    struct edl_error error = { 0 };
    int r = code;

    if (r >= 0)
        r = pserver_answer(server, one->connection, &one->request, &error);
    if (r < 0)
        (void)pserver_refuse(one->connection, r, code < 0 ? why->text : error.text);
    ps_connection_release(one->connection, r < 0);
}

/* release_entered - those whose round is there */
static void release_entered(struct pserver *server)
{
    for (size_t i = 0; i < server->n_connections; i++) {
        struct waiting one = { .connection = server->connections[i] };
        size_t size = 0;
        const uint8_t *body = ps_connection_held(one.connection, &size);

        if (body != NULL &&
            wire_push_pull_decode(body, size, table_shape(server->table), &one.request, NULL) >=
                0 &&
            (one.request.flags & WIRE_ENTER) != 0 && one.request.round <= server->rounds.now)
            release(server, &one, 0, NULL);
    }
}

static void finish_round(struct pserver *server)
{
    _cleanup_free_ struct waiting *all = NULL;
    struct edl_error error = { 0 };
    size_t n = 0;
    int r = 0;

    all = gather(server, &n);
    if (n > 0)
        r = update(server, all, n, &error);
    rounds_next(&server->rounds);
    for (size_t i = 0; i < n; i++)
        release(server, &all[i], r, &error);
    release_entered(server);
}

void pserver_look_at_rounds(struct pserver *server)
{
    while (rounds_is_over(&server->rounds)) {
        const size_t n = server->n_connections;

        pserver_detach_all(server);
        if (server->n_connections == n)
            finish_round(server);
    }
}

/* ---- what comes ---- */

static int answer(struct pserver *server, struct ps_connection *connection,
                  const struct wire_push_pull *request)
{
    struct edl_error error = { 0 };
    int r = pserver_answer(server, connection, request, &error);

    return r < 0 ? pserver_refuse(connection, r, error.text) : 0;
}

int pserver_take_round(struct pserver *server, struct ps_connection *connection,
                       const struct wire_push_pull *request)
{
    struct rounds *rounds = &server->rounds;
    const uint32_t trainer = ps_connection_peer(connection)->trainer;
    char text[128];
    int r = 0;

    if ((request->flags & WIRE_ENTER) != 0) {
        rounds_enter(rounds, trainer, request->round);
        if (request->round <= rounds->now)
            return answer(server, connection, request);
        ps_connection_hold(connection);
    } else if ((request->flags & WIRE_ROUND) != 0) {
        r = rounds_push(rounds, trainer, request->round, (request->flags & WIRE_LEAVE) != 0);
        if (r < 0) {
            (void)snprintf(text, sizeof text,
                           "a push of round %" PRIu64 ", and round %" PRIu64 " is there",
                           request->round, rounds->now);
            return pserver_refuse(connection, r, text);
        }
        ps_connection_hold(connection);
    } else {
        rounds_leave(rounds, trainer);
        r = answer(server, connection, request);
    }
    pserver_look_at_rounds(server);
    return r;
}
