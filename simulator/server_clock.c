/* SPDX-License-Identifier: Apache-2.0 */
/* server_clock.c - see server_clock.h */
#include <inttypes.h>
#include <stdio.h>

#include "simulator/internal.h"

#define BOOT_ID_SIZE 24
#define CLOCK_STORED_US (60 * USEC_PER_SEC)

/* read_clocks - boot_id is borrowed by what it returns */
static struct clock_reading read_clocks(const struct sim *sim, char boot_id[BOOT_ID_SIZE])
{
    const struct server *server = sim->server;

    (void)snprintf(boot_id, BOOT_ID_SIZE, "%" PRIu64, server->boot_base_us);
    return (struct clock_reading){
        .boot_id = boot_id,
        .boot_us = server_boot_us(sim),
        .real_us = (uint64_t)((int64_t)(WALL_BASE_US + sim->now_us) + server->wall_offset_us),
    };
}

/* As scheduler/cluster_clock.c: goes on from what is stored, of which the last commit
 * may be newer than the clock */
void server_begin_clock(struct sim *sim)
{
    struct server *server = sim->server;
    bool known = sim->clock.stored.boot_id[0] != '\0';
    char boot_id[BOOT_ID_SIZE];
    const struct clock_reading now = read_clocks(sim, boot_id);

    server->clock = sim->clock;
    if (known)
        elapsed_record_reach(&server->clock.stored, server->clock.looked.wall_us);
    (void)elapsed_clock_begin(&server->clock.elapsed, known ? &server->clock.stored : NULL, &now);
}

static uint64_t rate(const struct sim *sim)
{
    return (uint64_t)(PPM + sim->server->leading.drift_ppm);
}

uint64_t server_boot_us(const struct sim *sim)
{
    return (sim->now_us - sim->server->boot_base_us) * rate(sim) / PPM;
}

uint64_t server_when_us(const struct sim *sim, uint64_t boot_us)
{
    return sim->server->boot_base_us + (boot_us * PPM + rate(sim) - 1) / rate(sim);
}

struct instant server_instant(const struct sim *sim)
{
    char boot_id[BOOT_ID_SIZE];
    const struct clock_reading now = read_clocks(sim, boot_id);

    return (struct instant){
        .now_us = now.boot_us,
        .wall_us = sim->config.mutant == SIM_MUTANT_AGES_BY_WALL_CLOCK
                       ? now.real_us
                       : elapsed_clock_at(&sim->server->clock.elapsed, now.boot_us),
    };
}

/* check_clock - what goes by for the core between two commits is what goes by; over a boot that it
 * cannot know it is a day at most */
static void check_clock(struct sim *sim)
{
    struct server *server = sim->server;
    const struct instant now = server_instant(sim), before = server->clock.looked;
    bool same_boot = server->clock.looked_boot_us == server->boot_base_us;
    int64_t went_us = (int64_t)(now.wall_us - before.wall_us);

    if (before.wall_us != 0 && same_boot && went_us != (int64_t)(now.now_us - before.now_us))
        violate(sim, "ages", "everything is %" PRId64 " s older %" PRIu64 " s later",
                went_us / (int64_t)USEC_PER_SEC, (now.now_us - before.now_us) / USEC_PER_SEC);
    else if (before.wall_us != 0 && (went_us < 0 || went_us > (int64_t)ELAPSED_GAP_MAX_US))
        violate(sim, "ages", "a boot made everything older by %" PRId64 " s",
                went_us / (int64_t)USEC_PER_SEC);
    server->clock.looked = now;
    server->clock.looked_boot_us = server->boot_base_us;
}

/* With a commit, now and then */
void server_store_clock(struct sim *sim)
{
    struct server *server = sim->server;
    char boot_id[BOOT_ID_SIZE];
    const struct clock_reading now = read_clocks(sim, boot_id);
    bool is_set = elapsed_clock_look(&server->clock.elapsed, &now) != 0;

    if (is_set || !streq(server->clock.stored.boot_id, boot_id) ||
        now.boot_us - server->clock.stored.boot_us >= CLOCK_STORED_US)
        server->clock.stored = elapsed_clock_record(&server->clock.elapsed, &now);
    check_clock(sim);
    sim->clock = server->clock;
}
