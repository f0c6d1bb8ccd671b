/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_services.c - the keepers of services that are not ours
 *
 * A replica is placed by a look at every node: that is done when a scenario begins, not in its
 * course. */
#include "simulator/scenario_services.h"

#include <inttypes.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/random.h"

/* One entry of the document that changes something. */
struct entry {
    uint64_t at_us;
    const struct scenario_foreign *foreign; /* either this */
    size_t service;                         /* or this, with the replicas wanted from now on */
    uint32_t replicas;
};

struct machine {
    uint64_t cpu_millicores, memory_bytes;           /* of the machine */
    uint64_t foreign_cpu, foreign_memory;            /* as told by `foreign` */
    uint64_t service_cpu, service_memory;            /* of all services */
    uint64_t told_cpu_millicores, told_memory_bytes; /* by the last change */
};

struct keeper {
    const struct scenario *scenario;
    struct machine *machines;
    uint32_t *order;     /* of the machines, drawn */
    uint32_t **replicas; /* [service][machine] */
    uint32_t *placed;    /* [service] */
    struct load_change *changes;
    size_t n_changes, cap_changes;
};

static bool has_room(const struct machine *machine, const struct scenario_service *service)
{
    return machine->foreign_cpu + machine->service_cpu + service->cpu_millicores <=
               machine->cpu_millicores &&
           machine->foreign_memory + machine->service_memory + service->memory_bytes <=
               machine->memory_bytes;
}

/* taken_share - with so much more */
static double taken_share(const struct machine *machine, uint64_t cpu_millicores)
{
    return (double)(machine->foreign_cpu + machine->service_cpu + cpu_millicores) /
           (double)machine->cpu_millicores;
}

/* choose - the machine for one more replica, or (grow false) for one less; -ENOENT when none
 * Spread evenly, growth goes where least and shrinking where most is taken; packed, the other way
 * round. */
static int64_t choose(const struct keeper *keeper, size_t s, bool grow)
{
    const struct scenario_service *service = &keeper->scenario->services[s];
    bool least = grow != service->packed;
    int64_t best = -ENOENT;
    double best_share = 0;

    for (uint32_t i = 0; i < keeper->scenario->nodes; i++) {
        uint32_t m = keeper->order[i];
        uint64_t more = grow && !service->packed ? service->cpu_millicores : 0;
        double share = taken_share(&keeper->machines[m], more);
        bool possible = grow ? has_room(&keeper->machines[m], service) : keeper->replicas[s][m] > 0;

        if (!possible || (best >= 0 && (least ? share >= best_share : share <= best_share)))
            continue;
        best = m;
        best_share = share;
    }
    return best;
}

static int set_replicas(struct keeper *keeper, const struct entry *entry, struct edl_error *error)
{
    const struct scenario_service *service = &keeper->scenario->services[entry->service];
    uint32_t *placed = &keeper->placed[entry->service];

    while (*placed != entry->replicas) {
        bool grow = *placed < entry->replicas;
        int64_t m = choose(keeper, entry->service, grow);

        if (m < 0) {
            (void)edl_error_at(error, EDL_EBADSPEC, "/services",
                               "only %" PRIu32 " of %" PRIu32 " replicas of %s find room on the "
                               "nodes",
                               *placed, entry->replicas, service->name);
            return EDL_EBADSPEC;
        }
        if (grow) {
            keeper->machines[m].service_cpu += service->cpu_millicores;
            keeper->machines[m].service_memory += service->memory_bytes;
            keeper->replicas[entry->service][m]++;
            ++*placed;
        } else {
            keeper->machines[m].service_cpu -= service->cpu_millicores;
            keeper->machines[m].service_memory -= service->memory_bytes;
            keeper->replicas[entry->service][m]--;
            --*placed;
        }
    }
    return 0;
}

static void set_foreign(struct keeper *keeper, const struct scenario_foreign *foreign)
{
    const struct scenario *scenario = keeper->scenario;
    const struct scenario_group *group =
        foreign->group == SCENARIO_ALL ? NULL : &scenario->groups[foreign->group];
    uint32_t first = group == NULL ? 0 : group->first;
    uint32_t count = group == NULL ? scenario->nodes : group->count;

    for (uint32_t m = first; m < first + count; m++) {
        keeper->machines[m].foreign_cpu = foreign->cpu_millicores;
        keeper->machines[m].foreign_memory = foreign->memory_bytes;
    }
}

/* tell_changes - one for every machine that differs from what was told last */
static void tell_changes(struct keeper *keeper, uint64_t at_us)
{
    for (uint32_t m = 0; m < keeper->scenario->nodes; m++) {
        struct machine *machine = &keeper->machines[m];
        uint64_t cpu = machine->foreign_cpu + machine->service_cpu;
        uint64_t memory = machine->foreign_memory + machine->service_memory;

        if (cpu == machine->told_cpu_millicores && memory == machine->told_memory_bytes)
            continue;
        if (keeper->n_changes == keeper->cap_changes) {
            keeper->cap_changes = MAX_OF(64, 2 * keeper->cap_changes);
            keeper->changes =
                xreallocarray(keeper->changes, keeper->cap_changes, sizeof(*keeper->changes));
        }
        keeper->changes[keeper->n_changes++] = (struct load_change){ at_us, m, cpu, memory };
        machine->told_cpu_millicores = cpu;
        machine->told_memory_bytes = memory;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    /* as in the document: plain load before services, each in its order */
    if ((x->foreign == NULL) != (y->foreign == NULL))
        return x->foreign != NULL ? -1 : 1;
    if (x->foreign != NULL)
        return (x->foreign > y->foreign) - (x->foreign < y->foreign);
    return (x->service > y->service) - (x->service < y->service);
}

static struct entry *list_entries(const struct scenario *scenario, size_t *ret_n)
{
    size_t n = scenario->n_foreign;

    for (size_t s = 0; s < scenario->n_services; s++)
        n += scenario->services[s].n_steps;

    struct entry *entries = xcalloc(n, sizeof(*entries));

    *ret_n = n;
    n = 0;
    for (size_t i = 0; i < scenario->n_foreign; i++)
        entries[n++] =
            (struct entry){ .at_us = scenario->foreign[i].at_us, .foreign = &scenario->foreign[i] };
    for (size_t s = 0; s < scenario->n_services; s++)
        for (size_t i = 0; i < scenario->services[s].n_steps; i++)
            entries[n++] = (struct entry){ .at_us = scenario->services[s].steps[i].at_us,
                                           .service = s,
                                           .replicas = scenario->services[s].steps[i].replicas };
    qsort(entries, n, sizeof(*entries), by_time);
    return entries;
}

static void init_keeper(struct keeper *keeper, const struct scenario *scenario, uint64_t seed)
{
    *keeper = (struct keeper){
        .scenario = scenario,
        .machines = xcalloc(scenario->nodes, sizeof(*keeper->machines)),
        .order = xcalloc(scenario->nodes, sizeof(*keeper->order)),
        .replicas = xcalloc(scenario->n_services, sizeof(*keeper->replicas)),
        .placed = xcalloc(scenario->n_services, sizeof(*keeper->placed)),
    };
    for (size_t g = 0; g < scenario->n_groups; g++)
        for (uint32_t i = 0; i < scenario->groups[g].count; i++) {
            struct machine *machine = &keeper->machines[scenario->groups[g].first + i];

            machine->cpu_millicores = scenario->groups[g].offer.cpu_millicores;
            machine->memory_bytes = scenario->groups[g].offer.memory_bytes;
        }
    for (size_t s = 0; s < scenario->n_services; s++)
        keeper->replicas[s] = xcalloc(scenario->nodes, sizeof(**keeper->replicas));
    for (uint32_t i = 0; i < scenario->nodes; i++) { /* Fisher and Yates, inside out */
        uint32_t j = (uint32_t)random_below(&seed, i + UINT64_C(1));

        keeper->order[i] = keeper->order[j];
        keeper->order[j] = i;
    }
}

static void clear_keeper(struct keeper *keeper)
{
    for (size_t s = 0; s < keeper->scenario->n_services; s++)
        free(keeper->replicas[s]);
    free(keeper->replicas);
    free(keeper->placed);
    free(keeper->order);
    free(keeper->machines);
    free(keeper->changes);
}

int scenario_load_changes(const struct scenario *scenario, uint64_t seed, struct load_change **ret,
                          size_t *ret_n, struct edl_error *error)
{
    struct keeper keeper;
    size_t n = 0;
    _cleanup_free_ struct entry *entries = list_entries(scenario, &n);
    int r = 0;

    init_keeper(&keeper, scenario, seed);
    for (size_t i = 0; i < n && r == 0; i++) {
        if (entries[i].foreign != NULL)
            set_foreign(&keeper, entries[i].foreign);
        else
            r = set_replicas(&keeper, &entries[i], error);
        if (r == 0 && (i + 1 == n || entries[i + 1].at_us != entries[i].at_us))
            tell_changes(&keeper, entries[i].at_us);
    }
    if (r == 0) {
        *ret = TAKE_PTR(keeper.changes);
        *ret_n = keeper.n_changes;
    }
    clear_keeper(&keeper);
    return r;
}
