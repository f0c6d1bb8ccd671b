/* SPDX-License-Identifier: Apache-2.0 */
/* process_id.h - identity of a process: slot (job, role, index) and incarnation
 *
 * Its key "<job_id>.<role>.<index>.<incarnation>" names the process folder and travels in headers.
 * Role names are checked here, because they become parts of paths. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PROCESS_ROLE_SIZE 32
#define PROCESS_KEY_SIZE 96

struct process_id {
    uint64_t job_id;
    char role[PROCESS_ROLE_SIZE];
    uint32_t index;
    uint64_t incarnation;
};

/* An identity as the key of a table: every byte of it is defined, so that bytes can be compared. */
struct process_bytes {
    uint64_t job_id;
    uint64_t incarnation; /* 0: of the slot */
    uint32_t index;
    uint32_t unused; /* 0 */
    char role[PROCESS_ROLE_SIZE];
};

/* process_id_key - writes the key, NUL-terminated; returns key */
char *process_id_key(const struct process_id *id, char key[PROCESS_KEY_SIZE]);

/* process_id_parse - the reverse; -EINVAL for anything process_id_key would not write */
int process_id_parse(const char *key, struct process_id *ret);

/* process_role_valid - a role's name: lower case letters, digits, '-' (not first), '_' */
bool process_role_valid(const char *role);

/* process_id_bytes - of this incarnation; process_id_slot_bytes - of its slot */
struct process_bytes process_id_bytes(const struct process_id *id);
struct process_bytes process_id_slot_bytes(const struct process_id *id);

bool process_id_same_slot(const struct process_id *a, const struct process_id *b);
bool process_id_equal(const struct process_id *a, const struct process_id *b);
