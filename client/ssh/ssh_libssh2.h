/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_libssh2.h - the transport inside this process, as its own files see it
 *
 * One operation at a time for a session: each step is one call into libssh2, which is repeated
 * with the same arguments while it says EAGAIN. ssh_libssh2.c connects and drives, _login.c logs
 * in, _run.c runs scripts. Nothing else includes libssh2. */
#pragma once

#include <libssh2.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "client/ssh/ssh_internal.h"

struct ssh_connect;
struct ssh2_login;

/* What a step says of itself. */
enum ssh2_said {
    SSH2_NEXT,  /* another step follows at once */
    SSH2_AGAIN, /* the same one again, when the socket is ready */
    SSH2_MORE,  /* the same one again, after other hosts had their turn */
    SSH2_WAIT,  /* somebody else goes on: a person, an agent, the caller */
    SSH2_OVER,  /* the session was told why */
};

struct ssh2;
typedef enum ssh2_said ssh2_step(struct ssh2 *);

struct ssh2 {
    struct ssh_session *session;
    struct ssh_connect *connect;
    int fd;
    sd_event_source *io;
    LIBSSH2_SESSION *ssh;
    LIBSSH2_CHANNEL *channel;
    ssh2_step *step; /* NULL: nothing is going on */
    struct ssh2_login *login;
    enum { SSH2_FREE, SSH2_READS_OUT, SSH2_READS_ERR, SSH2_WRITES } half; /* sent in part */
    bool input_over;
    char detail[60]; /* of an end without an end line */
};

/* ssh2_go_on - steps until one waits; the last thing that is done with it */
void ssh2_go_on(struct ssh2 *this);

/* ssh2_broken - a call of libssh2 failed with code: EAGAIN is no failure, all else ends the session
 * as a connection that is lost while `doing` */
enum ssh2_said ssh2_broken(struct ssh2 *this, int code, const char *doing);

/* ssh2_code - of a call that returned NULL */
int ssh2_code(struct ssh2 *this);

ssh2_step ssh2_login_begin, ssh2_run_begin;

void ssh2_login_password(struct ssh2 *this, const char *password);
void ssh2_login_free(struct ssh2 *this);
