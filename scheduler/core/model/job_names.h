/* SPDX-License-Identifier: Apache-2.0 */
/* job_names.h - which job people mean: ID in digits, USER/NAME, or NAME
 *
 * Names are their users': two may both have a job "train". A NAME is looked for among the caller's
 * own jobs first; then it is the job of the only other user who has one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/account_name.h"
#include "shared/error.h"

struct cluster;
struct job;

/* job_id_from_text - whether it is an id in digits; else it is a name */
bool job_id_from_text(const char *text, uint64_t *ret);

struct job_ref {
    uint64_t id;
    bool by_id, has_user;
    char user[ACCOUNT_NAME_MAX + 1];
    const char *name; /* of the text */
};
struct job_ref job_ref_read(const char *text);

/* cluster_find_job - of a NAME anybody's newest job; NULL: there is none */
struct job *cluster_find_job(const struct cluster *cluster, const char *text);
/* cluster_own_job - that user's newest of this name; NULL: there is none. O(users who have one) */
struct job *cluster_own_job(const struct cluster *cluster, const char *user, const char *name);
/* cluster_job_of - by number, USER/NAME, or NAME of that user; NULL: there is none */
struct job *cluster_job_of(const struct cluster *cluster, const char *user,
                           const struct job_ref *ref);
/* cluster_only_job - 1 with the newest of the only user who has a job of this name; 0 nobody has
 * one; -ENOTUNIQ several have */
int cluster_only_job(const struct cluster *cluster, const char *name, struct job **ret,
                     struct edl_error *error);
/* names_are_of_several - that -ENOTUNIQ: "a job" of two of those users, and what to say instead */
int names_are_of_several(const char *what, const char *name, const char *one, const char *other,
                         struct edl_error *error);

/* job_name_enter, job_name_leave - it is found by its name; an older one of its user's is again */
void job_name_enter(struct cluster *cluster, struct job *job);
void job_name_leave(struct cluster *cluster, struct job *job);
unsigned job_names_count(const struct cluster *cluster);
void job_names_done(struct cluster *cluster);
