/* SPDX-License-Identifier: Apache-2.0 */
/* family.h - how much work jobs of a family take, as far as that was seen
 *
 * A job that goes on is taken to be as long as the median of those of its family that took more
 * than it has done: the shorter ones say nothing of it any more. While there are none, the job of
 * its family that has done the most says how long they are at least. As there may be as much before
 * it as behind it, twice that is assumed for all of them. So jobs of a family are told apart from
 * others long before the first of them has ended, which geometric levels of each job alone cannot.
 *
 * A name that is given to unlike jobs does little harm: the median of the longer ones is right for
 * mixtures as well. Pure. Work is counted in any unit that the jobs of a family share.
 *
 * The live scheduler keeps what is known of a family's speed beside that (speed/prior.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/speed/prior.h"
#include "scheduler/core/speed/gpu_types.h"

/* Jobs of a family that have ended; more say nothing new, and every other one is forgotten. */
#define GOODPUT_FAMILY_ENDED_MAX 1024

/* All that is known of one, to be kept elsewhere. */
struct goodput_family_facts {
    const char *name;
    uint64_t n_begun;
    double most;         /* work, that any of its jobs has done */
    const double *ended; /* work of those that have ended, ascending; n_ended */
    size_t n_ended;
    struct goodput_prior prior;
    struct gpu_speeds types;
};

struct goodput_families;

/* goodput_families_new - as many as come */
struct goodput_families *goodput_families_new(void);
/* goodput_family_owner - how many characters of a name are its owner's: all before the last ":",
 * none without one */
size_t goodput_family_owner(const char *name);
/* goodput_families_bound - from now on at most so many (> 0): for a new one one of the owner with
 * the most is forgotten, and of his the one that nothing was noted of for longest, so that nobody
 * pushes out what is known of the others' jobs; and of each at most so many that have ended (2 to
 * GOODPUT_FAMILY_ENDED_MAX, which it is at first) */
void goodput_families_bound(struct goodput_families *families, size_t most, size_t most_ended);
/* goodput_families_copy - an independent one. Linear */
struct goodput_families *goodput_families_copy(const struct goodput_families *families);
/* goodput_families_free - accepts NULL; returns NULL */
struct goodput_families *goodput_families_free(struct goodput_families *families);

/* A name of "" is no family: nothing is noted. O(1) but for goodput_family_ended, which is O(number
 * of its ended jobs) at worst. */
/* goodput_family_begun - one more job of it is there */
void goodput_family_begun(struct goodput_families *families, const char *name);
/* goodput_family_done - what one of its jobs has done until now */
void goodput_family_done(struct goodput_families *families, const char *name, double work);
/* goodput_family_ended - what one of its jobs had done when it ended with success */
void goodput_family_ended(struct goodput_families *families, const char *name, double work);

/* goodput_family_prior - of its speed, to be read and noted in; NULL when it is no family. Good
 * until the next note of any family. O(1) */
struct goodput_prior *goodput_family_prior(struct goodput_families *families, const char *name);
/* goodput_family_types - likewise, of its speed on each type of GPU. goodput_family_speeds - the
 * same to be read only: nothing is noted; NULL: there is none of that name */
struct gpu_speeds *goodput_family_types(struct goodput_families *families, const char *name);
const struct gpu_speeds *goodput_family_speeds(const struct goodput_families *families,
                                               const char *name);

/* goodput_family_get - borrowed until the next note of any family; false: there is none of that
 * name. goodput_family_put - as it was kept, in place of the present knowledge; its ended jobs
 * ascend and are not too many */
bool goodput_family_get(const struct goodput_families *families, const char *name,
                        struct goodput_family_facts *ret);
void goodput_family_put(struct goodput_families *families,
                        const struct goodput_family_facts *facts);

/* goodput_family_work - of a whole job that has done so much; 0: nobody knows. O(log n) */
double goodput_family_work(const struct goodput_families *families, const char *name, double done);
/* The basis of a deadline's plan: so many tenths of those that have ended took no more. */
#define GOODPUT_LONGEST_TENTHS 9
/* goodput_family_longest - what nine in ten of those that have ended took at most; of one that has
 * done more than that as goodput_family_work. 0: none has ended. O(log n) */
double goodput_family_longest(const struct goodput_families *families, const char *name,
                              double done);
/* goodput_family_tenth - of those that have ended, the most that so many tenths took; n_ended >
 * 0 */
double goodput_family_tenth(const struct goodput_family_facts *family, unsigned tenths);
