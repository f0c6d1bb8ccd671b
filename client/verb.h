/* SPDX-License-Identifier: Apache-2.0 */
/* verb.h - the parts of a verb of the command `edl`, and the exit statuses */
#pragma once

#include <stddef.h>

#include "client/options.h"

/* Exit status, the same for every verb. */
enum status {
    STATUS_OK = 0,
    STATUS_FAILED = 1,    /* the job failed, no such job, refused */
    STATUS_BAD_INPUT = 2, /* the command line or the document is wrong */
    STATUS_NO_SERVER = 3, /* nothing answered */
    STATUS_WAITS = 4,     /* edl plan: it would wait */
    STATUS_NEVER = 5,     /* edl plan: it never fits */
};

struct collection;
struct verb;

/* One call of a verb, options parsed. */
struct invocation {
    const struct verb *verb;
    void *options; /* the verb's own struct, zero where not given */
    const struct common_options *common;
    struct verb_options read;
    struct option_words arguments; /* without takes_command also those behind "--" */
    int argc;                      /* the words that were parsed, argv[0] the verb's name */
    char **argv;
};

struct verb {
    const char *name;
    const char *usage;                   /* what follows "edl NAME" */
    const char *summary;                 /* one line */
    const char *details;                 /* paragraphs for `edl help NAME`, or NULL */
    const struct options_table *options; /* its own ones; NULL: none */
    size_t options_size; /* of the struct that they fill; its first member is common_options */
    size_t min_args;     /* before "--", and behind it where no command is taken */
    size_t max_args;     /* SIZE_MAX: any number */
    bool takes_command;  /* behind "--" */
    bool local;          /* asks no server: --server and --token-file are refused */
    int (*run)(const struct invocation *invocation); /* returns enum status */
    /* instead of run, of a verb that hands words on: all of them, as they stand */
    int (*run_words)(const struct verb *verb, int argc, char **argv);
    const struct collection *collection; /* where run is collection_run */
};

/* The options of a verb from its rows, and the struct that they fill. */
#define VERB_OPTIONS(list, type)                                                                   \
    .options = &(const struct options_table)OPTION_ROWS(list), .options_size = sizeof(type)

/* The same of a verb that knows options of other systems. */
#define VERB_OPTIONS_BESIDE(list, type, others)                                                    \
    .options = &(const struct options_table)OPTION_ROWS_BESIDE(list, others),                      \
    .options_size = sizeof(type)

extern const struct verb verb_admin;
extern const struct verb verb_workspace;
extern const struct verb verb_audit;
extern const struct verb verb_corpus;
extern const struct verb verb_dataset;
extern const struct verb verb_recordio;
extern const struct verb verb_deploy;
extern const struct verb verb_dev;
extern const struct verb verb_doctor;
extern const struct verb verb_model;
extern const struct verb verb_kill;
extern const struct verb verb_events;
extern const struct verb verb_fetch;
extern const struct verb verb_hosts;
extern const struct verb verb_login;
extern const struct verb verb_logout;
extern const struct verb verb_logs;
extern const struct verb verb_node;
extern const struct verb verb_nodes;
extern const struct verb verb_services;
extern const struct verb verb_plan;
extern const struct verb verb_ps;
extern const struct verb verb_replay;
extern const struct verb verb_run;
extern const struct verb verb_scale;
extern const struct verb verb_search;
extern const struct verb verb_show;
extern const struct verb verb_simulate;
extern const struct verb verb_submit;
extern const struct verb verb_token;
extern const struct verb verb_top;
extern const struct verb verb_usage;
extern const struct verb verb_user;
extern const struct verb verb_group;
extern const struct verb verb_version;
extern const struct verb verb_wait;
extern const struct verb verb_whoami;
extern const struct verb verb_policy;
extern const struct verb verb_why;
extern const struct verb verb_exec;
extern const struct verb verb_shell;
extern const struct verb verb_attach;
extern const struct verb verb_port_forward;
extern const struct verb verb_cp;
extern const struct verb verb_notebook;
extern const struct verb verb_ssh_config;
extern const struct verb verb_connect;

/* verb_find - NULL when there is none; verb_nearest - the likeliest one meant, or NULL */
const struct verb *verb_find(const char *name);
const struct verb *verb_nearest(const char *name);

/* verb_print_help - of one verb: `edl NAME --help` */
void verb_print_help(const struct verb *verb, FILE *out);

/* verb_main - the whole command: argv as main() got it; returns the exit status */
int verb_main(int argc, char **argv);
