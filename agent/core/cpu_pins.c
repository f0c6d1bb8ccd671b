/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_pins.c - see cpu_pins.h */
#include "agent/core/cpu_pins.h"

struct choice {
    const struct cpu_topology *topology;
    struct cpu_mask taken; /* by others, and by this choice so far */
    struct cpu_mask chosen;
    unsigned n; /* still to be chosen */
};

unsigned cpu_pins_wanted(uint64_t cpu_millicores)
{
    if (cpu_millicores == 0 || cpu_millicores % 1000 != 0 || cpu_millicores / 1000 > CPU_MASK_MAX)
        return 0;
    return (unsigned)(cpu_millicores / 1000);
}

static bool is_free(const struct choice *c, const struct cpu_place *place)
{
    return !cpu_mask_has(&c->taken, place->cpu);
}

static unsigned count_free(const struct choice *c, uint16_t numa)
{
    unsigned n = 0;

    for (size_t i = 0; i < c->topology->n; i++)
        n += c->topology->places[i].numa == numa && is_free(c, &c->topology->places[i]);
    return n;
}

/* count_threads - of a core; *ret_free: those that are free */
static unsigned count_threads(const struct choice *c, uint32_t core, unsigned *ret_free)
{
    unsigned n = 0;

    *ret_free = 0;
    for (size_t i = 0; i < c->topology->n; i++) {
        if (c->topology->places[i].core != core)
            continue;
        n++;
        *ret_free += is_free(c, &c->topology->places[i]);
    }
    return n;
}

static void take(struct choice *c, unsigned cpu)
{
    cpu_mask_set(&c->chosen, cpu);
    cpu_mask_set(&c->taken, cpu);
    c->n--;
}

static void take_core(struct choice *c, uint32_t core)
{
    for (size_t i = 0; i < c->topology->n && c->n > 0; i++)
        if (c->topology->places[i].core == core && is_free(c, &c->topology->places[i]))
            take(c, c->topology->places[i].cpu);
}

/* take_cores - of a node: whole ones as long as they are wanted as a whole, or those that are
 * broken, or any */
enum which { WHOLE, BROKEN, ANY };

static void take_cores(struct choice *c, uint16_t numa, enum which which)
{
    for (size_t i = 0; i < c->topology->n && c->n > 0; i++) {
        const struct cpu_place *place = &c->topology->places[i];
        unsigned free, threads;

        if (place->numa != numa || !is_free(c, place))
            continue;
        threads = count_threads(c, place->core, &free);
        if (which == ANY || (which == WHOLE ? free == threads && threads <= c->n : free < threads))
            take_core(c, place->core);
    }
}

static void take_of_node(struct choice *c, uint16_t numa)
{
    take_cores(c, numa, WHOLE);
    take_cores(c, numa, BROKEN);
    take_cores(c, numa, ANY);
}

/* pick_node - the one that fits most closely, else the one with most room; CPU_NUMA_NONE: all are
 * full */
static uint16_t pick_node(const struct choice *c)
{
    uint16_t best = CPU_NUMA_NONE;
    unsigned best_free = 0;

    for (size_t i = 0; i < c->topology->n; i++) {
        uint16_t numa = c->topology->places[i].numa;
        unsigned free = numa != best ? count_free(c, numa) : best_free;
        bool fits = free >= c->n, best_fits = best_free >= c->n;
        bool better = fits == best_fits ? (fits ? free < best_free : free > best_free) : fits;

        if (free > 0 && (best == CPU_NUMA_NONE || better)) {
            best = numa;
            best_free = free;
        }
    }
    return best;
}

bool cpu_pins_choose(const struct cpu_topology *topology, const struct cpu_mask *taken, unsigned n,
                     uint16_t numa, struct cpu_mask *ret)
{
    struct choice c = { .topology = topology, .taken = *taken, .n = n };
    unsigned near_free = numa != CPU_NUMA_NONE ? count_free(&c, numa) : 0;

    if (near_free > 0 && (near_free >= n || count_free(&c, pick_node(&c)) < n))
        take_of_node(&c, numa);
    while (c.n > 0) {
        uint16_t next = pick_node(&c);

        if (next == CPU_NUMA_NONE)
            return false;
        take_of_node(&c, next);
    }
    *ret = c.chosen;
    return true;
}
