/* SPDX-License-Identifier: Apache-2.0 */
/* session_name.h - which process of which job a person means: JOB or JOB.ROLE-N (pure) */
#pragma once

#include <stdbool.h>

struct edl_error;

struct session_name {
    char *job;     /* owned: a name, USER/NAME or a number */
    char *process; /* owned: "trainer-1"; NULL: the first one of the job */
};

/* session_name_read - -EINVAL with the spelling that is meant, for JOB:ROLE-N, JOB.ROLE, JOB/ROLE-N
 * and an empty name; after success the caller clears *ret */
int session_name_read(const char *word, struct session_name *ret, struct edl_error *error);

/* session_name_read_host - the same of the name of a host, which ends in ".edl" */
int session_name_read_host(const char *host, struct session_name *ret, struct edl_error *error);
void session_name_clear(struct session_name *name);

/* A file or folder of a process: JOB[.ROLE-N]:PATH */
struct session_place {
    struct session_name name;
    const char *path; /* borrowed from the word */
};

/* session_place_is - whether a word can be one: it has a ':', and does not begin as a path does */
bool session_place_is(const char *word);
int session_place_read(const char *word, struct session_place *ret, struct edl_error *error);
