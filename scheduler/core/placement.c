/* SPDX-License-Identifier: Apache-2.0 */
/* placement.c - where an instance fits: pure functions over a scratch picture of the nodes
 *
 * Best fit: of the nodes with enough of everything the one that is left with the least, so that
 * large holes stay for large instances. A gang is placed as a whole or not at all. Linear in nodes
 * per instance: at 10,000 nodes a look at one row of each is some 20 us, and only an instance that
 * really starts pays it. */
#include "scheduler/core/core_internal.h"

#include <stdio.h>
#include <utlist.h>

struct resources resources_of_role(const struct role_spec *role)
{
    return (struct resources){ .cpu_millicores = (int64_t)role->cpu_millicores,
                               .memory_bytes = (int64_t)role->memory_bytes,
                               .gpus = role->gpus,
                               .ports = role->n_ports };
}

static int64_t ports_of_offer(const struct node_offer *offer)
{
    return offer->port_first == 0 || offer->port_last < offer->port_first
               ? 0
               : (int64_t)offer->port_last - offer->port_first + 1;
}

struct resources resources_of_offer(const struct node_offer *offer)
{
    return (struct resources){ .cpu_millicores = (int64_t)offer->cpu_millicores,
                               .memory_bytes = (int64_t)offer->memory_bytes,
                               .gpus = offer->gpus,
                               .ports = ports_of_offer(offer) };
}

/* What is not needed cannot be short: a node that owes memory still takes what asks for none. */
static bool covers(int64_t have, int64_t need)
{
    return need == 0 || have >= need;
}

bool resources_fit(const struct resources *have, const struct resources *need)
{
    return covers(have->cpu_millicores, need->cpu_millicores) &&
           covers(have->memory_bytes, need->memory_bytes) && covers(have->gpus, need->gpus) &&
           covers(have->ports, need->ports);
}

void resources_add(struct resources *to, const struct resources *what, int64_t times)
{
    to->cpu_millicores += times * what->cpu_millicores;
    to->memory_bytes += times * what->memory_bytes;
    to->gpus += times * what->gpus;
    to->ports += times * what->ports;
}

void resources_describe(const struct resources *what, char *buffer, size_t size)
{
    int n = snprintf(buffer, size, "%lldm CPU, %.1f GiB memory", (long long)what->cpu_millicores,
                     (double)what->memory_bytes / (1 << 30));

    if (what->gpus > 0 && n > 0 && (size_t)n < size)
        (void)snprintf(buffer + n, size - (size_t)n, ", %lld GPU", (long long)what->gpus);
}

static int64_t ports_in_use(const struct node *node)
{
    const struct process *process;
    int64_t n = 0;

    /* the range may have moved since they were handed out */
    DL_FOREACH2(node->processes, process, node_next)
    for (uint32_t i = 0; i < process->n_ports; i++)
        n += process->ports[i] >= node->offer.port_first &&
             process->ports[i] <= node->offer.port_last;
    return n;
}

static struct room room_of_node(struct node *node)
{
    struct room room = { .node = node, .now = resources_of_offer(&node->offer) };
    const struct process *process;

    room.now.cpu_millicores -=
        (int64_t)(node->cpu_granted_millicores + node->foreign_cpu_millicores);
    room.now.memory_bytes -= (int64_t)(node->memory_granted_bytes + node->foreign_memory_bytes);
    room.now.gpus -= node->gpus_granted;
    room.now.ports -= ports_in_use(node);
    room.later = room.now;
    DL_FOREACH2(node->processes, process, node_next)
    {
        struct resources held = resources_of_role(&process->job->spec->roles[process->role]);

        if (process->state == PROCESS_STOPPING)
            resources_add(&room.later, &held, 1);
    }
    if (node->n_stale > 0)
        room.now =
            (struct resources){ .cpu_millicores = -1, .memory_bytes = -1, .gpus = -1, .ports = -1 };
    return room;
}

struct rooms rooms_of_nodes(const struct cluster *cluster, bool empty)
{
    struct rooms rooms = { .items = xcalloc(HASH_COUNT(cluster->nodes), sizeof *rooms.items) };
    struct node *node;

    for (node = cluster->nodes; node != NULL; node = node->hh.next) {
        struct room *room = &rooms.items[rooms.n];

        if (empty) {
            *room = (struct room){ .node = node, .now = resources_of_offer(&node->offer) };
            room->later = room->now;
            rooms.n++;
            continue;
        }
        node->room = NULL;
        if (node->state != NODE_READY || !node->ever_reported)
            continue;
        *room = room_of_node(node);
        node->room = room;
        rooms.n++;
    }
    return rooms;
}

void rooms_done(struct rooms *rooms)
{
    free(rooms->items);
    *rooms = (struct rooms){ 0 };
}

/* a is the tighter one for this need: machines with GPUs are spared by what needs none */
static bool tighter(const struct resources *a, const struct resources *b,
                    const struct resources *need)
{
    if (need->gpus == 0 && (a->gpus > 0) != (b->gpus > 0))
        return b->gpus > 0;
    if (need->gpus > 0 && a->gpus != b->gpus)
        return a->gpus < b->gpus;
    if (a->cpu_millicores != b->cpu_millicores)
        return a->cpu_millicores < b->cpu_millicores;
    return a->memory_bytes < b->memory_bytes;
}

struct room *rooms_best_fit(const struct rooms *rooms, const struct resources *need, bool now)
{
    struct room *best = NULL;

    for (size_t i = 0; i < rooms->n; i++) {
        struct room *room = &rooms->items[i];

        if (!resources_fit(&room->later, need) || (now && !resources_fit(&room->now, need)))
            continue;
        if (best == NULL || tighter(&room->later, &best->later, need))
            best = room;
    }
    return best;
}

static void room_change(struct room *room, const struct resources *need, bool now, int64_t times)
{
    resources_add(&room->later, need, times);
    if (now)
        resources_add(&room->now, need, times);
}

void room_take(struct room *room, const struct resources *need, bool now)
{
    room_change(room, need, now, -1);
}

/* pservers first, then the larger CPU, then the larger memory */
static bool demand_before(const struct job_spec *spec, const struct demand *a,
                          const struct demand *b)
{
    bool a_pserver = streq(spec->roles[a->role].name, "pserver");
    bool b_pserver = streq(spec->roles[b->role].name, "pserver");

    if (a_pserver != b_pserver)
        return a_pserver;
    if (a->need.cpu_millicores != b->need.cpu_millicores)
        return a->need.cpu_millicores > b->need.cpu_millicores;
    return a->need.memory_bytes > b->need.memory_bytes;
}

size_t gang_demands(const struct job_spec *spec, struct demand ret[JOB_ROLES_MAX])
{
    size_t n = 0;

    for (uint32_t r = 0; r < spec->n_roles; r++) {
        struct demand demand = { .role = r,
                                 .count = spec->roles[r].min,
                                 .need = resources_of_role(&spec->roles[r]) };
        size_t i = n++;

        for (; i > 0 && demand_before(spec, &demand, &ret[i - 1]); i--)
            ret[i] = ret[i - 1];
        ret[i] = demand;
    }
    return n;
}

bool rooms_place_gang(struct rooms *rooms, const struct demand *demands, size_t n, bool now,
                      struct placed *placed, size_t *ret_n)
{
    struct room *before = xcalloc(rooms->n, sizeof *before);
    size_t n_placed = 0;
    bool fits = true;

    memcpy(before, rooms->items, rooms->n * sizeof *before);
    for (size_t d = 0; fits && d < n; d++)
        for (uint32_t i = 0; fits && i < demands[d].count; i++) {
            struct room *room = rooms_best_fit(rooms, &demands[d].need, now);

            fits = room != NULL;
            if (!fits)
                break;
            room_take(room, &demands[d].need, now);
            if (placed != NULL)
                placed[n_placed] = (struct placed){ .room = room, .role = demands[d].role };
            n_placed++;
        }
    if (!fits)
        memcpy(rooms->items, before, rooms->n * sizeof *before);
    free(before);
    if (ret_n != NULL)
        *ret_n = n_placed;
    return fits;
}

static bool port_is_used(const struct node *node, uint16_t port)
{
    const struct process *process;

    DL_FOREACH2(node->processes, process, node_next)
    for (uint32_t i = 0; i < process->n_ports; i++)
        if (process->ports[i] == port)
            return true;
    return false;
}

bool node_pick_ports(struct node *node, uint32_t n, uint16_t *ret_ports)
{
    int64_t range = ports_of_offer(&node->offer);
    uint16_t port = node->port_next;
    uint32_t found = 0;

    for (int64_t tried = 0; tried < range && found < n; tried++, port++) {
        if (port < node->offer.port_first || port > node->offer.port_last)
            port = node->offer.port_first;
        if (!port_is_used(node, port))
            ret_ports[found++] = port;
    }
    if (found == n)
        node->port_next = port;
    return found == n;
}

static uint64_t gpus_of_numa(const struct node *node, unsigned numa)
{
    uint64_t mask = 0;

    for (uint32_t i = 0; i < node->offer.gpus; i++)
        if (node->offer.gpu_numa[i] == numa)
            mask |= UINT64_C(1) << i;
    return mask;
}

static uint64_t lowest_bits(uint64_t mask, uint32_t n)
{
    uint64_t picked = 0;

    for (; n > 0; n--) {
        picked |= mask & -mask;
        mask &= mask - 1;
    }
    return picked;
}

/* Of the NUMA nodes with enough free devices the one with the fewest: the others stay whole. */
bool node_pick_gpus(const struct node *node, uint32_t n, uint64_t *ret_mask)
{
    const struct process *process;
    uint64_t all =
        node->offer.gpus >= NODE_GPUS_MAX ? UINT64_MAX : (UINT64_C(1) << node->offer.gpus) - 1;
    uint64_t best;

    DL_FOREACH2(node->processes, process, node_next)
    all &= ~process->gpu_mask;
    best = all;
    for (unsigned numa = 0; numa < MAX_OF(node->offer.numa_nodes, 1); numa++) {
        uint64_t mask = all & gpus_of_numa(node, numa);

        if (__builtin_popcountll(mask) >= (int)n &&
            __builtin_popcountll(mask) < __builtin_popcountll(best))
            best = mask;
    }
    if (__builtin_popcountll(best) < (int)n)
        return false;
    *ret_mask = lowest_bits(best, n);
    return true;
}
