/* SPDX-License-Identifier: Apache-2.0 */
/* submission.c - a submission: the events make its jobs, and learning gives each its turn
 *
 * A file of the root: a job enters the queue by its turn, so the turn is known before. */
#include "scheduler/core/submission.h"

#include "scheduler/core/events/submit.h"
#include "scheduler/core/learn/job_turn.h"
#include "scheduler/core/model/notices.h"
#include "scheduler/core/model/spec_size.h"
#include "shared/error.h"
#include "shared/job_spec.h"

static struct job *make(struct cluster *cluster, struct job_spec *take_spec, const char *user,
                        struct instant now)
{
    struct job *job = submission_add(cluster, take_spec, user, now);

    job_take_turn(cluster, job);
    submission_enter(cluster, job, now);
    return job;
}

static int submit(struct cluster *cluster, struct job_spec *take_spec,
                  const struct submit_terms *terms, struct job **ret_first, struct edl_error *error)
{
    const char *user = terms->user;
    bool is_array = spec_makes_array(take_spec);
    struct job *first = NULL;
    int r = submission_prepare(cluster, take_spec, terms, error);

    if (r < 0)
        return r;
    if (is_array)
        notices_of_array(cluster, take_spec);
    for (uint32_t i = 0; is_array && i < take_spec->array.n; i++) {
        struct job *job = make(cluster, job_spec_array_element(take_spec, i), user, terms->now);

        first = first != NULL ? first : job;
    }
    if (is_array)
        (void)job_spec_free(take_spec);
    else
        first = make(cluster, take_spec, user, terms->now);
    if (ret_first != NULL)
        *ret_first = first;
    return 0;
}

/* cluster_submit - see submission.h; O(log n) */
int cluster_submit(struct cluster *cluster, struct job_spec *take_spec, const char *user,
                   struct instant now, struct job **ret_job, struct edl_error *error)
{
    const struct submit_terms terms = { .user = user, .now = now };

    if (spec_makes_array(take_spec))
        return edl_error_at(error, EDL_EBADSPEC, "/spec/array", "an array is more than one job");
    return submit(cluster, take_spec, &terms, ret_job, error);
}

/* cluster_submit_array - see submission.h */
int cluster_submit_array(struct cluster *cluster, struct job_spec *take_spec, const char *user,
                         const struct archived_jobs *archived, struct instant now,
                         struct job **ret_first, struct edl_error *error)
{
    const struct submit_terms terms = { .user = user, .archived = archived, .now = now };

    return submit(cluster, take_spec, &terms, ret_first, error);
}

int submit_resolved(struct cluster *cluster, struct job_spec *take_spec, const char *user,
                    struct instant now, struct job **ret_first, struct edl_error *error)
{
    const struct submit_terms terms = { .user = user, .resolved = true, .now = now };

    return submit(cluster, take_spec, &terms, ret_first, error);
}
