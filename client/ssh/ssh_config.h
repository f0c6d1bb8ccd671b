/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_config.h - what ssh's own configuration says of a host, as `ssh -G` prints it
 *
 * `ssh -G` settles all files, Match and Include; nothing of that is repeated here.
 * Used by: ssh_session.c. Tests: tests/unit/test_ssh_config.c, tests/fuzz/fuzz_ssh_config.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct edl_error;
struct ssh_target;

#define SSH_CONFIG_LIST_MAX 16

/* Paths, at most so many: more are left out. */
struct ssh_list {
    char *items[SSH_CONFIG_LIST_MAX]; /* owned */
    unsigned int n;
};

enum ssh_strict { SSH_STRICT_ASK, SSH_STRICT_ACCEPT_NEW, SSH_STRICT_YES };

/* All strings are owned; NULL: not said. */
struct ssh_config {
    char *hostname, *user, *host_key_alias;
    char *identity_agent; /* path of its socket; NULL: none */
    char *proxy;          /* ProxyJump or ProxyCommand */
    /* the option that judges host keys beside known_hosts, by name; not owned; NULL: none does */
    const char *key_judge;
    uint16_t port;
    bool identities_only, hash_known_hosts;
    enum ssh_strict strict;
    struct ssh_list identity_files, user_known_hosts, global_known_hosts, certificate_files;
};

/* Where paths of a configuration begin, and what its signs stand for. */
struct ssh_place {
    const char *home, *local_user;
    const char *agent_socket; /* $SSH_AUTH_SOCK or NULL */
};

/* ssh_config_default - as ssh without any file; target wins */
void ssh_config_default(const struct ssh_target *target, const struct ssh_place *place,
                        struct ssh_config *ret);

/* ssh_config_parse - text is what `ssh -G` printed; unknown lines are skipped. Pure but for
 * $NAME in IdentityAgent. ret need not be cleared; the caller's */
void ssh_config_parse(const char *text, const struct ssh_target *target,
                      const struct ssh_place *place, struct ssh_config *ret);

/* ssh_config_known_hosts - one file instead of all that the configuration has; NULL: nothing */
void ssh_config_known_hosts(struct ssh_config *config, const char *file);

void ssh_config_clear(struct ssh_config *config);

/* ssh_config_place - of this process; borrowed, valid until the next call */
struct ssh_place ssh_config_place(void);

/* ssh_config_argv - the arguments of `ssh -G` for this target; storage holds what they need */
#define SSH_CONFIG_ARGV_MAX 12
void ssh_config_argv(const struct ssh_target *target, const char *config_file, char storage[8],
                     const char *ret[SSH_CONFIG_ARGV_MAX]);
