/* SPDX-License-Identifier: Apache-2.0 */
/* agreement.c - see agreement.h */
#include "trainer/wire/agreement.h"

#include <errno.h>
#include <stdio.h>

#include "shared/error.h"
#include "shared/macro.h"

#define VALUE_SIZE 32

static double trainers(const struct agreement *agreement)
{
    return agreement->trainers;
}

static double send_every(const struct agreement *agreement)
{
    return agreement->send_every;
}

static double center(const struct agreement *agreement)
{
    return agreement->center;
}

static double delta_add_rate(const struct agreement *agreement)
{
    return (double)agreement->delta_add_rate;
}

static double mode(const struct agreement *agreement)
{
    return agreement->mode;
}

static const char *const centers[] = { "nothing", "average", "elastic_average", NULL };
static const char *const modes[] = { "nothing", "no", "yes", NULL };

static const struct {
    const char *flag;
    double (*value)(const struct agreement *agreement);
    const char *const *words; /* of a value that is a choice, NULL behind; NULL: it is a number */
} terms[TERMS] = {
    [TERM_TRAINERS] = { "num_gradient_servers", trainers, NULL },
    [TERM_SEND_EVERY] = { "num_batches_per_send_parameter", send_every, NULL },
    [TERM_CENTER] = { "center_parameter_update_method", center, centers },
    [TERM_DELTA_ADD_RATE] = { "delta_add_rate", delta_add_rate, NULL },
    [TERM_MODE] = { "sync", mode, modes },
};

struct agreement agreement_of_flags(uint32_t trainers, uint32_t send_every, uint32_t center,
                                    float delta_add_rate)
{
    if (send_every <= 1)
        return (struct agreement){ .trainers = trainers, .send_every = send_every };
    return (struct agreement){ .trainers = MAX_OF(trainers, UINT32_C(1)),
                               .send_every = send_every,
                               .center = center,
                               .delta_add_rate = delta_add_rate };
}

static void describe(size_t term, double value, char ret[VALUE_SIZE])
{
    size_t n_words = 0;

    while (terms[term].words != NULL && terms[term].words[n_words] != NULL)
        n_words++;
    if (terms[term].words != NULL)
        (void)snprintf(ret, VALUE_SIZE, "%s",
                       value < (double)n_words ? terms[term].words[(size_t)value] : "?");
    else
        (void)snprintf(ret, VALUE_SIZE, "%.9g", value);
}

static int differs(size_t term, const double values[2], uint32_t first, uint32_t other,
                   struct edl_error *error)
{
    char words[2][VALUE_SIZE], who[32] = "the parameter servers have";

    describe(term, values[0], words[0]);
    describe(term, values[1], words[1]);
    if (first != AGREEMENT_NOBODY)
        (void)snprintf(who, sizeof who, "trainer-%u has", first);
    return edl_error_set(error, -EINVAL,
                         "trainer-%u has --%s=%s, and %s %s: start all trainers%s with the same, "
                         "or restart the parameter servers for another training",
                         other, terms[term].flag, words[1], who, words[0],
                         first == AGREEMENT_NOBODY ? " and servers" : "");
}

int agreement_check(const struct agreement_known *known, const struct agreement *other,
                    uint32_t other_trainer, struct edl_error *error)
{
    for (size_t i = 0; i < TERMS; i++) {
        const double values[2] = { terms[i].value(&known->said), terms[i].value(other) };

        if (values[0] != 0 && values[1] != 0 && values[0] != values[1])
            return differs(i, values, known->speakers[i], other_trainer, error);
    }
    return 0;
}

void agreement_add(struct agreement_known *known, const struct agreement *other,
                   uint32_t other_trainer)
{
    struct agreement *said = &known->said;
    const struct agreement before = *said;

    if (said->trainers == 0)
        said->trainers = other->trainers;
    if (said->send_every == 0)
        said->send_every = other->send_every;
    if (said->center == 0)
        said->center = other->center;
    if (said->delta_add_rate == 0)
        said->delta_add_rate = other->delta_add_rate;
    if (said->mode == 0)
        said->mode = other->mode;
    for (size_t i = 0; i < TERMS; i++)
        if (terms[i].value(&before) == 0)
            known->speakers[i] = other_trainer;
}
