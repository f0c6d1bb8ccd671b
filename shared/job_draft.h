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

#include "shared/document_reader.h"
#include "shared/job_notify.h"
#include "shared/job_spec.h"

#define DRAFT_ABSENT UINT64_MAX

/* 0 would be "nothing" to one reader and "no limit" to another: neither can be had */
#define CPU_RULE(name, field)                                                                      \
    {                                                                                              \
        .key = (name), .kind = DOCUMENT_CPU, .offset = AT(field), .max = ROLE_CPU_MILLICORES_MAX,  \
        .remedy_of_none = "write 1m or more, or leave the key out: it is a core then"              \
    }
#define MEMORY_RULE(name, field)                                                                   \
    {                                                                                              \
        .key = (name), .kind = DOCUMENT_BYTES, .offset = AT(field), .max = ROLE_MEMORY_BYTES_MAX,  \
        .least = ROLE_MEMORY_BYTES_LEAST                                                           \
    }

/* What a role's keys are called where it stands. */
struct role_keys {
    const char *entrypoint, *min, *max;
};

struct role_draft {
    const char *name;
    char pointer[96]; /* "/spec/trainer" or "/roles/0"; "" when its keys stand at the top */
    const struct role_keys *keys;
    const char *entrypoint, *workspace;
    const json_t *command;
    const json_t *selector, *selector_kubernetes; /* node-selector, nodeSelector */
    const json_t *nodes;
    int64_t min, max, gpus, gpus_requested, ports, passes;
    uint64_t cpu, cpu_limit, memory, memory_limit;
    int spread, takes_input; /* below 0: it is not there */
};

/* The keys of an older submission that are not the spec's own. */
struct submit_draft {
    const char *entry, *package;
    const json_t *envs;
    int64_t parallelism, min, max, pservers, gpus;
    uint64_t cpu, memory, pserver_cpu, pserver_memory;
};

/* Who is told what: the key notify. */
struct notify_draft {
    bool given, on_given;
    uint32_t on; /* a set of enum notify_event */
    int each;
    const char *webhook;
    const char *mails[NOTIFY_MAILS_MAX];
    size_t n_mails;
};

struct job_draft {
    const char *pointer; /* of the object that holds the spec's keys: "/spec" or "" */
    const char *api_version, *kind, *name, *mode, *dataset, *on_disconnect, *user, *umask;
    const char *parking;
    const char *teacher, *checkpoint_path, *workspace_folder;
    const json_t *after, *array_element;
    const char *array;
    const char *array_name;
    int64_t array_index, array_jobs, array_most;
    int64_t priority, passes, port, ports_num, ports_num_for_sparse, restart_max;
    int64_t tries_at_once, shuffle, task_records, task_tries;
    uint64_t grace, restart_backoff, deadline, deadline_wall, expected, time_limit,
        checkpoint_period;
    int fault_tolerant, autoclean;
    const char *env_key; /* where env stands: "env" or "envs" */
    const json_t *spec, *env;
    struct submit_draft submit;
    struct notify_draft notify;
    struct role_draft roles[JOB_ROLES_MAX];
    size_t n_roles;
};

/* what only containers need: accepted wherever upstream has it, and listed as ignored */
extern const struct document_table container_keys;

/* the keys of a job that are the same in every shape; they read into a job_draft */
extern const struct document_table common_keys;

/* role_draft_add - the next free role with everything absent; NULL (error set) when there are too
 * many */
struct role_draft *role_draft_add(struct document_reader *reader, struct job_draft *job,
                                  const char *name, const struct role_keys *keys);

/* role_draft_read - `trainer: {...}` or `pserver: {...}`; target is the job_draft */
int role_draft_read(struct document_reader *reader, const char *key, const json_t *value,
                    void *target);

/* role_draft_read_list - `roles: [...]` */
int role_draft_read_list(struct document_reader *reader, const char *key, const json_t *value,
                         void *target);

/* submit_draft_matches - whether the document is an older submission, by its keys */
bool submit_draft_matches(const json_t *document);

/* submit_draft_read - one, into the job's draft and its roles */
int submit_draft_read(struct document_reader *reader, const json_t *document,
                      struct job_draft *draft);

/* role_draft_finish - defaults and rules of one role; *role is zeroed before and owned by a
 * job_spec */
int role_draft_finish(struct document_reader *reader, const struct role_draft *draft,
                      const struct job_spec *spec, struct role_spec *role);

/* role_draft_refuse - an error at a key of the role */
int role_draft_refuse(struct document_reader *reader, const struct role_draft *draft,
                      const char *key, const char *text);

/* role_draft_finish_nodes - the nodes that its instances are to run on, one for each
 * (job_document_places.c) */
int role_draft_finish_nodes(struct document_reader *reader, const struct role_draft *draft,
                            struct role_spec *role);
/* role_draft_check_nodes - once its bounds are known: there is a node for each instance */
int role_draft_check_nodes(struct document_reader *reader, const struct role_draft *draft,
                           const struct role_spec *role);
/* job_draft_finish_workspace_folder - once the roles are known; the same file */
int job_draft_finish_workspace_folder(struct document_reader *reader, const struct job_draft *draft,
                                      struct job_spec *spec);

/* job_draft_finish_name - the name of the job; job_document_names.c, as the next three */
int job_draft_finish_name(struct document_reader *reader, const struct job_draft *draft,
                          struct job_spec *spec);

/* document_suggest_name - the nearest valid name of a job: lower case, '-' for what is not allowed
 */
void document_suggest_name(const char *name, char *text, size_t size);
bool document_env_name_valid(const char *name);
/* document_service_name_valid - JOB or JOB.ROLE */
bool document_service_name_valid(const char *name);

/* job_draft_refuse - an error at a key of the object that holds the spec's keys; "": at that object
 */
int job_draft_refuse(struct document_reader *reader, const struct job_draft *draft, const char *key,
                     const char *text);

/* job_draft_finish_array, job_draft_finish_after - defaults and rules of `array` and `after` */
int job_draft_finish_array(struct document_reader *reader, const struct job_draft *draft,
                           struct job_spec *spec);
int job_draft_finish_after(struct document_reader *reader, const struct job_draft *draft,
                           struct job_spec *spec);

/* job_draft_read_notify, job_draft_finish_notify - the key `notify`, and its defaults and rules;
 * job_document_notify.c */
int job_draft_read_notify(struct document_reader *reader, const char *key, const json_t *value,
                          void *target);
int job_draft_finish_notify(struct document_reader *reader, const struct job_draft *draft,
                            struct job_spec *spec);
/* job_notify_to_json - as the document has it; new reference */
json_t *job_notify_to_json(const struct job_notify *notify);
