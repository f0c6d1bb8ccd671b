/* SPDX-License-Identifier: Apache-2.0 */
/* job_match.c - see job_match.h */
#include "scheduler/core/model/job_match.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/core/model/job.h"
#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

#define BIT(state) (1U << (state))
#define OVER (BIT(JOB_SUCCEEDED) | BIT(JOB_FAILED) | BIT(JOB_KILLED))
#define ALL (BIT(JOB_KILLED + 1) - 1)

static const struct {
    const char *word;
    unsigned states;
} sets[] = { { "active", ALL & ~OVER }, { "all", ALL }, { "over", OVER } };

static unsigned states_of(const char *word)
{
    int state = job_state_from_string(word);

    for (size_t i = 0; i < ELEMENTS(sets); i++)
        if (streq(word, sets[i].word))
            return sets[i].states;
    return state >= 0 ? BIT(state) : 0;
}

static int refuse(const char *word, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "state=%.40s is not known", word);
    return edl_error_remedy(error, "give active, all, over, or states such as running,failed");
}

int job_match_states(const char *text, unsigned *ret, struct edl_error *error)
{
    unsigned states = 0;

    for (const char *at = text != NULL ? text : sets[0].word;; at++) {
        size_t n = strcspn(at, ",");
        char word[16];
        unsigned more;

        (void)snprintf(word, sizeof word, "%.*s", (int)MIN_OF(n, sizeof word), at);
        more = n < sizeof word ? states_of(word) : 0;
        if (more == 0)
            return refuse(n < sizeof word ? word : text, error);
        states |= more;
        at += n;
        if (*at == '\0')
            break;
    }
    *ret = states;
    return 0;
}

bool job_match_wants_over(const struct job_match *match)
{
    return (match->states & OVER) != 0;
}

static bool is_same(const char *wanted, const char *is)
{
    return wanted == NULL || streq(wanted, is);
}

bool job_match_fits(const struct job_match *match, const struct job_facts *facts)
{
    return (match->states & BIT(facts->state)) != 0 && is_same(match->user, facts->user) &&
           is_same(match->array, facts->array) &&
           (match->array == NULL || is_same(match->array_user, facts->user)) &&
           (match->name == NULL || strcasestr(facts->name, match->name) != NULL);
}

bool job_match_fits_job(const struct job_match *match, const struct job *job)
{
    return job_match_fits(match, &(struct job_facts){ .state = job->state,
                                                      .user = job->user,
                                                      .name = job->spec->name,
                                                      .array = job_spec_array(job->spec) });
}
