/* SPDX-License-Identifier: Apache-2.0 */
/* job_spec.h - a job as the scheduler understands it, after defaults and validation
 *
 * Plain data, no JSON: the deciding core includes this. shared/job_document.h turns documents into
 * it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shared/account_name.h"
#include "shared/clock.h"
#include "shared/label.h"

#define JOB_NAME_MAX 63 /* characters, DNS-label like: [a-z][a-z0-9-]* */
#define ROLE_NAME_MAX 31
#define JOB_ROLES_MAX 8
#define ROLE_INSTANCES_MAX 1024
/* what one instance may ask for: no machine has more, and every sum stays far from overflow */
#define ROLE_CPU_MILLICORES_MAX INT64_C(1000000000)
/* with less a supervisor is killed before it has written anything: such a wish is a slip */
#define ROLE_MEMORY_BYTES_LEAST (INT64_C(1) << 22)
#define ROLE_MEMORY_BYTES_MAX (INT64_C(1) << 46)
#define ROLE_GPUS_MAX 64
#define ROLE_PORTS_MAX 8
#define JOB_PRIORITY_MAX 1000000 /* and as far below zero */
#define JOB_TIME_LIMIT_MIN_US USEC_PER_SEC
#define JOB_TIME_LIMIT_MAX_US (10 * 365 * 24 * 3600 * USEC_PER_SEC)
#define JOB_AFTER_MAX 64
#define JOB_ARRAY_MAX 1000 /* jobs in one array */
#define JOB_ARRAY_INDEX_MAX 999999
#define JOB_ARRAY_BYTES_MAX (8 * 1024 * 1024) /* of all jobs of an array: job_spec_bytes */
#define JOB_ARRAY_INSTANCES_MAX 100000        /* of all jobs of an array: job_spec_instances */
#define JOB_ENV_BYTES_MAX (256 * 1024)
#define JOB_UMASK 0022 /* of the processes of a job that names none */

enum job_mode { JOB_MODE_PSERVER, JOB_MODE_COLLECTIVE, JOB_MODE_MPI, JOB_MODE_SERVICE };

struct env_pair {
    char *name;
    char *value;
};

struct role_spec {
    char name[ROLE_NAME_MAX + 1]; /* "trainer", "pserver", ... */
    char **argv;             /* NULL-terminated; an entrypoint string becomes /bin/sh -c STRING */
    char *workspace;         /* directory, or sha256: of an archive; "" = a private one */
    uint32_t min;            /* instances to start with, >= 1 */
    uint32_t max;            /* >= min; elastic when greater */
    uint64_t cpu_millicores; /* request per instance */
    bool cpu_unsaid;         /* that is a default: its document says nothing of it */
    uint64_t memory_bytes;   /* request per instance */
    uint32_t gpus;           /* limit per instance, as upstream counts them */
    uint32_t n_ports;        /* ports allocated per instance */
    bool spread;             /* a gang of it goes to idle nodes, one instance to each, if it can */
    bool spread_unsaid;      /* its document says nothing of that */
    bool takes_input;        /* stdin: true: what people type into a session; else none */
    struct labels *selector; /* its nodes must carry every one of these; NULL: any node */
    char **nodes;            /* n_nodes of at most ROLE_INSTANCES_MAX names: instance i runs on
                                nodes[i] and nowhere else; NULL: where there is room; owned */
    uint32_t n_nodes;        /* max at least, where there are any */
};

/* Whether it may go back to the queue for another one. Unsaid: where nothing is at risk */
enum job_parking { JOB_PARKING_UNSAID, JOB_PARKING_ALLOWED, JOB_PARKING_NEVER };

struct job_notify;

/* Many jobs of one document. */
struct job_array {
    char *name;     /* of the array that this job is one of; NULL: to be made into one; owned */
    uint32_t first; /* index of its first job, or of this one */
    uint32_t n;     /* jobs; 0: no array */
    uint32_t most;  /* of them at once; 0: no bound */
};

struct job_spec {
    char name[JOB_NAME_MAX + 1];
    char user[ACCOUNT_NAME_MAX + 1]; /* the account to run as; "": its submitter's */
    enum job_mode mode;
    int32_t priority;
    bool fault_tolerant;
    bool keep_cut_off;        /* on_disconnect: keep: what runs on a node that is cut off goes on */
    enum job_parking parking; /* under crowding */
    bool keep_remains; /* autoclean: false: what still runs when it has ended by itself stays */
    uint32_t passes;   /* over the data; 0: as its data set says, or one (job_spec_passes) */
    uint32_t port, ports_num,
        ports_num_for_sparse;    /* upstream's; environment only, real ports are allocated */
    bool has_umask;              /* else its processes have JOB_UMASK */
    uint32_t umask;              /* of its processes, at most 0777; umask(2) */
    uint64_t grace_us;           /* SIGTERM to SIGKILL, default 30 s */
    uint32_t restart_max;        /* failures of one slot that the job bears */
    uint32_t tries_at_once;      /* of one slot, when all fail within seconds and nothing was ever
                                    done; 0: as many as restart_max says */
    uint64_t restart_backoff_us; /* first back-off; doubles to 60 s */
    uint64_t deadline_us;        /* from the submission, which turns it into: */
    uint64_t deadline_wall_us;   /* when it has to be over; 0: none */
    uint64_t expected_us;        /* its owner's guess how long it takes with its minimum; 0: none */
    uint64_t time_limit_us;      /* how long it may run, as often as it starts; 0: no limit */
    char **after;                /* jobs that have to succeed before: names, or (once it is
                                    submitted) ids in digits, behind JOB_AFTER_ANY where any end
                                    will do; NULL-terminated; NULL: none */
    struct job_array array;
    char *teacher;                 /* service that its processes ask; NULL: none; owned */
    char *checkpoint_path;         /* folder on all nodes; NULL: below EDL_OUTPUT_DIR; owned */
    uint64_t checkpoint_period_us; /* 0: as the programs like */
    struct job_notify *notify;     /* who is told what of it; NULL: nobody; owned */
    char *dataset;                 /* glob of RecordIO files; NULL: none */
    bool shuffled;                 /* each pass takes the tasks in another order, that of: */
    uint64_t shuffle_seed;
    uint32_t task_records;  /* in a task, at most, where its program cuts it; 0: as that likes */
    uint32_t task_tries;    /* failures, or deaths of its processes; 0: as queue_rules.h says */
    char *workspace_folder; /* where each node unpacks the archive of its roles, once for all
                               processes there; NULL: a copy for each process; owned */
    struct env_pair *env;   /* n_env pairs, owned */
    size_t n_env;
    struct role_spec
        *roles; /* n_roles of at most JOB_ROLES_MAX; pserver before trainer: start order */
    size_t n_roles;
};

/* job_spec_new - with room for so many roles, and none yet; free with job_spec_free */
struct job_spec *job_spec_new(size_t roles_max);

/* job_spec_free - accepts NULL; returns NULL */
struct job_spec *job_spec_free(struct job_spec *spec);

/* Before a name or number in `after`: its end of any kind will do. */
#define JOB_AFTER_ANY "any:"

static inline bool job_after_is_any(const char *text)
{
    return strncmp(text, JOB_AFTER_ANY, sizeof JOB_AFTER_ANY - 1) == 0;
}

/* job_after_named - the name or number in a text of `after`; borrowed from it */
static inline const char *job_after_named(const char *text)
{
    return job_after_is_any(text) ? text + sizeof JOB_AFTER_ANY - 1 : text;
}

#define JOB_PASSES_MAX 1000000
#define TASK_RECORDS_MAX 16777216
#define TASK_TRIES_MAX 1000

/* job_spec_passes - over the data, where no data set says more than the document */
static inline uint32_t job_spec_passes(const struct job_spec *spec)
{
    return spec->passes > 0 ? spec->passes : 1;
}

/* job_spec_array - the name of the array that this job is one of; "" */
const char *job_spec_array(const struct job_spec *spec);

/* job_spec_copy - a deep copy, owned by the caller */
struct job_spec *job_spec_copy(const struct job_spec *spec);

/* job_spec_equal - every member; linear, allocates nothing */
bool job_spec_equal(const struct job_spec *a, const struct job_spec *b);

/* job_spec_bytes - what one job of it takes in memory, and about as much again in the database: all
 * of its texts as JSON writes them, and what they hang on */
uint64_t job_spec_bytes(const struct job_spec *spec);

/* job_spec_env_bytes - of all names and values of env */
uint64_t job_spec_env_bytes(const struct job_spec *spec);

/* job_spec_role_most - instances that a role is to have room for: its maximum; of parameter servers
 * beside others, of which the scheduler chooses the number, the minimum until it has */
uint32_t job_spec_role_most(const struct job_spec *spec, uint32_t role);
/* job_spec_instances - of all roles, so many each */
uint64_t job_spec_instances(const struct job_spec *spec);

/* What an instance asks for whose document does not say. */
struct role_defaults {
    uint64_t cpu_millicores;
    uint64_t memory_bytes; /* for each core or GPU of it, whichever are more; 0: see below */
};

/* What a node has: a whole one, or what it offers. */
struct role_share {
    uint64_t cpu_millicores, memory_bytes, gpus;
    const char *name;            /* borrowed; NULL: it is none that a role names */
    const struct labels *labels; /* borrowed; NULL: none */
    bool away;                   /* it takes no processes now */
};

/* job_spec_ask_by_default - each role that says nothing of CPU or memory asks for some, else it
 * would be placed as if it needed none, and could take all. Of cores at most what the largest node
 * has of those that the role's document does not exclude. Without defaults->memory_bytes that is
 * its cores' part of 15/16 of a node's memory, or its GPUs', whichever is more: the least of those
 * nodes that could run it, so that all cores of each can be used; of those that are away only
 * where there is no other. ROLE_MEMORY_DEFAULT_BYTES for
 * each core or GPU where there is no such node; a quarter of that at least. ret_cpu, ret_memory:
 * the roles, 1 << role. For a submission: stored jobs keep their amounts. */
#define ROLE_MEMORY_DEFAULT_BYTES (UINT64_C(1) << 30)
void job_spec_ask_by_default(struct job_spec *spec, const struct role_defaults *defaults,
                             const struct role_share *nodes, size_t n_nodes, uint32_t *ret_cpu,
                             uint32_t *ret_memory);

/* job_spec_array_element - the job of that place (0 .. array.n - 1) in the array that spec is to be
 * made into: a copy, named NAME-INDEX */
struct job_spec *job_spec_array_element(const struct job_spec *spec, uint32_t place);
/* role_selector - what its nodes must carry; without labels when they may be any. Never NULL. */
const struct labels *role_selector(const struct role_spec *role);

/* role_node - the node on which this instance has to run; NULL: any. Borrowed from the role */
const char *role_node(const struct role_spec *role, uint32_t index);

/* role_forget_nodes - its instances run where there is room */
void role_forget_nodes(struct role_spec *role);

/* role_select - its nodes must carry this label, too; errors as labels_set */
int role_select(struct role_spec *role, const char *name, const char *value,
                struct edl_error *error);

/* job_spec_role - index of a role by name, or -ENOENT */
int job_spec_role(const struct job_spec *spec, const char *name);

/* job_spec_umask - of its processes */
uint32_t job_spec_umask(const struct job_spec *spec);

/* job_mode_to_string / from_string - "pserver", "collective", "mpi", "service"; -EINVAL when none
 */
const char *job_mode_to_string(enum job_mode mode);
int job_mode_from_string(const char *text);

/* job_parking_to_string / from_string - "allowed", "never"; "" while unsaid; -EINVAL when none */
const char *job_parking_to_string(enum job_parking parking);
int job_parking_from_string(const char *text);
