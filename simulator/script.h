/* SPDX-License-Identifier: Apache-2.0 */
/* script.h - faults, as data (script.c) */
#pragma once

#include <stdint.h>

struct sim;

enum script_kind {
    SCRIPT_CUT,    /* node for us; a: bit 0 what it sends, bit 1 what it gets */
    SCRIPT_SLOW,   /* node for us; a: so much slower */
    SCRIPT_LOSS,   /* for us; a: ppm of all messages */
    SCRIPT_FREEZE, /* machine for us */
    SCRIPT_FREEZE_AGENT,
    SCRIPT_AGENT_CRASH, /* comes back after us */
    SCRIPT_REBOOT,      /* machine; comes back after us */
    SCRIPT_KILL_UNIT,   /* a: which of the node's */
    SCRIPT_SERVER_CRASH,
    SCRIPT_SERVER_CRASH_IN_COMMIT,
    SCRIPT_SERVER_CRASH_AFTER_COMMIT,
    SCRIPT_SERVER_REBOOT,
    SCRIPT_SERVER_STOP, /* in order, for us; a: one in four dies on its way; b: then node is cut off
                           from it for so long */
    SCRIPT_SERVER_FREEZE,
    SCRIPT_WALL_JUMP,       /* a: by so much, two's complement */
    SCRIPT_DISK_SLOW,       /* for us; a: each commit by so much */
    SCRIPT_FOREIGN,         /* a: cpu, b: memory */
    SCRIPT_CUT_CLIENTS,     /* for us; a: as SCRIPT_CUT */
    SCRIPT_AGENT_STOP,      /* graceful; comes back after us */
    SCRIPT_REBOOT_CHANGED,  /* as REBOOT; a: cores and GPUs, b: memory when it is back, permille */
    SCRIPT_GROUPS,          /* other groups of users; a: their number */
    SCRIPT_STARTS_FAIL,     /* node for us: a program that is not installed there */
    SCRIPT_KILL_SUPERVISOR, /* of a process of the node that is frozen; a: which */
    /* of two schedulers; a % 4: 3 the one that waits, else the one that leads */
    SCRIPT_STORE_CUT,      /* for us; a / 4 % 3: what it sends, what it gets, both */
    SCRIPT_STORE_STILL,    /* for us: it answers nobody */
    SCRIPT_STORE_CRASH,    /* for us; a: what was being stored is kept or is not */
    SCRIPT_STORE_SPLIT,    /* for us its former primary stands alone; a: another serves after */
    SCRIPT_NODE_APART,     /* node from the other one, for us; a / 4 % 3: as STORE_CUT */
    SCRIPT_LEADER_DEPOSED, /* for us cut off; a: which nodes hear nobody else */
    SCRIPT_CALM,           /* the end of everything of this kind */
    _SCRIPT_MAX,
};

struct script {
    enum script_kind kind;
    uint32_t node;
    uint64_t for_us;
    uint64_t a, b;
};
void sim_script_at(struct sim *sim, uint64_t at_us, const struct script *script);
void script_run(struct sim *sim, const struct script *script);
void script_heal(struct sim *sim, const struct script *script); /* its time is over */
const char *script_name(enum script_kind kind);
