/* SPDX-License-Identifier: Apache-2.0 */
/* server_several.h - a cluster whose schedulers have several addresses: one of them leads
 *
 * Which one answered last is kept in the state folder of the user, where the next call begins. A
 * token goes to no address but those that were given. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct edl_error;
struct http_answer;
struct server;

/* One call, until it is answered or every address was tried. All zero: none was. */
struct server_round {
    unsigned tried; /* a bit for each address */
    unsigned named; /* how often an answer named the leader, and that was asked */
};

/* server_several_take - "URL[,URL...]", each as it may be given alone. One: base and nothing else.
 * Several: base is the one that answered last, or the first. -EINVAL with a remedy */
int server_several_take(const char *given, struct server *server, struct edl_error *error);

/* server_several_covers - is each of the server's addresses one of these? */
bool server_several_covers(const char *given, const struct server *server);

/* server_several_next - the call is to be made again, at once, at another address: nobody answered,
 * or who answered does not lead. Each address once, and the leader that a standby names at most
 * twice. False: it is to be told, or waited for */
bool server_several_next(struct server *server, const struct http_answer *answer,
                         struct server_round *round);

/* server_several_turn - base is this one of the addresses from now on; false: it cannot be called
 */
bool server_several_turn(struct server *server, size_t at);

/* server_several_fault - who was called last answered nothing, or does not lead: why is kept until
 * the next round begins (answer NULL)
 * server_several_faults - the fault of each address but one (n: of all), a line each; the caller's,
 * NULL for none */
void server_several_fault(struct server *server, const struct http_answer *answer);
char *server_several_faults(const struct server *server, size_t but);

/* server_several_heard - the one that was called last answered as a leader does */
void server_several_heard(struct server *server);
