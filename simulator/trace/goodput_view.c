/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_view.c - curves and lengths of the jobs of the laboratory */
#include "simulator/trace/goodput_view.h"

#include <math.h>

#include "scheduler/core/speed/family.h"
#include "shared/macro.h"

/* What was seen of families so far. */
struct goodput_history {
    struct goodput_families *families;
    size_t n_ended;   /* of view.ended, taken in */
    uint32_t next_id; /* the next job that begins */
};

/* next_amount - all of them on one node up to four, then larger steps; whole nodes beyond, in steps
 * of an eighth, so that a curve has few points however large the cluster is */
static uint32_t next_amount(const struct view *view, const struct view_job *job, uint32_t n)
{
    uint32_t per_node = view->per_node, nodes = n / per_node;

    if (job->counts != NULL)
        return view_next(job, n);
    if (n < per_node)
        return MIN_OF(n + MAX_OF(n / 4, 1U), per_node);
    return (nodes + MAX_OF(nodes / 8, 1U)) * per_node;
}

static void add_point(struct goodput_curve *curve, uint32_t n, double speed)
{
    if (speed > 0 && isfinite(speed) && curve->n < GOODPUT_POINTS_MAX)
        curve->points[curve->n++] =
            (struct goodput_point){ .instances = n, .cost = n, .speed = speed };
}

void goodput_view_curve(const struct view *view, size_t i, uint32_t held,
                        struct goodput_curve *ret_curve)
{
    const struct view_job *job = &view->jobs[i];
    uint32_t first = view_first(job), last = 0;

    ret_curve->n = 0;
    for (uint32_t n = first; n != 0 && n <= job->max; n = next_amount(view, job, n)) {
        if (last < held && held < n)
            add_point(ret_curve, held, view_speed(view, i, held));
        add_point(ret_curve, n, view_speed(view, i, n));
        last = n;
    }
    if (last < held)
        add_point(ret_curve, held, view_speed(view, i, held));
    if (ret_curve->n == 0) /* nothing is known of any amount: it can at least begin */
        add_point(ret_curve, first, 1);
}

void goodput_history_look(struct goodput_history *history, const struct view *view)
{
    if ((view->uses & USES_HISTORY) == 0)
        return;
    for (; history->n_ended < view->n_ended; history->n_ended++)
        goodput_family_ended(history->families, view->ended[history->n_ended].family,
                             view->ended[history->n_ended].work);
    for (size_t i = 0; i < view->n; i++) {
        const struct view_job *job = &view->jobs[i];

        if (job->id >= history->next_id) {
            goodput_family_begun(history->families, job->family);
            history->next_id = job->id + 1;
        }
        goodput_family_done(history->families, job->family, job->work);
    }
}

struct goodput_work goodput_view_work(struct goodput_history *history, const struct view *view,
                                      size_t i)
{
    const struct view_job *job = &view->jobs[i];
    double remaining_s = view_remaining_s(view, i, view_first(job)), rate;
    struct goodput_work work = { .remaining_s = isfinite(remaining_s) ? remaining_s : -1 };

    rate = view_rate(view, i, view_first(job));
    if (!(rate > 0) || !isfinite(job->work / rate))
        return work;
    work.attained_s = job->work / rate;
    if (work.remaining_s < 0) { /* else nobody asks for the family's (goodput_remaining) */
        work.family_median_s =
            goodput_family_work(history->families, job->family, job->work) / rate;
    }
    return work;
}

struct goodput_history *goodput_history_new(void)
{
    struct goodput_history *history = xcalloc(1, sizeof(*history));

    history->families = goodput_families_new();
    return history;
}

struct goodput_history *goodput_history_free(struct goodput_history *history)
{
    if (history != NULL)
        (void)goodput_families_free(history->families);
    free(history);
    return NULL;
}
