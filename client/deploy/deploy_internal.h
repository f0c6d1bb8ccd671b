/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_internal.h - what the files of edl-deploy share of a deployment that goes on */
#pragma once

#include <jansson.h>
#include <sys/types.h>

#include "client/deploy/deploy_ask.h"
#include "client/deploy/deploy_packages.h"
#include "client/deploy/deploy_run.h"
#include "client/deploy/deploy_screen.h"

/* what a host waits for, in the order in which it is asked for */
#define WAIT_MAP(XX)                                                                               \
    XX(WAIT_NOTHING, "")                                                                           \
    XX(WAIT_KEY, "a word on its host key")                                                         \
    XX(WAIT_LOGIN, "a password to log in")                                                         \
    XX(WAIT_SUDO, "a password for sudo")                                                           \
    XX(WAIT_PACKAGES, "packages of this machine")

enum wait {
#define XX(name, text) name,
    WAIT_MAP(XX)
#undef XX
};

struct run;

struct target {
    struct run *run;
    const struct host *host;
    struct deploy_host core;
    struct ssh_session *session;
    struct http_async_call *call; /* for its join token */
    int fd;                       /* of the package that is being sent */
    enum wait wait;
    unsigned int tried; /* passwords, of the kind that it waits for */
    char *password;     /* the last one that it was given; owned, wiped */
    char *key;          /* "ED25519 SHA256:..."; owned */
    char *why;          /* its transport is ssh; owned; NULL: it is not, or that was asked for */
    uint64_t started_us;
    bool ended;
};

struct run {
    const struct deploy_options *options;
    struct server *server;
    struct deploy_plan plan;
    sd_event *event;
    struct http_async *http;
    struct ask *ask; /* NULL: no terminal */
    struct deploy_packages *packages;
    bool packages_known;
    json_t *nodes;
    struct target *targets;  /* owned */
    struct screen_row *rows; /* owned */
    size_t n, n_ended;
    struct screen *screen;
    char *common[WAIT_SUDO + 1]; /* passwords by what they are for: the given one, or an answer for
                                    many hosts; NULL: none; owned, wiped */
    struct target *asked;        /* whose password is asked for alone; NULL: for all */
    enum wait asked_for;
    bool stopped;
};

/* deploy_show - something of the host may read otherwise on the screen now */
void deploy_show(struct target *target);
/* deploy_fail - it ends so; error is copied */
void deploy_fail(struct target *target, const struct edl_error *error);
/* deploy_begin_step - runs the script of the step that the host is at */
void deploy_begin_step(struct target *target);
/* deploy_is_node - of the cluster as it was when all this began; userdata: the run */
bool deploy_is_node(const char *name, void *userdata);

/* deploy_need_password - the host wants one, to log in or for sudo: the one that is known first */
void deploy_need_password(struct target *target, enum wait about);
/* deploy_keep_password - the one that is known is what this host gets from now on */
void deploy_keep_password(struct target *target, enum wait about);
/* deploy_set_wait - the host waits; asks the questions that are due now */
void deploy_set_wait(struct target *target, enum wait wait);
/* deploy_consider_questions - asks when every host that may come to the same question has come */
void deploy_consider_questions(struct run *run);
/* deploy_wipe - frees a password */
void deploy_wipe(char **password);
