/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h - the facts of this machine, and their judges
 *
 * A group of checks is two files: gather_GROUP.c asks the machine and decides nothing,
 * judge_GROUP.c is pure. Tests: tests/unit/test_doctor.c gives the judges facts of machines that
 * nobody has at hand. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/drop_in.h"
#include "agent/doctor/finding.h"
#include "shared/error.h"

#define FACT_SIZE 256

enum wanted_runtime { WANTED_AUTO, WANTED_SYSTEMD, WANTED_DIRECT };

struct cgroup_facts {
    bool unified;                /* the hierarchy of version 2 is mounted */
    char unified_has[FACT_SIZE]; /* its controllers: "cpu memory pids" */
    char v1_has[FACT_SIZE];      /* those of mounted hierarchies of version 1, the same */
    bool can_kill;               /* cgroup.kill is there */
    bool can_freeze;             /* cgroup.freeze is there */
    /* without units: what groups below the one of who asks hold, "memory, cpu"; "": nothing */
    char own_holds[FACT_SIZE];
    char own_fault[FACT_SIZE], own_remedy[FACT_SIZE]; /* why there can be none; "": there can */
};

struct systemd_facts {
    bool booted; /* systemd runs the machine */
    bool root;   /* who asks is root */
    enum wanted_runtime wanted;
    char version[FACT_SIZE];   /* "": the bus did not tell */
    char bus_fault[FACT_SIZE]; /* "": the bus is reached */
    bool has_unit;             /* edl-agent.service is loaded */
    char kill_mode[FACT_SIZE]; /* of it */
};

struct gpu_facts {
    unsigned on_bus;           /* NVIDIA's display devices on the PCI bus */
    char module[FACT_SIZE];    /* version of the kernel's module; "": it is not loaded */
    bool prober_missing;       /* edl-prober cannot be started */
    bool timed_out;            /* it did not answer */
    bool has_nvml;             /* it tells of GPUs */
    unsigned n;                /* GPUs of the library */
    char complaint[FACT_SIZE]; /* what edl-prober said on stderr */
    char driver[FACT_SIZE], nvml[FACT_SIZE]; /* versions; "": not told */
    bool is_given;                           /* agent.conf says how many are offered */
    uint64_t given;
};

struct clock_facts {
    bool is_known; /* whether it is kept right */
    bool is_synchronised;
    bool has_offset;   /* of the scheduler's clock; it is known to a second */
    int64_t offset_us; /* ours is so far ahead */
};

struct disk_facts {
    const char *name; /* static: "state folder" */
    char path[FACT_SIZE];
    char looked_at[FACT_SIZE]; /* path, or the nearest folder above that is there */
    int failure;               /* 0, or -errno: nothing below is known */
    char type[64];
    const char *network; /* static; NULL: local */
    uint64_t total_bytes, free_bytes, files, files_free;
    char fault[FACT_SIZE]; /* why the agent would not use it; "": nothing */
    bool cannot_make;      /* it is not there, and who asks may not make it */
    bool may_be_network;
    bool outlives_boot; /* what is in it is to be there after the next start */
};

#define DISKS_MAX 3

struct reach_facts {
    char server[FACT_SIZE];        /* "": none known */
    char node[FACT_SIZE];          /* "": nothing says how it is called */
    bool joined;                   /* there is a credential */
    struct edl_error member_fault; /* the state folder cannot be read; code 0: it can */
    char ca_path[FACT_SIZE];       /* "": none */
    struct edl_error ca_fault;
    char pin[80];                            /* of the authority that is believed */
    bool tls;                                /* the server is to speak it */
    int stage;                               /* enum http_stage of GET /version */
    char peer[64];                           /* its address */
    char text[FACT_SIZE], remedy[FACT_SIZE]; /* of what failed */
    uint64_t took_us;
    unsigned status;        /* of the answer */
    char version[64];       /* of the scheduler; "": it did not say */
    unsigned orders_status; /* of a call with the node's credential; 0: none was made */
    char orders_text[FACT_SIZE];
    /* why nothing can be stored, as the scheduler says; "": it does not, or asks nobody to know */
    char unstored_text[FACT_SIZE], unstored_remedy[FACT_SIZE];
};

struct named_account {
    char name[64];
    bool is_group, is_default;
    bool exists;
    uint32_t uid;
};

#define NAMED_ACCOUNTS_MAX 129

struct account_facts {
    struct edl_error conf_fault; /* agent.conf is refused; code 0: it is taken */
    bool root;
    bool allow_root;
    char self[64]; /* the account that asks */
    struct named_account named[NAMED_ACCOUNTS_MAX];
    size_t n_named;
};

struct machine_facts {
    char machine_id[64]; /* the first line of /etc/machine-id; "": there is none */
    char dbus_id[64];    /* of /var/lib/dbus/machine-id; "": none */
    bool has_pidfd;      /* pidfd_open and waiting for one */
    char kernel[64];
    uint64_t files_soft, files_hard; /* RLIMIT_NOFILE; UINT64_MAX: no limit */
    uint64_t processes;              /* RLIMIT_NPROC */
    uint64_t locked_bytes;           /* RLIMIT_MEMLOCK, of interest to GPUs */
    uint64_t pid_max;
};

struct drop_in_facts {
    char path[256];
    char names[300]; /* of those that run, in their order; cut */
    char ignored[300];
    size_t n;
    struct edl_error fault; /* why none of them will run */
};

struct doctor_facts {
    struct cgroup_facts cgroups;
    struct systemd_facts systemd;
    struct gpu_facts gpus;
    struct clock_facts clock;
    struct disk_facts disks[DISKS_MAX];
    size_t n_disks;
    uint64_t workspace_cache_bytes;
    struct reach_facts reach;
    struct account_facts accounts;
    struct machine_facts machine;
    struct drop_in_facts drop_ins[DROP_IN_KINDS];
};

void judge_cgroups(const struct doctor_facts *facts, struct findings *ret);
void judge_systemd(const struct doctor_facts *facts, struct findings *ret);
void judge_gpus(const struct doctor_facts *facts, struct findings *ret);
void judge_clock(const struct doctor_facts *facts, struct findings *ret);
void judge_disks(const struct doctor_facts *facts, struct findings *ret);
void judge_reach(const struct doctor_facts *facts, struct findings *ret);
void judge_accounts(const struct doctor_facts *facts, struct findings *ret);
void judge_machine(const struct doctor_facts *facts, struct findings *ret);
void judge_drop_ins(const struct doctor_facts *facts, struct findings *ret);
