/* SPDX-License-Identifier: Apache-2.0 */
/* servers.c - with how many parameter servers a new job of a family begins */
#include "scheduler/core/speed/servers.h"

#include <math.h>

#include "scheduler/core/speed/family.h"
#include "scheduler/core/speed/fit_pserver.h"
#include "scheduler/core/speed/measure.h"
#include "scheduler/core/speed/prior.h"
#include "shared/macro.h"

/* By which part of itself one explanation is made dearer than another one that is as good. */
#define DOUBT 0.01

uint32_t goodput_servers_numbers(uint32_t min, uint32_t max, uint32_t ret[GOODPUT_SERVERS_NUMBERS])
{
    uint32_t n = 0;

    for (uint64_t p = min; p < max && n + 1 < GOODPUT_SERVERS_NUMBERS; p *= 2)
        ret[n++] = (uint32_t)p;
    ret[n++] = max;
    return n;
}

/* Of that program, with so many servers: it was measured, and so many are to be had. */
static bool is_known(const struct goodput_servers_number *number, uint64_t program)
{
    return number->workers > 0 && number->seen.largest > 0 && number->seen.program == program;
}

static uint32_t count_known(const struct goodput_servers_question *question, uint64_t program)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < question->n; i++)
        n += is_known(&question->numbers[i], program);
    return n;
}

/* By whom numbers are compared: by the new job's own program, unless another one was measured with
 * more of them. */
static uint64_t best_known(const struct goodput_servers_question *question)
{
    uint64_t best = question->program;
    uint32_t most = count_known(question, best);

    for (uint32_t i = 0; i < question->n; i++) {
        uint64_t program = question->numbers[i].seen.program;
        uint32_t n = program != 0 ? count_known(question, program) : 0;

        if (n > most) {
            most = n;
            best = program;
        }
    }
    return best;
}

/* With fewer workers than were measured: a part that does not follow from the sizes is taken not to
 * depend on them. As if it scaled, which is the best that can be thought of more workers, a number
 * that was seen beside many workers alone would look too bad to be seen beside fewer. */
static double speed_beside_fewer(const struct goodput_servers_number *number)
{
    struct goodput_pserver_fit fit = number->seen.fit;
    double theta[GOODPUT_THETAS];

    fit.gram[0][0] *= 1 + 2 * DOUBT;
    fit.gram[2][2] *= 1 + DOUBT;
    fit.gram[3][3] *= 1 + DOUBT;
    goodput_pserver_solve(&fit, theta);
    return goodput_pserver_speed(theta, 1, false, number->workers, 1);
}

static double speed_beside_more(const struct goodput_servers_number *number)
{
    struct goodput_learned learned;

    goodput_prior_begin(&number->seen, &learned);
    return 1 / goodput_learn_unit_s(&learned, number->workers);
}

/* Units in a second, beside as many workers as there is room for. */
static double speed_of(const struct goodput_servers_number *number)
{
    double speed = number->workers < number->seen.largest ? speed_beside_fewer(number)
                                                          : speed_beside_more(number);

    return speed > 0 && isfinite(speed) ? speed : 0;
}

static bool is_to_try(const struct goodput_servers_question *question, uint32_t i)
{
    const struct goodput_servers_number *number = &question->numbers[i];

    if (number->workers == 0 || is_known(number, question->program))
        return false;
    return number->seen.program != question->program || number->seen.tries < GOODPUT_SERVERS_TRIES;
}

/* The fewest that are nearly as fast as any. */
static int best_of(const double *speeds, uint32_t n)
{
    double most = 0;

    for (uint32_t i = 0; i < n; i++)
        most = fmax(most, speeds[i]);
    for (uint32_t i = 0; i < n; i++)
        if (speeds[i] > 0 && speeds[i] * GOODPUT_SERVERS_MARGIN >= most)
            return (int)i;
    return -1;
}

static int first_of(const double *speeds, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (speeds[i] > 0)
            return (int)i;
    return -1;
}

struct goodput_servers goodput_servers_choose(const struct goodput_servers_question *question)
{
    struct goodput_servers chosen = { .pservers = question->numbers[0].pservers, .gain = 1 };
    uint64_t by = best_known(question);
    double speeds[GOODPUT_SERVERS_NUMBERS] = { 0 };
    int at, least;

    for (uint32_t i = 0; i < question->n; i++)
        if (is_known(&question->numbers[i], by))
            speeds[i] = speed_of(&question->numbers[i]);
    at = best_of(speeds, question->n);
    if (at < 0)
        return chosen;
    least = first_of(speeds, question->n);
    for (uint32_t i = 0; i < question->n; i++)
        chosen.n_compared += speeds[i] > 0;
    chosen.least = question->numbers[least].pservers;
    chosen.gain = speeds[at] / speeds[least];
    if (question->may_try && by == question->program) {
        bool up = (uint32_t)at + 1 < question->n && is_to_try(question, (uint32_t)at + 1);
        bool down = !up && at > 0 && is_to_try(question, (uint32_t)at - 1);

        at += up ? 1 : down ? -1 : 0;
        chosen.tries = up || down;
    }
    chosen.pservers = question->numbers[at].pservers;
    chosen.workers = question->numbers[at].workers;
    return chosen;
}

bool goodput_servers_begun(struct goodput_prior *family, uint64_t program)
{
    if (family->program == program)
        family->tries = 0;
    else if (family->program == 0 || ++family->tries >= GOODPUT_SERVERS_STRANGERS) {
        family->program = program;
        family->tries = 0;
    }
    return family->program == program;
}

/* The figures of a number are of that program from now on. */
static void belongs_to(struct goodput_prior *number, uint64_t program)
{
    if (number->program != program)
        *number = (struct goodput_prior){ .program = program };
}

void goodput_servers_tried(struct goodput_prior *number, uint64_t program)
{
    belongs_to(number, program);
    number->tries += number->tries < UINT32_MAX;
}

void goodput_servers_note(struct goodput_families *families, const char *family, const char *number,
                          uint64_t program, const struct goodput_learned *learned)
{
    const struct goodput_pserver_report report = { .workers = learned->instances,
                                                   .pservers = 1,
                                                   .step_s = learned->measured_s };
    const struct goodput_prior *of = goodput_family_prior(families, family);
    struct goodput_prior *seen;

    if (of == NULL || of->program != program)
        return;
    seen = goodput_family_prior(families, number);
    belongs_to(seen, program);
    if (seen->largest == 0)
        goodput_pserver_init(&seen->fit, 1, false);
    if (goodput_pserver_add(&seen->fit, &report) < 0)
        return;
    seen->unit_s = 1;
    seen->resize_s = learned->resize_s;
    seen->largest = MAX_OF(seen->largest, learned->instances);
}
