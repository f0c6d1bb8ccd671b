/* SPDX-License-Identifier: Apache-2.0 */
/* server_round.h - which of the schedulers that an agent knows it asks next
 *
 * Pure. One of them leads, and any of them may, so they are asked in rounds: each once, one after
 * the other, until one takes what it is told. A wait is between two rounds.
 * With one scheduler a round is a try. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SERVER_ROUND_MAX 16U

struct server_round { /* read only for others; all zero: one scheduler, with the number 0 */
    uint32_t listed;  /* a bit for each that may be asked; 0 is read as 1 */
    uint32_t tried;   /* in this round */
    unsigned current; /* the one that is asked */
    unsigned hint;    /* 1 + the one that leads by an answer of this try; 0: nobody said */
    bool answered;    /* somebody did in this round */
    unsigned silent;  /* rounds in a row in which nobody answered */
};

/* server_round_list - which ones there are from now on; the current one stays */
void server_round_list(struct server_round *round, uint32_t listed);

/* server_round_several - is there another one than the current one? */
bool server_round_several(const struct server_round *round);

/* server_round_is_last - has each other one been tried in this round? */
bool server_round_is_last(const struct server_round *round);

/* server_round_hint - an answer names the one that leads: it is asked first. Not listed: nothing */
void server_round_hint(struct server_round *round, unsigned server);

/* server_round_next - the current one did not take it; answered: it said so
 * True: current is another one now, of this round. False: the round is over, and current is the one
 * that the next round begins with. */
bool server_round_next(struct server_round *round, bool answered);

/* server_round_other - the first one behind this number that is not the current one; there is one
 */
unsigned server_round_other(const struct server_round *round, unsigned server);

/* server_round_taken - the current one took it */
void server_round_taken(struct server_round *round);
