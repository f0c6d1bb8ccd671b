/* SPDX-License-Identifier: Apache-2.0 */
/* job_names.c - see job_names.h
 *
 * A name is kept once, with the newest job of each user who has one; behind it are the older ones
 * of that user. */
#include "scheduler/core/model/job_names.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>
#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

struct job_name {
    struct job *newest; /* of each user: name_users_next; never empty */
    UT_hash_handle hh;
    char name[JOB_NAME_MAX + 1];
};

static struct job_name *find_name(const struct cluster *cluster, const char *name)
{
    struct job_name *found;

    HASH_FIND_STR(cluster->job_names, name, found);
    return found;
}

static struct job *newest_of(const struct job_name *name, const char *user)
{
    struct job *job;

    DL_FOREACH2(name->newest, job, name_users_next)
    {
        if (streq(job->user, user))
            return job;
    }
    return NULL;
}

void job_name_enter(struct cluster *cluster, struct job *job)
{
    struct job_name *name = find_name(cluster, job->spec->name);
    struct job *newer = NULL;
    struct job *older;

    if (name == NULL) {
        name = xcalloc(1, sizeof *name);
        (void)snprintf(name->name, sizeof name->name, "%s", job->spec->name);
        HASH_ADD_STR(cluster->job_names, name, name);
    }
    older = newest_of(name, job->user);
    if (older != NULL && older->id < job->id)
        DL_DELETE2(name->newest, older, name_users_prev, name_users_next);
    while (older != NULL && older->id > job->id) { /* rows come in any order */
        newer = older;
        older = older->name_older;
    }
    job->name_older = older;
    job->name_newer = newer;
    if (older != NULL)
        older->name_newer = job;
    if (newer != NULL)
        newer->name_older = job;
    else
        DL_APPEND2(name->newest, job, name_users_prev, name_users_next);
}

void job_name_leave(struct cluster *cluster, struct job *job)
{
    struct job_name *name = find_name(cluster, job->spec->name);
    struct job *older = job->name_older;

    if (older != NULL)
        older->name_newer = job->name_newer;
    if (job->name_newer != NULL) {
        job->name_newer->name_older = older;
        return;
    }
    DL_DELETE2(name->newest, job, name_users_prev, name_users_next);
    if (older != NULL)
        DL_APPEND2(name->newest, older, name_users_prev, name_users_next);
    if (name->newest != NULL)
        return;
    HASH_DEL(cluster->job_names, name);
    free(name);
}

void job_names_done(struct cluster *cluster)
{
    struct job_name *name, *next;

    HASH_ITER(hh, cluster->job_names, name, next)
    {
        HASH_DEL(cluster->job_names, name);
        free(name);
    }
}

unsigned job_names_count(const struct cluster *cluster)
{
    return HASH_COUNT(cluster->job_names);
}

bool job_id_from_text(const char *text, uint64_t *ret)
{
    uint64_t id = 0;
    const char *p;

    for (p = text; *p >= '0' && *p <= '9' && p - text < 19; p++)
        id = 10 * id + (uint64_t)(*p - '0');
    *ret = id;
    return *p == '\0' && p != text;
}

struct job_ref job_ref_read(const char *text)
{
    const char *slash = strchr(text, '/');
    struct job_ref ref = { .name = text };

    ref.by_id = job_id_from_text(text, &ref.id);
    if (slash == NULL)
        return ref;
    ref.has_user = true;
    if ((size_t)(slash - text) >= sizeof ref.user) { /* nobody is called so, and no job */
        ref.name = "";
        return ref;
    }
    memcpy(ref.user, text, (size_t)(slash - text));
    ref.name = slash + 1;
    return ref;
}

struct job *cluster_own_job(const struct cluster *cluster, const char *user, const char *name)
{
    const struct job_name *found = find_name(cluster, name);

    return found != NULL ? newest_of(found, user) : NULL;
}

struct job *cluster_job_of(const struct cluster *cluster, const char *user,
                           const struct job_ref *ref)
{
    if (ref->by_id)
        return cluster_job(cluster, ref->id);
    return cluster_own_job(cluster, ref->has_user ? ref->user : user, ref->name);
}

int names_are_of_several(const char *what, const char *name, const char *one, const char *other,
                         struct edl_error *error)
{
    (void)edl_error_set(error, -ENOTUNIQ, "several users have %s \"%.80s\", %s and %s among them",
                        what, name, one, other);
    return edl_error_remedy(error, "say whose it is: %s/%.80s", one, name);
}

int cluster_only_job(const struct cluster *cluster, const char *name, struct job **ret,
                     struct edl_error *error)
{
    const struct job_name *found = find_name(cluster, name);

    *ret = found != NULL ? found->newest : NULL;
    if (*ret == NULL)
        return 0;
    if ((*ret)->name_users_next != NULL)
        return names_are_of_several("a job", name, (*ret)->user, (*ret)->name_users_next->user,
                                    error);
    return 1;
}

struct job *cluster_find_job(const struct cluster *cluster, const char *text)
{
    struct job_ref ref = job_ref_read(text);
    const struct job_name *name;
    struct job *job, *newest = NULL;

    if (ref.by_id)
        return cluster_job(cluster, ref.id);
    if (ref.has_user)
        return cluster_own_job(cluster, ref.user, ref.name);
    name = find_name(cluster, ref.name);
    DL_FOREACH2(name != NULL ? name->newest : NULL, job, name_users_next)
    {
        if (newest == NULL || job->id > newest->id)
            newest = job;
    }
    return newest;
}
