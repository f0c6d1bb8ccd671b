/* SPDX-License-Identifier: Apache-2.0 */
/* login.h - coming in from another machine: calls of the scheduler, and files
 *
 * In the folder of client_conf.h, 0700: ca.pem, the token (0600) and client.conf, which is written
 * last and names the others. A token that a code was changed for is kept as "token": `edl logout`
 * takes it back at the scheduler. One that was given is kept as "given-token", and stays good. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct client_conf;
struct edl_error;

/* Owned. */
struct login {
    char *url;      /* https://..., or http:// of this machine */
    char *servers;  /* all schedulers of the cluster, with commas, url first */
    char *ca;       /* PEM of the authority; NULL: none is needed, or those of the system */
    char *token;    /* of every call from then on */
    bool is_made;   /* for a code: it goes at the logout */
    json_t *caller; /* the scheduler's answer: user, role, via */
};

void login_clear(struct login *login);

/* login_address - the address to keep: https:// unless it says another. -EINVAL: a Unix
 * socket, or plain HTTP to another machine */
int login_address(const char *given, char **ret, struct edl_error *error);

/* login_come_in - with a code, a token, or either of them: fills token, caller and servers, and
 * stores nothing. The code is used up then. Errors: those of the scheduler, EDL_EUNREACHABLE */
enum login_secret { LOGIN_CODE, LOGIN_TOKEN, LOGIN_EITHER };
int login_come_in(struct login *login, enum login_secret kind, const char *secret,
                  struct edl_error *error);

/* login_folder - makes the folder, with those above it. *ret is the caller's */
int login_folder(char **ret, struct edl_error *error);

/* login_keep - writes the files; client.conf last, so that it fits the others */
int login_keep(const struct login *login, const char *folder, struct edl_error *error);

/* login_take_back - the token of an earlier login is good no longer at its scheduler. 0 also when
 * it was given, or is gone; EDL_EUNREACHABLE, and errors of the scheduler */
int login_take_back(const struct client_conf *conf, struct edl_error *error);

/* login_forget - removes the files. -ENOENT: there was none */
int login_forget(const char *folder, struct edl_error *error);
