/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_core.h - the next step at one host, by its answers so far
 *
 * Pure: no connection, no file, no clock. A step ends with an exit status and the lines that its
 * script printed. deploy_core_next says which step comes then, or that the host has failed, why,
 * and what to type. Used by: edl-deploy. Tests: tests/unit/test_deploy.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/error.h"

/* step, as the screen and --json call it */
#define DEPLOY_STEP_MAP(XX)                                                                        \
    XX(DEPLOY_CONNECT, "connecting")                                                               \
    XX(DEPLOY_PROBE, "looking")        /* what any account may know */                             \
    XX(DEPLOY_LOOK, "looking as root") /* and what only root may */                                \
    XX(DEPLOY_UPLOAD, "sending packages")                                                          \
    XX(DEPLOY_INSTALL, "installing")                                                               \
    XX(DEPLOY_JOIN, "joining")                                                                     \
    XX(DEPLOY_DOCTOR, "asking edl doctor")                                                         \
    XX(DEPLOY_REMOVE, "removing")                                                                  \
    XX(DEPLOY_DONE, "done")                                                                        \
    XX(DEPLOY_FAILED, "failed")

enum deploy_step {
#define XX(name, word) name,
    DEPLOY_STEP_MAP(XX)
#undef XX
};

enum deploy_mode { DEPLOY_TO, DEPLOY_CHECK_ONLY, DEPLOY_UPGRADE, DEPLOY_REMOVAL };

enum deploy_sudo {
    DEPLOY_SUDO_ROOT,     /* the account is root */
    DEPLOY_SUDO_FREE,     /* sudo asks for no password */
    DEPLOY_SUDO_PASSWORD, /* it does */
};

#define DEPLOY_PACKAGES_MAX 16
#define DEPLOY_WORD_MAX 128 /* of a fact */
#define DEPLOY_SAID_MAX 6   /* last lines that are kept of a script */
#define DEPLOY_LINE_MAX 200

/* A package file of this machine. */
struct deploy_package {
    char *path; /* owned, as all here */
    char *name; /* "edl-agent" */
    char *version;
    char *arch; /* "amd64", "all" */
    char sha256[65];
    uint64_t bytes;
};

/* What holds for all hosts; borrowed by the core. */
struct deploy_plan {
    enum deploy_mode mode;
    const char *root_dir;                  /* to be made; NULL: none */
    const char *nic;                       /* whose address the node gets; NULL: any */
    const struct deploy_package *packages; /* n_packages of this machine */
    size_t n_packages;
    bool prefer_packages; /* before what apt at the host has */
    /* whether the cluster has a node of that name */
    bool (*is_node)(const char *name, void *userdata);
    void *userdata;
};

/* What a host has said of itself. "": it has not. */
struct deploy_facts {
    char hostname[DEPLOY_WORD_MAX];
    char os[DEPLOY_WORD_MAX];   /* "debian 12" */
    char like[DEPLOY_WORD_MAX]; /* "debian": ID and ID_LIKE */
    char arch[DEPLOY_WORD_MAX]; /* of its packages */
    char uid[DEPLOY_WORD_MAX], sudo[DEPLOY_WORD_MAX], systemd[DEPLOY_WORD_MAX];
    char installed[DEPLOY_WORD_MAX]; /* version of edl-agent */
    char candidate[DEPLOY_WORD_MAX]; /* version that its apt would install */
    /* a newer version, in the packages of the deploying machine, or at its apt */
    char newer_here[DEPLOY_WORD_MAX], newer_there[DEPLOY_WORD_MAX];
    char dir[DEPLOY_WORD_MAX];                                 /* for packages that are sent */
    char member[DEPLOY_WORD_MAX];                              /* name of the node that it is */
    char active[DEPLOY_WORD_MAX];                              /* the agent runs */
    char root_dir[DEPLOY_WORD_MAX];                            /* ROOT_DIR is there */
    char address[DEPLOY_WORD_MAX];                             /* of the interface */
    char address_now[DEPLOY_WORD_MAX];                         /* as the last deploy set it */
    char problems[DEPLOY_WORD_MAX], warnings[DEPLOY_WORD_MAX]; /* of edl doctor */
    /* edl-trainer and python3-edl are installed, and its apt has them */
    char has_trainer[DEPLOY_WORD_MAX], has_python[DEPLOY_WORD_MAX];
    char offers_trainer[DEPLOY_WORD_MAX], offers_python[DEPLOY_WORD_MAX];
};

struct deploy_host {
    const char *name; /* as the list of hosts has it; borrowed */
    const char *user; /* by which it is reached; borrowed; "" */
    enum deploy_step step;
    enum deploy_step failed_in; /* of a host that has failed */
    struct deploy_facts facts;
    enum deploy_sudo sudo;
    bool sent_from_here;        /* packages of this machine, its apt has none that can be had */
    size_t n_sent;              /* packages that are there */
    bool programs_only;         /* to be installed: the agent is there, and stays as it is */
    unsigned n_programs_before; /* of the two, that were there at the look */
    bool changed;
    bool password_refused; /* sudo did not take it: ask for another, then repeat the step */
    char said[DEPLOY_SAID_MAX][DEPLOY_LINE_MAX]; /* last lines of the script, a ring */
    size_t n_said;
    char *findings; /* of edl doctor, a line each; owned; NULL: none */
    struct edl_error error;
};

void deploy_host_clear(struct deploy_host *host);

/* deploy_core_line - one line that the script of the present step printed: a fact
 * ("edl:KEY=VALUE") or words that explain a failure */
void deploy_core_line(struct deploy_host *host, const char *line);

/* deploy_core_next - the step has ended with that exit status; of DEPLOY_CONNECT 0. Sets and
 * returns host->step; DEPLOY_FAILED with error. The same step again: password_refused, or the next
 * package. */
enum deploy_step deploy_core_next(const struct deploy_plan *plan, struct deploy_host *host,
                                  int status);

/* deploy_core_fail - it failed by what is no step's doing; error is copied */
void deploy_core_fail(struct deploy_host *host, const struct edl_error *error);

/* deploy_core_needs_token - of a host at DEPLOY_JOIN: it joins anew, and does not only start */
bool deploy_core_needs_token(const struct deploy_plan *plan, const struct deploy_host *host);

/* deploy_core_package - the next package file to be sent, NULL: all are there */
const struct deploy_package *deploy_core_package(const struct deploy_plan *plan,
                                                 const struct deploy_host *host);

/* deploy_step_word - "connecting"; static */
const char *deploy_step_word(enum deploy_step step);

/* deploy_core_outcome - one line for the table: "joined, edl 0.1.0", "nothing to do"; written to
 * buffer */
const char *deploy_core_outcome(const struct deploy_plan *plan, const struct deploy_host *host,
                                char *buffer, size_t size);
