/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - command line of edl-agent */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/account_policy.h"
#include "agent/files/kept_outputs.h"
#include "shared/label.h"
#include "shared/options_table.h"

#define AGENT_GPUS_MAX 64

#define AGENT_NAMES_MAX 64

struct edl_error;

struct agent_names { /* NULL-terminated; borrowed as all text is */
    const char *list[AGENT_NAMES_MAX + 1];
    size_t n;
};

/* What starts supervisors. */
enum agent_runtime {
    AGENT_RUNTIME_AUTO, /* systemd where it runs the machine and the agent is root, else direct */
    AGENT_RUNTIME_SYSTEMD,
    AGENT_RUNTIME_DIRECT
};

struct agent_options {           /* text is borrowed from argv and from given */
    const char *node;            /* NULL: as it joined; else the host's name */
    const char *join;            /* NULL, or the server to join */
    const char *scheduler;       /* NULL: join, or the one that was joined */
    const char *ca_pin, *ca;     /* NULL: as it joined */
    const char *join_token_file; /* NULL: token, or none */
    bool join_token_passed;      /* by the service manager, as join_token_file: good once */
    char token[72];              /* "": none; copied, and wiped from argv */
    bool join_only;              /* end when the scheduler has taken this node */
    const char *client_conf;     /* NULL: as client_files_keep finds it; "": none */
    const char *state_dir;
    const char *runtime_dir; /* NULL: the state folder */
    const char *output_dir;  /* NULL: in the state folder */
    const char *address;     /* NULL: as membership_open finds it */
    uint64_t cpu_millicores; /* 0: all of the machine but the reserve */
    uint64_t memory_bytes;   /* the same */
    uint64_t reserve_cpu_millicores, reserve_memory_bytes;
    uint64_t gpus;
    bool gpus_given;
    uint8_t gpu_numa[AGENT_GPUS_MAX]; /* NUMA node of each device, below UINT8_MAX */
    uint64_t n_gpu_numa;              /* 0, or as many as gpus */
    uint64_t gpu_idle_us;             /* that have done nothing for so long are told; 0: never */
    struct labels labels;
    uint16_t port_first;
    uint16_t port_last;
    uint64_t heartbeat_us;
    uint64_t workspace_cache_bytes; /* of archives of workspaces, at most */
    uint64_t cut_off_kill_us;       /* so long a process stands still, once its lease is over */
    uint64_t log_max_bytes;         /* of the log of one process */
    uint64_t old_logs_max_bytes;    /* of all logs of processes that are gone */
    struct kept_bounds kept;        /* of copies of workspaces, with what processes left in them */
    enum agent_runtime runtime;
    struct agent_names allow_users, allow_groups; /* who of a root agent's node may run processes */
    const char *default_user;                     /* NULL: none */
    struct agent_names map_users; /* people who are accounts here whatever their numbers */
    struct user_range user_range; /* for those without an account, if there is no default_user */
    bool allow_root;              /* what names no account runs as root */
    bool stop_processes_on_exit;
    uint64_t tasks_max;     /* threads and processes of one process */
    bool pin_cores;         /* who was granted whole cores gets some for itself */
    bool cpu_quota;         /* no more than was granted, also when there is */
    bool cpu_idle;          /* of the direct runtime; processes have what is left over */
    bool no_control_groups; /* of the direct runtime; processes are held to no limits then */
    bool overcommit;        /* may offer more than the machine has */
    bool no_foreign;        /* other load of the machine is not reported */
    const char *prolog_dir, *epilog_dir; /* of drop-ins; NULL: as root in /etc/edl, else none */
    uint64_t prolog_timeout_us, epilog_timeout_us;
    char default_state_dir[512];
    struct options_given given; /* which owns texts of files */
    int argc;                   /* to be read again */
    char **argv;
    bool again; /* it is */
};

/* agent_node_valid - whether a name can be a node's */
bool agent_node_valid(const char *name);

/* options_parse - agent.conf and agent.conf.d, the command line, which wins, and EDL_LABELS for
 * labels that neither gives
 * 0: run, options_done afterwards; 1: help or version was printed; -EINVAL with error */
int options_parse(int argc, char **argv, struct agent_options *ret, struct edl_error *error);
void options_done(struct agent_options *options);

/* options_reread - files and the command line of before once more; ret is as from options_parse */
int options_reread(const struct agent_options *before, struct agent_options *ret,
                   struct edl_error *error);

/* options_changes - as options_differ */
size_t options_changes(const struct agent_options *started, const struct agent_options *now,
                       const struct agent_options *newer, struct option_change ret[OPTIONS_MAX]);
