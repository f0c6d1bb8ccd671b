/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - a report's figures of the machine besides the offer
 *
 * machine_load is read in the agent's loop: /proc answers at once. The rest may keep one waiting (a
 * file system of the network, a driver) and is read by edl-prober. */
#pragma once

#include <jansson.h>

#define MACHINE_NICS_MAX 16

/* A folder whose room is told. */
struct machine_disk {
    const char *name; /* "state", "output" */
    const char *path;
};

/* machine_load - new object: load_milli (1, 5, 15 min), memory_available_bytes, and pressure of
 * cpu, memory and io (some and full, mean of 10 s, in ppm) where the kernel knows it. What cannot
 * be read is left out.
 * root: "" for the machine's own file system, here and below. */
json_t *machine_load(const char *root);

/* machine_nics - new array, by name: what has a device behind it (or, where nothing has, all but
 * loopback), at most MACHINE_NICS_MAX. speed_mbit_per_s only while the link is up and says so */
json_t *machine_nics(const char *root);

/* machine_disks - new array; a folder that cannot be asked is left out. Room is that for others
 * than root */
json_t *machine_disks(const struct machine_disk *disks, size_t n);
