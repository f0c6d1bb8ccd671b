/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_agent.h - one question after another to ssh-agent, on a loop that it cannot hold up
 *
 * Used by: ssh_libssh2_login.c. Tests: tests/unit/test_ssh_agent.c, tests/integration/320-ssh.sh.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct ssh_agent;

/* message is a whole one, borrowed; NULL: the agent is gone, or said what is no message */
typedef void ssh_agent_answered(void *userdata, const uint8_t *message, size_t size);

/* ssh_agent_open - connects to the socket at path. Errors: -ENAMETOOLONG, and what socket(2) and
 * connect(2) give */
int ssh_agent_open(sd_event *event, const char *path, ssh_agent_answered *answered, void *userdata,
                   struct ssh_agent **ret);

/* ssh_agent_ask - message becomes the agent's. One at a time; the answer comes from the loop, and
 * no deadline ends it but its owner's */
void ssh_agent_ask(struct ssh_agent *agent, uint8_t *message, size_t size);

/* ssh_agent_free - also from inside answered; NULL is fine; returns NULL */
struct ssh_agent *ssh_agent_free(struct ssh_agent *agent);
