/* SPDX-License-Identifier: Apache-2.0 */
/* job_states.c - see job_states.h */
#include "client/job_states.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"

static const struct {
    const char *name;
    struct slurm_state slurm;
    bool over;
} states[] = {
    { "queued", { "PENDING", "PD" }, false },      { "starting", { "CONFIGURING", "CF" }, false },
    { "running", { "RUNNING", "R" }, false },      { "resizing", { "RUNNING", "R" }, false },
    { "stopping", { "COMPLETING", "CG" }, false }, { "succeeded", { "COMPLETED", "CD" }, true },
    { "failed", { "FAILED", "F" }, true },         { "killed", { "CANCELLED", "CA" }, true },
};

#define STATE_TEXT 32

/* state_set - all states that go by this word */
static unsigned state_set(const char *word)
{
    unsigned set = 0;

    for (size_t i = 0; i < ELEMENTS(states); i++)
        if (strcasecmp(word, "all") == 0 || strcasecmp(word, states[i].name) == 0 ||
            strcasecmp(word, states[i].slurm.word) == 0 ||
            strcasecmp(word, states[i].slurm.letters) == 0)
            set |= 1u << i;
    return set;
}

static int refuse(const char *word, struct edl_error *error)
{
    const char *known[2 * ELEMENTS(states)], *nearest;
    size_t n = 0;

    for (size_t i = 0; i < ELEMENTS(states); i++) {
        known[n++] = states[i].name;
        known[n++] = states[i].slurm.word;
    }
    nearest = nearest_word(word, known, n);
    (void)edl_error_set(error, -EINVAL, "\"%s\" is no state of a job", word);
    return edl_error_remedy(error, "%s",
                            nearest != NULL ? nearest
                                            : "queued, starting, running, resizing, "
                                              "stopping, succeeded, failed, killed or "
                                              "all");
}

int job_states_read(const char *list, unsigned *ret, struct edl_error *error)
{
    unsigned set = 0;

    for (const char *at = list;; at++) {
        size_t n = strcspn(at, ",");
        char word[STATE_TEXT];
        unsigned found;

        (void)snprintf(word, sizeof word, "%.*s", (int)MIN_OF(n, sizeof word - 1), at);
        found = state_set(word);
        if (found == 0)
            return refuse(word, error);
        set |= found;
        at += n;
        if (*at == '\0')
            break;
    }
    *ret = set;
    return 0;
}

bool job_states_has(unsigned set, const char *state)
{
    for (size_t i = 0; i < ELEMENTS(states); i++)
        if (streq(state, states[i].name))
            return (set & 1u << i) != 0;
    return false;
}

bool job_states_are_active(unsigned set)
{
    for (size_t i = 0; i < ELEMENTS(states); i++)
        if (states[i].over && (set & 1u << i) != 0)
            return false;
    return true;
}

struct slurm_state job_state_of_slurm(const char *state)
{
    for (size_t i = 0; i < ELEMENTS(states); i++)
        if (streq(state, states[i].name))
            return states[i].slurm;
    return (struct slurm_state){ "PENDING", "PD" };
}
