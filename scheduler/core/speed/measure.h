/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h - the speed curve of a job that says nothing of itself, from its task queue alone
 *
 * The queue knows how many tasks were finished and how much was in them; the scheduler knows how
 * many instances ran. While that number stays, the time per unit of work is one measurement of
 *     T(k) = t0/k + t1 + t3 k          all t >= 0
 * which is the model of speed/fit_pserver.h with the servers held constant. The time right behind a
 * change of size is not learnt from: instances start, caches are cold, tasks that were leased
 * before are still under way.
 *
 * Optimistic: until two sizes were measured a job is taken to be nearly as fast as it has instances
 * (GOODPUT_UNTRIED). It grows to four times the largest size that was measured, so a wrong guess
 * costs one resize, not a cluster. A job from which nothing can be measured, since it has no task
 * queue, grows fourfold in one decision, and shares evenly with others of its kind.
 *
 * Pure, no allocation; small enough to be part of a job and to be copied with it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/speed/curve.h"
#include "scheduler/core/speed/fit_pserver.h"
#include "scheduler/core/speed/length.h"

#define GOODPUT_GROWTH_MAX 4 /* times what was measured, or its minimum */
#define GOODPUT_RESIZE_S 10  /* until one was measured */
/* Beyond the largest size that was measured, L, the speed that follows from the measurements is
 * multiplied by (k/L)^-0.1: k^0.9 when nothing was. With a straight line each further instance
 * would be worth as much as the last one, and of jobs of which nothing is known one would take all
 * that there is; so they share it equally. A tried size is believed as it was. */
#define GOODPUT_UNTRIED 0.1
/* Of a job that says nothing no speed will ever be known. Its curve is multiplied by k^-0.8, so
 * that such jobs share evenly what there is. */
#define GOODPUT_SILENT 0.8
#define GOODPUT_RANK_STEP 2 /* times */
/* The same of a length that is guessed from jobs of its family that run still. That guess doubles
 * again and again while they run. Eight equal jobs that tell of steps had 33 resizes a job-hour
 * with 2, and 14 with this. It is the ratio of GOODPUT_LEVELS, for the same reason. */
#define GOODPUT_RANK_STEP_GUESSED 16 /* times */
/* A change that goes on for longer waits for something else than itself, and an instance that has
 * not begun to work by then never will: another one takes the tasks for it. */
#define GOODPUT_RESIZE_MAX_S 300

/* The instances of a job that are there, whenever that changes. */
struct goodput_size {
    double now_s;
    uint32_t wanted;  /* instances that work or are to: they live and are not being stopped */
    uint32_t working; /* of them, that have begun to */
    bool stopping;    /* others are on their way out */
    bool disturbed;   /* it lacks some for another reason than a change of its size */
};

struct goodput_learned {
    struct goodput_pserver_fit fit; /* of its own measurements and its family's */
    struct goodput_pserver_fit own; /* of its own alone */
    uint32_t instances;             /* of the window; 0: there is none */
    bool warm;                      /* the effects of a change of size have passed */
    double from_s;                  /* when the window began */
    uint64_t from_tasks;
    double from_units;
    double recent_s[3]; /* per unit, of the windows since the last measurement */
    uint32_t n_recent;
    uint32_t windows;  /* measurements of its own, of all sizes */
    double measured_s; /* per unit, by the last one, */
    uint32_t measured; /* with so many instances */
    uint32_t largest;  /* instances, of a measurement of its own or of its family's; 0: none */
    bool silent;       /* it says nothing from which its speed could be measured */
    bool borrowed;     /* all that is known is of its family, the unit as well */
    double work_s;     /* that was done, in seconds on one instance as far as its speed is known */
    double family_s;   /* that a whole job of its family takes, so counted; 0: nobody knows */
    double lasts_s;    /* the same, 0 also while none of its family has ended: no guess */
    double longest_s;  /* the most that nine in ten of those that have ended took; 0: none has */
    double length;     /* by which it is ranked (goodput_learn_rank); 0: not yet */
    double hint_s;     /* its owner's guess of its time, so counted; 0: none */
    struct goodput_size size;
    uint32_t sizes;   /* how often it became another one by more than a quarter: */
    uint32_t size_of; /* since when it was that */
    double uneven_s;  /* since when not all that are wanted work; below 0: they do */
    double change_s;  /* when a change of size began that is under way; below 0: there is none */
    double moved_s;   /* its last step */
    uint32_t was;     /* instances, before it */
    uint32_t steps;   /* of it: one at each instant at which the size moved */
    double lost_s;    /* by it so far */
    double resize_s;  /* of no progress, that a change costs; the last ones most */
};

struct goodput_progress {
    double now_s;
    uint32_t instances; /* that all run, and are all that there are; 0: it is being resized */
    double evenness;    /* their speed by that without slow ones; 0: taken as 1 */
    uint64_t tasks;     /* finished so far, over all passes */
    double units;       /* of work in them: records */
};

/* The span of a curve. */
struct goodput_span {
    uint32_t min, max;        /* instances; 1 <= min <= max */
    uint32_t current;         /* held now; 0: none */
    double cost_per_instance; /* bundles, > 0 */
};

void goodput_learn_init(struct goodput_learned *learned);
/* goodput_learn_note - how far a job is, whenever somebody looks: true when that completed a
 * measurement: the median of three windows of one size, so that a node that froze for a while
 * teaches nothing. A window ends after one task of each instance, and two at least. O(1). */
bool goodput_learn_note(struct goodput_learned *learned, const struct goodput_progress *progress);
/* goodput_learn_size - who is there now. A change of size costs the time in which those that work
 * are slower together than those that are wanted will be, by as much as they are: a growth stops
 * nobody here, so it costs the start of the new ones, by the part that they are to add; an instance
 * that waits for a new generation does not work either. That is the resize_s of goodput_kept_share.
 * A change that lasts for longer than GOODPUT_RESIZE_MAX_S, or while something is repaired, queued
 * or frozen, was no resize. Several at once are told apart by their beginnings. O(1). */
void goodput_learn_size(struct goodput_learned *learned, const struct goodput_size *size);
/* goodput_learn_stood_still - one of its instances did for so long, up to the last
 * goodput_learn_size, and worked for that much less */
void goodput_learn_stood_still(struct goodput_learned *learned, double instance_s);
/* goodput_learn_lost - so much work of one instance is to be done again: it was stopped before its
 * task was done. It counts for the change that is under way, by its work in that time at the size
 * before and the work of all now. */
void goodput_learn_lost(struct goodput_learned *learned, double instance_s);
/* goodput_learn_unit_s - seconds per unit with so many instances; 0: nothing was measured yet, nor
 * of its family */
double goodput_learn_unit_s(const struct goodput_learned *learned, uint32_t instances);
/* goodput_learn_speedup - how much faster than one so many are together; 0 of none */
double goodput_learn_speedup(const struct goodput_learned *learned, uint32_t instances);
/* goodput_learn_curve - at most GOODPUT_POINTS_MAX sizes from min on: all when there are no more;
 * else all small ones, geometric ones to the end, and always the present one with its two
 * neighbours, for a policy that moves one instance at a time; at most the present one, or
 * GOODPUT_GROWTH_MAX times the largest that was measured (of a silent job: that is held). Never
 * empty. O(GOODPUT_POINTS_MAX). */
void goodput_learn_curve(const struct goodput_learned *learned, const struct goodput_span *span,
                         struct goodput_curve *ret_curve);
/* goodput_learn_work - the work left and the work done, in seconds on one instance; units_left
 * below
 * 0: nobody knows. Then, and while nothing was measured, the work done is the time that its
 * instances worked.
 */
struct goodput_work goodput_learn_work(const struct goodput_learned *learned, double units_done,
                                       double units_left);
/* goodput_learn_rank - the length by which it is ranked is a guess. It changes only when the guess
 * is off by more than GOODPUT_RANK_STEP, or jobs that are about as long would overtake each other
 * with every measurement; by more than GOODPUT_RANK_STEP_GUESSED where the guess follows jobs of
 * its family that run still. */
void goodput_learn_rank(struct goodput_learned *learned, const struct goodput_span *span,
                        double remaining_s, bool guessed);
/* goodput_learn_remaining - the rest of that by its own count, else by the ended jobs of its
 * family; below 0: neither says */
double goodput_learn_remaining(const struct goodput_learned *learned,
                               const struct goodput_work *work);
/* goodput_learn_longest - the same, by the most that nine in ten of them took */
double goodput_learn_longest(const struct goodput_learned *learned,
                             const struct goodput_work *work);
