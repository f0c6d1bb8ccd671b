/* SPDX-License-Identifier: Apache-2.0 */
/* api_forecast.c - ?dry_run=1: what a request would do, told from a copy of the core
 *
 * Nothing is stored, no turn follows. A forecast that is made in a turn under way may name what
 * that turn changed, so it is told behind the commit. */
#include "scheduler/api_forecast.h"

#include <errno.h>
#include <utlist.h>

#include "scheduler/admission_json.h"
#include "scheduler/core/admission.h"
#include "scheduler/core/forecast.h"
#include "scheduler/forecast_json.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

/* One thread serves everybody. The larger the cluster, the more a step may cost and the earlier a
 * forecast gives up (it then says that it does not know), so that nobody waits long for an answer
 * to somebody else. */
#define STEPS_MIN 32
#define STEPS_MAX 1000
#define STEPS_TIMES_SIZE 100000 /* size: nodes and jobs that have not ended */

static struct forecast_options bounded(const struct cluster *cluster)
{
    size_t size = 1 + HASH_COUNT(cluster->nodes);
    const struct job *job;

    DL_FOREACH2(cluster->active, job, active_next)
    size++;
    return (struct forecast_options){
        .steps_max = (uint32_t)MIN_OF(MAX_OF(STEPS_TIMES_SIZE / size, STEPS_MIN), STEPS_MAX)
    };
}

int api_dry_run(const struct http_request *request, bool *ret, struct edl_error *error)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = { { "1", true }, { "true", true }, { "0", false }, { "false", false } };
    const char *given = http_request_query(request, "dry_run");

    if (given == NULL) {
        *ret = false;
        return 0;
    }
    for (size_t i = 0; i < ELEMENTS(words); i++)
        if (streq(given, words[i].word)) {
            *ret = words[i].value;
            return 0;
        }
    (void)edl_error_set(error, -EINVAL, "dry_run=%s is not known", given);
    return edl_error_remedy(error, "dry_run=1, or leave it out to do it");
}

/* outlook, ignored: of a submission; else NULL */
static void reply(struct scheduler *scheduler, struct http_request *request,
                  struct forecast *take_forecast, const struct admission *outlook,
                  json_t *take_ignored)
{
    json_t *json = forecast_to_json(take_forecast);

    if (outlook != NULL)
        (void)json_object_set_new(json, "outlook", admission_to_json(outlook));
    if (take_ignored != NULL)
        (void)json_object_set_new(json, "ignored", take_ignored);
    tell_after_commit(scheduler, request, 200, json);
    forecast_done(take_forecast);
}

int api_forecast_submit(struct scheduler *scheduler, struct http_request *request,
                        const struct job_spec *spec, const char *user,
                        const struct archived_jobs *archived, json_t *ignored,
                        struct edl_error *error)
{
    struct forecast_options options = bounded(scheduler->cluster);
    struct instant now = clock_instant();
    struct admission outlook;
    struct forecast forecast;
    int r =
        cluster_forecast(scheduler->cluster, spec, user, archived, now, &options, &forecast, error);

    if (r < 0)
        return r;
    cluster_admission(scheduler->cluster, spec, user, now, &outlook);
    reply(scheduler, request, &forecast, &outlook,
          ignored != NULL ? json_incref(ignored) : json_array());
    return 0;
}

int api_forecast_change(struct scheduler *scheduler, struct http_request *request,
                        const struct job *job, const struct job_change *change,
                        struct edl_error *error)
{
    struct forecast_options options = bounded(scheduler->cluster);
    struct forecast forecast;
    int r = cluster_forecast_change(scheduler->cluster, job, change, clock_instant(), &options,
                                    &forecast, error);

    if (r == 0)
        reply(scheduler, request, &forecast, NULL, NULL);
    return r;
}

int api_forecast_node(struct scheduler *scheduler, struct http_request *request,
                      const struct node *node, enum node_state state, struct edl_error *error)
{
    struct forecast_options options = bounded(scheduler->cluster);
    struct forecast forecast;
    int r = cluster_forecast_node(scheduler->cluster, node, state, clock_instant(), &options,
                                  &forecast, error);

    if (r == 0)
        reply(scheduler, request, &forecast, NULL, NULL);
    return r;
}
