/* SPDX-License-Identifier: Apache-2.0 */
/* unit_plan.h - the transient unit of one process, as the service manager is to be asked for it
 *
 * Pure: from order.json to names and properties (systemd.service(5), systemd.exec(5),
 * systemd.resource-control(5)). unit_launcher.c carries it out. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/processes/hidden.h"

struct edl_error;

#define UNIT_NAME_SIZE 128  /* with a suffix of UNIT_SUFFIX_SIZE */
#define UNIT_SUFFIX_SIZE 16 /* "-2.service" */
#define UNIT_TEXT_SIZE 256
#define UNIT_PROPERTIES_MAX 32
#define UNIT_DEVICES_MAX 80
#define UNIT_DEVICE_SIZE 32
#define UNIT_HIDDEN_SIZE 128 /* with the path of a Unix socket */
#define UNIT_CPU_BYTES 128   /* of cpu_mask.h */

/* As the bus writes them (sd_bus_message_append(3)). */
enum unit_type {
    UNIT_TEXT = 's',
    UNIT_BOOL = 'b',
    UNIT_NUMBER = 't',
    UNIT_INT = 'i',
    UNIT_TEXTS = 'a', /* of text */
};

struct unit_property {
    const char *name; /* static */
    enum unit_type type;
    int64_t number;     /* of all but text */
    const char *text;   /* static, or in the plan */
    char *const *texts; /* of UNIT_TEXTS, in the plan; NULL-terminated */
};

struct unit_plan {
    char name[UNIT_NAME_SIZE]; /* edl-12.trainer.0.1.service */
    uint64_t job_id;
    char slice[UNIT_NAME_SIZE]; /* edl-12.slice: one per job, below edl.slice */
    char description[UNIT_TEXT_SIZE];
    struct unit_property properties[UNIT_PROPERTIES_MAX];
    size_t n_properties;
    uint8_t cpus[UNIT_CPU_BYTES];                     /* of its own: bit n of byte m is 8 m + n */
    size_t n_cpu_bytes;                               /* 0: it runs on all */
    char devices[UNIT_DEVICES_MAX][UNIT_DEVICE_SIZE]; /* what it may read and write */
    size_t n_devices;
    char hidden[HIDDEN_MAX][UNIT_HIDDEN_SIZE]; /* a folder that need not be there: "-/run/user" */
    char *hidden_list[HIDDEN_MAX + 1];
};

/* unit_property_limits - whether it is one of those that keep a process within what it was granted:
 * they are read back once it runs (unit_launcher.c), because a drop-in of the node's owner, or a
 * manager that lacks what is behind them, may have made something else of it */
bool unit_property_limits(const struct unit_property *property);

/* unit_plan - key: of the process (process_id.h), the name of its folder
 * paths: NULL-terminated; what it has to see: below /tmp there is no private one, and nothing that
 * has one of them in it is hidden. ret points into itself: it is not copied.
 * -EINVAL: key or order cannot be used */
int unit_plan(const char *key, const json_t *order, const char *const *paths, struct unit_plan *ret,
              struct edl_error *error);

/* unit_plan_slice - the one of a job */
void unit_plan_slice(uint64_t job_id, char ret[UNIT_NAME_SIZE]);

/* unit_is_of - whether the unit of this control group was made for that process: the one planned,
 * or with a number behind it, where the name was taken */
bool unit_is_of(const char *cgroup, const char *key);
