/* SPDX-License-Identifier: Apache-2.0 */
/* host_list.h - a conf.py: which hosts there are, and how parameter servers listen on them
 *
 * The names are those of PaddlePaddle's cluster_train/conf.py; /etc/edl/hosts.conf has the same
 * syntax (edl-hosts.conf(5)). The file is read as literals and never executed (literals.h).
 *
 * Pure but for host_list_load. Used by: client. Tests: tests/unit/test_host_list.c,
 * tests/fuzz/fuzz_host_list.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;

#define HOST_LIST_FILE "/etc/edl/hosts.conf"
#define HOST_LIST_MAX 1024       /* hosts */
#define HOST_LIST_PORT 7164      /* PADDLE_PORT, where it is not given */
#define HOST_LIST_PORTS_MAX 1024 /* of either kind */

struct host {
    char *text;    /* as it stands in the file: "root@n1:2222"; owned */
    char *user;    /* NULL: not given; owned */
    char *name;    /* a name or an address, an IPv6 one without its brackets; owned */
    uint16_t port; /* of sshd; 0: not given */
    uint32_t line, column;
};

struct host_list {
    char *file;         /* owned */
    struct host *hosts; /* n_hosts, at least 1; owned */
    size_t n_hosts;
    char *root_dir;                /* ROOT_DIR; NULL: not given; owned, as the next two */
    char *nic;                     /* PADDLE_NIC; NULL: not given */
    char *ld_library_path;         /* LD_LIBRARY_PATH; NULL: not given */
    uint16_t port;                 /* PADDLE_PORT */
    uint32_t ports_num;            /* PADDLE_PORTS_NUM, 1 where it is not given */
    uint32_t ports_num_for_sparse; /* PADDLE_PORTS_NUM_FOR_SPARSE, 0 where it is not given */
    bool use_gpu;                  /* PADDLE_USE_GPU */
};

/* host_list_parse - size bytes of text, which are file's. -EINVAL with file, line, column and
 * remedy: code, an unknown name, a value of the wrong kind or out of bounds, the same host twice,
 * no HOSTS. Free with host_list_clear, also after an error. */
int host_list_parse(const char *file, const char *text, size_t size, struct host_list *ret,
                    struct edl_error *error);

/* host_list_load - the file; NULL: HOST_LIST_FILE. Errors as host_list_parse, and of opening and
 * reading it. Blocks. */
int host_list_load(const char *file, struct host_list *ret, struct edl_error *error);

/* host_parse - "user@host:port" into ret, which host_list_clear's caller owns; -EINVAL with error
 * and remedy */
int host_parse(const char *text, struct host *ret, struct edl_error *error);

void host_clear(struct host *host);
void host_list_clear(struct host_list *list);
