/* SPDX-License-Identifier: Apache-2.0 */
/* job_folder.h - what becomes of the folder in which a command was submitted: nodes have it, it is
 * sent to them, or processes get empty ones
 *
 * Tests: tests/unit/test_job_folder.c, tests/integration/266-sent-folder.sh. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct server;

enum folder_use {
    FOLDER_THERE,   /* processes run in it, by its path */
    FOLDER_SENT,    /* each process runs in a copy */
    FOLDER_PRIVATE, /* each process runs in an empty folder */
};

struct folder_facts {
    bool elsewhere; /* other machines may run the job */
    bool shared;    /* those have the folder: it is on a network file system, or exported by NFS */
    bool own;       /* it is the caller's, and nobody else may write into it */
    bool home;      /* it is the caller's home, with much that is private */
    bool below_home;
    bool system; /* it is the system's: all machines have one, with secrets of its own */
};

/* job_folder_use - the rule (pure) */
enum folder_use job_folder_use(const struct folder_facts *facts);

/* job_folder_is_shared - other machines may have it as well: it is on no disk of this one, or this
 * one exports it */
bool job_folder_is_shared(const char *folder);

/* job_folder_elsewhere - whether another machine than this one may run jobs of that server, by the
 * addresses of its nodes. One that does not answer has none. */
bool job_folder_elsewhere(struct server *server);

/* job_folder_look - of the current folder, for jobs of that server; asks it for its nodes unless
 * the folder is shared */
void job_folder_look(struct server *server, const char *here, struct folder_facts *ret);

/* job_folder_is_system - a folder of the system, as hier(7) names them (pure) */
bool job_folder_is_system(const char *folder);

/* job_folder_exported - whether a folder, or one above it, is in a table of exports (exportfs(8))
 */
bool job_folder_exported(FILE *etab, const char *folder);

/* job_folder_is_here - whether a node's address is one of this machine */
bool job_folder_is_here(const char *address);
