/* SPDX-License-Identifier: Apache-2.0 */
/* job_draft.h - a job document as read, before defaults; private to job_document*.c
 *
 * Text is borrowed from the document. Absent: NULL for text, -1 for integers and booleans,
 * UINT64_MAX for quantities. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/job_spec.h"

struct document_reader;

#define DRAFT_ABSENT UINT64_MAX

struct role_draft {
    const char *name;
    char pointer[96]; /* "/spec/trainer" or "/roles/0" */
    bool listed; /* from `roles`: its keys are min and max, not min-instance and max-instance */
    const char *entrypoint, *workspace;
    const json_t *command;
    const json_t *selector, *selector_kubernetes; /* node-selector, nodeSelector */
    int64_t min, max, gpus, gpus_requested, ports, passes;
    uint64_t cpu, cpu_limit, memory, memory_limit;
};

struct job_draft {
    const char *pointer; /* of the object that holds the spec's keys: "/spec" or "" */
    const char *api_version, *kind, *name, *mode, *dataset;
    int64_t priority, passes, port, ports_num, ports_num_for_sparse, restart_max;
    uint64_t grace, restart_backoff;
    int fault_tolerant;
    const json_t *spec, *env;
    struct role_draft roles[JOB_ROLES_MAX];
    size_t n_roles;
};

/* role_draft_read - `trainer: {...}` or `pserver: {...}`; target is the job_draft */
int role_draft_read(struct document_reader *reader, const char *key, const json_t *value,
                    void *target);

/* role_draft_read_list - `roles: [...]` */
int role_draft_read_list(struct document_reader *reader, const char *key, const json_t *value,
                         void *target);

/* role_draft_finish - defaults and rules of one role; *role is zeroed before and owned by a
 * job_spec */
int role_draft_finish(struct document_reader *reader, const struct role_draft *draft,
                      const struct job_spec *spec, struct role_spec *role);
