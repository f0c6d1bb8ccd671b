/* SPDX-License-Identifier: Apache-2.0 */
/* server_round.c - see server_round.h */
#include "agent/core/server_round.h"

#define SILENT_MOST 10U

static uint32_t bit(unsigned server)
{
    return UINT32_C(1) << server;
}

static uint32_t all(const struct server_round *round)
{
    return round->listed | bit(round->current);
}

void server_round_list(struct server_round *round, uint32_t listed)
{
    round->listed = listed;
    round->tried &= all(round);
}

bool server_round_several(const struct server_round *round)
{
    return all(round) != bit(round->current);
}

bool server_round_is_last(const struct server_round *round)
{
    return (all(round) & ~round->tried & ~bit(round->current)) == 0;
}

void server_round_hint(struct server_round *round, unsigned server)
{
    if (server < SERVER_ROUND_MAX && (all(round) & bit(server)) != 0)
        round->hint = server + 1;
}

/* behind - the first of these behind the given one; that one when there is none */
static unsigned behind(unsigned server, uint32_t these)
{
    for (unsigned i = 1; i < SERVER_ROUND_MAX; i++) {
        unsigned next = (server + i) % SERVER_ROUND_MAX;

        if ((these & bit(next)) != 0)
            return next;
    }
    return server;
}

unsigned server_round_other(const struct server_round *round, unsigned server)
{
    return behind(server, all(round) & ~bit(round->current));
}

static unsigned hinted_or_behind(const struct server_round *round, uint32_t these)
{
    if (round->hint != 0 && (these & bit(round->hint - 1)) != 0)
        return round->hint - 1;
    return behind(round->current, these);
}

bool server_round_next(struct server_round *round, bool answered)
{
    uint32_t left;
    bool more;

    round->tried |= bit(round->current);
    round->answered = round->answered || answered;
    left = all(round) & ~round->tried;
    more = left != 0;
    if (!more) {
        round->silent = round->answered ? 0 : round->silent + (round->silent < SILENT_MOST);
        round->tried = 0;
        round->answered = false;
        left = all(round);
    }
    round->current = hinted_or_behind(round, left);
    round->hint = 0;
    return more;
}

void server_round_taken(struct server_round *round)
{
    round->tried = 0;
    round->hint = 0;
    round->answered = false;
    round->silent = 0;
}
