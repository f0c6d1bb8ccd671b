/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - the figures of machines besides their offers, as agents tell them: load, pressure,
 * disks, network interfaces
 *
 * Shown and added up; nothing is decided by it and nothing of it is stored. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "scheduler/core/core.h"

#define MACHINE_DISKS_MAX 4
#define MACHINE_NICS_MAX 16
#define MACHINE_WORD_MAX 31

struct edl_error;

enum machine_pressure { PRESSURE_CPU, PRESSURE_MEMORY, PRESSURE_IO, PRESSURES };

struct pressure { /* of the last 10 s; NEVER_US: its kernel does not say */
    uint64_t some_ppm, full_ppm;
};

struct disk {
    char name[MACHINE_WORD_MAX + 1]; /* "state", "output" */
    uint64_t free_bytes, size_bytes;
};

struct nic {
    char name[MACHINE_WORD_MAX + 1];
    uint64_t received_bytes, sent_bytes;
    uint64_t speed_mbit_per_s; /* 0: not known */
};

/* NEVER_US in a number: it was not told. */
struct machine {
    char node[NODE_NAME_MAX + 1];
    char version[MACHINE_WORD_MAX + 1]; /* of its agent; "": not told */
    uint64_t load_milli[3];             /* mean of 1, 5, 15 min */
    uint64_t memory_available_bytes;
    struct pressure pressure[PRESSURES];
    struct disk disks[MACHINE_DISKS_MAX];
    size_t n_disks;
    struct nic *nics; /* owned */
    size_t n_nics;
    json_t *gpus;        /* owned; array, checked; NULL: nothing was told of them */
    json_t *limits;      /* owned; array of words: those that are held; NULL: not told */
    bool reads_files;    /* its agent knows "reads" of orders (file_reads.h) */
    bool opens_sessions; /* and "sessions" (sessions.h) */
    UT_hash_handle hh;   /* k: node */
};

/* The figures of all of them. All of it 0: of none. */
struct machines {
    struct machine *by_node; /* owned; uthash */
    /* of all interfaces of all machines, since the scheduler was started */
    uint64_t received_bytes, sent_bytes;
};

/* Their sums, without lost nodes and untold figures. */
struct machine_sums {
    uint64_t memory_available_bytes, load_milli;
    uint64_t disk_free_least_bytes;        /* of the fullest; 0 also when none is told of */
    uint64_t pressure_most_ppm[PRESSURES]; /* some, of the machine that has most of it */
};

/* machine_word_of_pressure - "cpu", "memory", "io" */
const char *machine_word_of_pressure(unsigned pressure);

/* machine_from_json - the member "machine" of a report; *ret NULL when there is none (an agent of
 * an earlier version, or nothing new). -EINVAL with pointer. */
int machine_from_json(const json_t *body, struct machine **ret, struct edl_error *error);
json_t *machine_to_json(const struct machine *machine);
/* machine_read_gpus - of the array, the known members (new reference); strangers always */
int machine_read_gpus(const json_t *array, json_t **ret, struct edl_error *error);
/* machine_say_gpus - why GPUs of the node are not free that are not granted either: "GPU 1 is held
 * by pid 4711 of alice"; "" they are. machine: NULL, or its figures. Returns text. */
char *machine_say_gpus(const struct machine *machine, const struct node *node, char *text,
                       size_t size);
struct machine *machine_free(struct machine *machine);

/* machines_take - in the place of the node's former figures */
void machines_take(struct machines *machines, const char *node, struct machine *take_machine);
const struct machine *machines_find(const struct machines *machines, const char *node);
void machines_forget(struct machines *machines, const char *node);
void machines_done(struct machines *machines);

/* machines_sum - linear in the machines */
struct machine_sums machines_sum(const struct machines *machines, const struct cluster *cluster);
