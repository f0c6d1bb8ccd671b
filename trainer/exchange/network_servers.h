/* SPDX-License-Identifier: Apache-2.0 */
/* network_servers.h - parameter servers that a person has started, by their addresses
 *
 * In a job the scheduler tells where servers are (trainer.c); here a list does, and it stays. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "trainer/wire/agreement.h"
#include "trainer/parameters/block_placement.h"

struct declaration;
struct edl_error;
struct ps_client;
struct network_servers;

struct network_servers_config {
    const char *list; /* host:port,... ; [v6]:port */
    const char *secret_file, *socket;
    uint64_t job_id;
    uint32_t trainer;
    struct block_placement placement; /* of the list: each host with all its ports */
    struct agreement agreement;       /* with the other trainers */
    uint64_t wait_us;                 /* for all of them to be there */
    const volatile sig_atomic_t *stop;
};

/* network_servers_open - connects to all of them, waiting as long as config says; what it waits for
 * is told now and then
 * -EINVAL: the list, or what the servers refuse; -EACCES: a server has another secret;
 * EDL_EUNREACHABLE: not in time; -EINTR: told to stop */
int network_servers_open(const struct network_servers_config *config,
                         const struct declaration *declaration, struct network_servers **ret,
                         struct edl_error *error);
struct network_servers *network_servers_free(struct network_servers *servers);

/* network_servers_again - after an exchange failed so: the same wait; EDL_ESTALE: a server has lost
 * its parameters */
bool network_servers_may_come_back(int code);
int network_servers_again(struct network_servers *servers, struct edl_error *error);

/* network_servers_client - for ps_client_exchange */
struct ps_client *network_servers_client(const struct network_servers *servers);
