/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_program.c - the transport by the program ssh */
#include "client/ssh/ssh_internal.h"

static void begin(struct ssh_session *session)
{
    ssh_session_fail(session, SSH_FAULT_HERE, "log in there once with ssh", "%s",
                     *session->why != '\0' ? session->why : "the program ssh is not used yet");
}

static void nothing(struct ssh_session *session)
{
    (void)session;
}

static void password(struct ssh_session *session, const char *text)
{
    (void)session;
    (void)text;
}

const struct ssh_transport_ops ssh_program_ops = {
    .transport = SSH_PROGRAM,
    .begin = begin,
    .accepted = nothing,
    .password = password,
    .run = nothing,
    .end = nothing,
};
