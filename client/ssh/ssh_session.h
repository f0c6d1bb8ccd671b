/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_session.h - one ssh connection to one host, driven by an sd-event loop, behind two transports
 *
 * The transports are libssh2 inside this process (ssh_libssh2.c) and the program ssh
 * (ssh_program.c). A caller sees only: open, run one script after another, free. Nothing here
 * blocks; all calls back come from the loop, never from inside a call of the caller. */
#pragma once

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

struct edl_error;
struct ssh_session;

/* name, word on the screen and in --json */
#define SSH_TRANSPORT_MAP(XX)                                                                      \
    XX(SSH_AUTO, "auto")       /* libssh2, and ssh where that cannot do what this host needs */    \
    XX(SSH_LIBSSH2, "libssh2") /* nothing else */                                                  \
    XX(SSH_PROGRAM, "openssh") /* the program ssh */

enum ssh_transport {
#define XX(name, word) name,
    SSH_TRANSPORT_MAP(XX)
#undef XX
};

/* Why a connection ended; text and remedy are in the error beside it.  name, word in --json */
#define SSH_FAULT_MAP(XX)                                                                          \
    XX(SSH_FAULT_NONE, "none")                                                                     \
    XX(SSH_FAULT_RESOLVE, "resolve")         /* no address of that name */                         \
    XX(SSH_FAULT_CONNECT, "connect")         /* refused, no way, no answer */                      \
    XX(SSH_FAULT_PROTOCOL, "protocol")       /* no ssh server, no common algorithm */              \
    XX(SSH_FAULT_KEY_CHANGED, "key-changed") /* another key of the same type is known */           \
    XX(SSH_FAULT_KEY_REVOKED, "key-revoked")                                                       \
    XX(SSH_FAULT_KEY_UNKNOWN, "key-unknown") /* and nobody accepted it */                          \
    XX(SSH_FAULT_LOGIN, "login")             /* no key or password of ours was taken */            \
    XX(SSH_FAULT_LOST, "lost")               /* the connection broke */                            \
    XX(SSH_FAULT_SILENT, "silent")           /* the host does not answer any more */               \
    XX(SSH_FAULT_HERE, "here")               /* this machine: memory, files, ssh is missing */

enum ssh_fault {
#define XX(name, word) name,
    SSH_FAULT_MAP(XX)
#undef XX
};

/* A key that known_hosts does not know, shown before it is accepted. */
struct ssh_host_key {
    const char *type;        /* "ED25519" */
    const char *fingerprint; /* "SHA256:..." as ssh-keygen -lf prints it */
};

/* What the caller is told. Strings are borrowed for the call. */
struct ssh_handlers {
    /* logged in: ssh_session_run may be called now */
    void (*opened)(struct ssh_session *session, void *userdata);
    /* answer, now or later, with ssh_session_accept_key */
    void (*unknown_key)(struct ssh_session *session, const struct ssh_host_key *key,
                        void *userdata);
    /* no key was taken; tried counts passwords that this host refused. Answer, now or later, with
     * ssh_session_password */
    void (*want_password)(struct ssh_session *session, unsigned int tried, void *userdata);
    /* one line of the script's stdout or stderr, without its newline; the end line is not told */
    void (*line)(struct ssh_session *session, const char *line, void *userdata);
    /* of the input, bytes that the host has taken; may be NULL */
    void (*sent)(struct ssh_session *session, uint64_t sent_bytes, void *userdata);
    /* the script ran to its own end line; status is its exit status */
    void (*ended)(struct ssh_session *session, int status, void *userdata);
    /* the connection is over; only ssh_session_free may follow. error has text and remedy */
    void (*failed)(struct ssh_session *session, enum ssh_fault fault, const struct edl_error *error,
                   void *userdata);
};

struct ssh_target {
    const char *host; /* name, address or alias of ssh_config; never begins with '-' */
    const char *user; /* NULL: as ssh_config or the own name */
    uint16_t port;    /* 0: as ssh_config or 22 */
};

struct ssh_options {
    enum ssh_transport transport;
    double patience; /* factor of all deadlines; 0 is 1 */
    /* NULL: ~/.ssh and /etc/ssh as `ssh -G` says; tests have their own */
    const char *config_file, *known_hosts_file;
};

/* What a script reads from its stdin: bytes, or a file from its current beginning. */
struct ssh_input {
    const void *bytes; /* copied */
    size_t n_bytes;
    int fd; /* -1: bytes only, else sent behind them; borrowed until the script ended */
};

/* ssh_session_new - begins to connect; errors only of memory and of a target that is refused
 * (-EINVAL with remedy). handlers and the strings of target are copied or outlive the call */
int ssh_session_new(sd_event *event, const struct ssh_target *target,
                    const struct ssh_options *options, const struct ssh_handlers *handlers,
                    void *userdata, struct ssh_session **ret, struct edl_error *error);

/* ssh_session_accept_key - whether the key that was shown is right. Yes adds it to known_hosts as
 * ssh does. */
void ssh_session_accept_key(struct ssh_session *session, bool accepted);

/* ssh_session_password - NULL: there is none, the login has failed. Copied, and wiped */
void ssh_session_password(struct ssh_session *session, const char *password);

/* ssh_session_run - a POSIX sh script as the remote command; input may be NULL. One at a time:
 * after opened or ended. silent_s is how long it may say and take nothing (0: 10 s). A remote
 * command line is seen by all users there: no secret in it, secrets are input. */
int ssh_session_run(struct ssh_session *session, const char *script, const struct ssh_input *input,
                    unsigned int silent_s, struct edl_error *error);

/* ssh_session_transport - which one is used now, never SSH_AUTO once opened */
enum ssh_transport ssh_session_transport(const struct ssh_session *session);

/* ssh_session_why - why the program ssh is used though nobody asked for it; NULL: it is not, or
 * somebody did. Borrowed */
const char *ssh_session_why(const struct ssh_session *session);

/* ssh_fault_word, ssh_transport_word - as in the tables above */
const char *ssh_fault_word(enum ssh_fault fault);
const char *ssh_transport_word(enum ssh_transport transport);

/* ssh_transport_of - false: no such word */
bool ssh_transport_of(const char *word, enum ssh_transport *ret);

/* ssh_session_free - says goodbye where that costs no waiting, and forgets; NULL is fine. No
 * handler is called afterwards. May be called from inside a handler. */
void ssh_session_free(struct ssh_session *session);
