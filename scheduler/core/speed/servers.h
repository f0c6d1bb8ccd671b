/* SPDX-License-Identifier: Apache-2.0 */
/* servers.h - with how many parameter servers a new job of a family begins
 *
 * The number stays for good, since what the servers hold is divided among so many; so it is found
 * from job to job. Numbers are compared by the time of the very same program with each, in seconds:
 * other arguments of it may make a unit of work longer, and nobody could tell that from the
 * servers. That program is the family's reference; another one takes its place when it did not come
 * for GOODPUT_SERVERS_STRANGERS starts. It keeps
 *   - of the family: which program is the reference, and how many others were started since it was,
 *   - of each number of servers: seconds per unit by size, of the reference (or of one before it),
 *     and how often it was started with so many.
 *
 * Each number is judged by as many trainers as it leaves room for; where it was
 * seen beside more of them alone, it is taken to do as well beside fewer. Of the numbers that were
 * measured the one is taken that is fastest; more servers have to gain
 * GOODPUT_SERVERS_MARGIN, because trainers can be given back and servers cannot. A job of the
 * reference goes on from there: to the next larger number, else to the next smaller one, if that
 * was not measured yet and not tried in vain GOODPUT_SERVERS_TRIES times. All others have what is
 * best so far.
 *
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/speed/family.h"

#define GOODPUT_SERVERS_MARGIN 1.05
#define GOODPUT_SERVERS_TRIES 3
#define GOODPUT_SERVERS_STRANGERS 3
/* The minimum, twice that and so on, and the maximum: 1 to 1024 are 11. */
#define GOODPUT_SERVERS_NUMBERS 12

/* One number of servers. */
struct goodput_servers_number {
    uint32_t pservers;
    uint32_t workers;          /* that it leaves room for; 0: not enough, it is not to be had */
    struct goodput_prior seen; /* its figures */
};

struct goodput_servers_question {
    uint64_t program; /* the program of the new job, a digest; > 0 */
    bool may_try;     /* that is the reference */
    uint32_t n;       /* > 0 */
    struct goodput_servers_number numbers[GOODPUT_SERVERS_NUMBERS]; /* ascending; the first one has
                                                                       workers */
};

struct goodput_servers {
    uint32_t pservers;
    uint32_t workers;    /* beside so many; 0: nothing was measured, it is the minimum */
    uint32_t least;      /* the fewest servers that were measured: */
    double gain;         /* so many times as fast as those; of a try, as the best so far is */
    uint32_t n_compared; /* numbers that were measured and that there is room for */
    bool tries;          /* no job of the reference was measured with so many */
};

/* goodput_servers_numbers - those from min to max that are looked at; how many */
uint32_t goodput_servers_numbers(uint32_t min, uint32_t max, uint32_t ret[GOODPUT_SERVERS_NUMBERS]);
/* goodput_servers_choose - at most one evaluation of a curve for each number */
struct goodput_servers goodput_servers_choose(const struct goodput_servers_question *question);

/* goodput_servers_begun - a job of that program is about to be started: the reference is the
 * program that comes again and again. True: it is the reference */
bool goodput_servers_begun(struct goodput_prior *family, uint64_t program);
/* goodput_servers_tried - one of the reference was started with this number, to try it: the figures
 * of one before it with so many are forgotten */
void goodput_servers_tried(struct goodput_prior *number, uint64_t program);
/* goodput_servers_note - a job of that program has just completed a measurement: noted under the
 * name `number` if it is the reference of `family` */
void goodput_servers_note(struct goodput_families *families, const char *family, const char *number,
                          uint64_t program, const struct goodput_learned *learned);
