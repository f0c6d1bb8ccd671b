/* SPDX-License-Identifier: Apache-2.0 */
/* run_job.h - the job that a command line of PaddlePaddle's paddle.py means, with a list of hosts
 *
 * Pure. A parameter server and a trainer run on every host of the list, the i-th ones on the i-th
 * host, in one folder. Source: cluster_train/paddle.py of PaddlePaddle, as its pages describe it.
 * Used by: cmd_run.c. Tests: tests/unit/test_run_job.c. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "client/options.h"
#include "shared/host_list.h"

struct edl_error;

/* What is edl's own of the command line; the rest is the trainer's. */
struct run_options {
    struct common_options common;
    const char *conf;
    const char *package, *workspace; /* --job_dispatch_package, --job_workspace: one of them */
    const char *name, *trainer, *pserver;
    uint64_t cpu_millicores, memory_bytes; /* of each trainer; 0: half of the smallest host */
};

extern const struct options_table run_options;

/* run_split - sorts words into edl's own and the trainer's flags, "--NAME=VALUE" and "--NAME", in
 * their order. own, flags: room for argc pointers, borrowed from argv. -EINVAL with remedy: a word
 * that is no flag. */
int run_split(int argc, char **argv, char **own, int *ret_n_own, char **flags, size_t *ret_n_flags,
              struct edl_error *error);

/* run_check - exactly one of the two ways to a workspace, and each as it has to be. -EINVAL */
int run_check(const struct run_options *options, struct edl_error *error);

/* run_check_text - what goes into the document is UTF-8. -EINVAL */
int run_check_text(const struct run_options *options, char *const *flags, size_t n_flags,
                   struct edl_error *error);

/* run_flag_in_copy - a flag whose value is a path into a folder that is sent to the hosts, with the
 * path that the file has in the copy: "--config=/home/ann/demo/trainer_config.py" is
 * "--config=./trainer_config.py" of /home/ann/demo. A new string; NULL: it is none
 * folder: absolute */
char *run_flag_in_copy(const char *flag, const char *folder);

/* run_find_nodes - the node of each host: by its name, its name without a domain, or one of its
 * addresses. nodes: of the answer to GET /nodes. addresses[i]: of host i, as name services tell, in
 * digits, and the name behind an alias; separated by blanks; NULL: none. ret: room for
 * list->n_hosts, borrowed from nodes. -ENOENT with remedy: a host that is no node, or two that are
 * one. */
int run_find_nodes(const struct host_list *list, const json_t *nodes, char *const *addresses,
                   const json_t **ret, struct edl_error *error);

struct run_job {
    const struct run_options *options;
    const struct host_list *list;
    const json_t **nodes;  /* of each host */
    const char *name;      /* of the job */
    const char *folder;    /* "JOB20161104171630" */
    uint32_t port;         /* the first at which its servers listen */
    const char *workspace; /* sha256: of an archive, or a folder on all hosts */
    char **flags;          /* n_flags, the trainer's */
    size_t n_flags;
};

/* run_job_document - the document for POST /jobs; a new reference */
json_t *run_job_document(const struct run_job *job);

/* run_job_folder - where it runs on each host, the caller's; NULL: in private folders */
char *run_job_folder(const struct run_job *job);
