/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_types_search.c - the best division among several types: a beam that bounds
 *
 * Job by job, those that pay most first, because what they take decides what room is left. A branch
 * is what was chosen for the jobs so far. Whatever the later ones take, they add no more than what
 * each has left after paying, and the price of the room: a branch whose sum is no better than the
 * best choice so far is left out, and with it all options of a job that leave less. Of branches
 * that leave the same room one is enough: with the few sizes that jobs on GPUs have it is a dynamic
 * programme of the rooms that matter.
 *
 * Only so many branches are followed, those of the largest sum. As long as something had to be
 * dropped for that, it begins again with a wider beam and the better choice to compare with, until
 * the tries are used up. If nothing was dropped, the answer is exact. */
#include "scheduler/core/goodput_types_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"

#define SLACK 1e-9
#define WIDTH_FIRST 16
#define WIDTH_FACTOR 16
#define WIDTH_MAX 65536 /* 25 MB; the tries allow for less, mostly */
#define NOBODY UINT32_MAX

struct ranked {
    int option; /* or GOODPUT_NO_OPTION */
    double surplus;
};

struct level {                   /* one job */
    size_t at;                   /* among the choosers */
    const struct ranked *ranked; /* borrowed: what leaves most first */
    size_t n_ranked;
    double pays;  /* for its first option */
    double later; /* what the jobs behind have left after paying, at most */
};

struct step {
    uint32_t from; /* branch of the level before */
    int option;
};

struct branch {
    double value; /* of what was chosen */
    double worth; /* that, and the room at its prices */
    double left[GOODPUT_TYPES_MAX];
    struct step step;
};

struct beam {
    struct goodput_search *search;
    struct level *levels;  /* owned: of each job */
    struct ranked *ranked; /* owned */
    size_t n_ranked;
    size_t width;
    struct branch *now, *then; /* owned: room for twice the width */
    size_t n_now, n_then;
    uint32_t *table;    /* owned: room -> place in `then`, or NOBODY */
    size_t n_table;     /* a power of two */
    struct step *trail; /* owned: `width` of each level */
    double least_worth; /* of who can still be among the `width` best of this level */
    bool dropped;
};

/* --- the order of jobs and options --------------------------------------------------------------
 */

static int most_surplus_first(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;

    if (a->surplus != b->surplus)
        return a->surplus > b->surplus ? -1 : 1;
    return (a->option > b->option) - (a->option < b->option);
}

static int pays_most_first(const void *left, const void *right)
{
    const struct level *a = left, *b = right;

    if (a->pays != b->pays)
        return a->pays > b->pays ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static double price_of(const struct goodput_search *s, const struct goodput_option *option)
{
    return s->types[option->type].price * option->cost;
}

static struct level rank(const struct goodput_search *s, size_t at, struct ranked *ranked)
{
    const struct goodput_chooser *chooser = s->choosers[at];
    struct level level = { .at = at, .ranked = ranked };

    ranked[level.n_ranked++] = (struct ranked){ GOODPUT_NO_OPTION, 0 };
    for (int o = 0; o < chooser->n_options; o++) {
        const struct goodput_option *option = &chooser->options[o];

        if (option->cost <= s->types[option->type].budget + SLACK)
            ranked[level.n_ranked++] = (struct ranked){ o, option->value - price_of(s, option) };
    }
    qsort(ranked, level.n_ranked, sizeof *ranked, most_surplus_first);
    if (ranked[0].option >= 0)
        level.pays = price_of(s, &chooser->options[ranked[0].option]);
    return level;
}

static void rank_all(struct beam *b)
{
    const struct goodput_search *s = b->search;
    size_t room = 0;

    for (size_t i = 0; i < s->n; i++)
        room += (size_t)s->choosers[i]->n_options + 1;
    b->levels = xcalloc(s->n, sizeof *b->levels);
    b->ranked = xcalloc(room, sizeof *b->ranked);
    for (size_t i = 0; i < s->n; i++) {
        b->levels[i] = rank(s, i, &b->ranked[b->n_ranked]);
        b->n_ranked += b->levels[i].n_ranked;
    }
    qsort(b->levels, s->n, sizeof *b->levels, pays_most_first);
    for (size_t i = s->n - 1; i > 0; i--)
        b->levels[i - 1].later = b->levels[i].later + b->levels[i].ranked[0].surplus;
}

/* --- branches -----------------------------------------------------------------------------------
 */

static int most_worth_first(const void *left, const void *right)
{
    const struct branch *a = left, *b = right;

    if (a->worth != b->worth)
        return a->worth > b->worth ? -1 : 1;
    if (a->step.from != b->step.from)
        return a->step.from < b->step.from ? -1 : 1;
    return (a->step.option > b->step.option) - (a->step.option < b->step.option);
}

/* The place in the table of who leaves that room, or a free one */
static uint32_t *find(const struct beam *b, const double *left)
{
    size_t size = b->search->n_types * sizeof *left;
    uint64_t hash = 0, mask = b->n_table - 1;

    for (size_t t = 0; t < b->search->n_types; t++) {
        uint64_t bits;

        memcpy(&bits, &left[t], sizeof bits);
        hash = (hash ^ bits) * 0x9e3779b97f4a7c15U; /* the golden ratio: all bits reach the top */
        hash ^= hash >> 32;
    }
    while (b->table[hash & mask] != NOBODY &&
           memcmp(b->then[b->table[hash & mask]].left, left, size) != 0)
        hash++;
    return &b->table[hash & mask];
}

static void clear_table(struct beam *b)
{
    memset(b->table, 0xff, b->n_table * sizeof *b->table);
}

static void drop_least(struct beam *b)
{
    if (b->n_then <= b->width)
        return;
    qsort(b->then, b->n_then, sizeof *b->then, most_worth_first);
    b->n_then = b->width;
    b->least_worth = b->then[b->width - 1].worth;
    b->dropped = true;
    clear_table(b);
    for (uint32_t i = 0; i < b->n_then; i++)
        *find(b, b->then[i].left) = i;
}

static void add(struct beam *b, const struct branch *branch)
{
    uint32_t *place = find(b, branch->left);

    if (*place == NOBODY) {
        *place = (uint32_t)b->n_then;
        b->then[b->n_then++] = *branch;
    } else if (branch->value > b->then[*place].value) {
        b->then[*place] = *branch;
    }
    if (b->n_then == 2 * b->width)
        drop_least(b);
}

/* Each option of this job that fits and might lead to more than the best choice */
static void follow(struct beam *b, const struct level *level, uint32_t from)
{
    struct goodput_search *s = b->search;
    const struct branch *branch = &b->now[from];
    double lacks = s->best_value + s->least_gain - branch->worth - level->later;

    for (size_t r = 0; r < level->n_ranked; r++) {
        const struct ranked *ranked = &level->ranked[r];
        const struct goodput_option *option =
            ranked->option < 0 ? NULL : &s->choosers[level->at]->options[ranked->option];
        struct branch then;

        s->tries++;
        if (ranked->surplus <= lacks)
            return;
        if (branch->worth + ranked->surplus < b->least_worth) {
            b->dropped = true;
            return;
        }
        if (option != NULL && option->cost > branch->left[option->type] + SLACK)
            continue;
        then = *branch;
        then.worth += ranked->surplus;
        then.step = (struct step){ from, ranked->option };
        if (option != NULL) {
            then.left[option->type] -= option->cost;
            then.value += option->value;
        }
        add(b, &then);
    }
}

static void follow_all(struct beam *b, size_t depth)
{
    struct branch *swap = b->now;

    b->n_then = 0;
    b->least_worth = -INFINITY;
    clear_table(b);
    for (uint32_t i = 0; i < b->n_now; i++)
        follow(b, &b->levels[depth], i);
    drop_least(b);
    for (size_t i = 0; i < b->n_then; i++)
        b->trail[depth * b->width + i] = b->then[i].step;
    b->now = b->then;
    b->n_now = b->n_then;
    b->then = swap;
}

/* --- from the first job to the last -------------------------------------------------------------
 */

static void begin(struct beam *b)
{
    const struct goodput_search *s = b->search;
    struct branch *branch = &b->now[0];

    *branch = (struct branch){ .value = 0 };
    for (size_t t = 0; t < s->n_types; t++) {
        branch->left[t] = s->types[t].budget;
        branch->worth += s->types[t].price * s->types[t].budget;
    }
    b->n_now = 1;
    b->dropped = false;
}

/* The best of those that went through all jobs, if it is better than what was known: a branch with
 * room to spare may be worth less than its sum. */
static void take_best(struct beam *b)
{
    struct goodput_search *s = b->search;
    size_t best = 0;

    for (size_t i = 1; i < b->n_now; i++)
        if (b->now[i].value > b->now[best].value)
            best = i;
    if (b->now[best].value <= s->best_value + s->least_gain)
        return;
    s->best_value = b->now[best].value;
    for (size_t depth = s->n; depth-- > 0;) {
        const struct step *step = &b->trail[depth * b->width + best];

        s->best[b->levels[depth].at] = step->option;
        best = step->from;
    }
}

/* true: nothing was dropped, so that there is nothing better than what was found */
static bool pass(struct beam *b)
{
    size_t n = b->search->n;

    b->n_table = 4;
    while (b->n_table < 4 * b->width)
        b->n_table *= 2;
    b->now = xcalloc(2 * b->width, sizeof *b->now);
    b->then = xcalloc(2 * b->width, sizeof *b->then);
    b->table = xcalloc(b->n_table, sizeof *b->table);
    b->trail = xcalloc(n * b->width, sizeof *b->trail);
    begin(b);
    for (size_t depth = 0; depth < n && b->n_now > 0; depth++)
        follow_all(b, depth);
    if (b->n_now > 0)
        take_best(b);
    free(b->now);
    free(b->then);
    free(b->table);
    free(b->trail);
    return !b->dropped;
}

/* A pass looks at each option once for each branch followed at most: it is narrow enough to end. */
static size_t width_for(const struct beam *b, size_t wanted)
{
    const struct goodput_search *s = b->search;
    uint64_t tries = s->tries_max - MIN_OF(s->tries, s->tries_max);

    return (size_t)MIN_OF((uint64_t)wanted, tries / b->n_ranked);
}

bool goodput_types_search(struct goodput_search *search)
{
    struct beam b = { .search = search };
    bool exact = false;

    if (search->n == 0)
        return true;
    rank_all(&b);
    for (size_t width = WIDTH_FIRST; !exact && width <= WIDTH_MAX; width *= WIDTH_FACTOR) {
        b.width = width_for(&b, width);
        if (b.width == 0)
            break;
        exact = pass(&b);
    }
    free(b.levels);
    free(b.ranked);
    return exact;
}
