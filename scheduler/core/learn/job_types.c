/* SPDX-License-Identifier: Apache-2.0 */
/* job_types.c - how a job compares the types of GPU, where that differs from most jobs
 *
 * How fast a node is for all jobs is known of the node (node_speed.c): a type that is better for
 * everybody is nothing but fast machines. Here is only the difference of a family from that.
 * A job that runs on several types at once shows by its tasks how they compare for it
 * (slow_instances.c), and all of its family are believed to be alike. A family that differs clearly
 * goes to other nodes first, and its figures of nodes are judged by its expected speed there; while
 * it does not, nor while nothing is known, types do not count. Nobody is put anywhere to find out.
 *
 * Those whose instances wait for each other in every step are as fast as the slowest of them: they
 * teach nothing. A comparison is believed for some hours, or an error would keep a family off a
 * type for ever, where alone it could show itself. */
#include "scheduler/core/learn/job_types.h"

#include <math.h>
#include <stdlib.h>

#include "scheduler/core/base/gpu_table.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/node_speed.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/speed/family.h"
#include "scheduler/core/speed/gpu_types.h"
#include "shared/job_spec.h"
#include "shared/label.h"
#include "shared/macro.h"

#define KEPT_US (6 * 60 * 60 * USEC_PER_SEC)
#define CLEARLY 0.405  /* logarithm of 1.5: by which its types have to differ from all jobs' */
#define NOT_EQUAL 0.14 /* of 1.15: instances that wait for each other may look so equal */

bool cluster_minds_types(const struct cluster *cluster)
{
    return cluster->families != NULL && !cluster->config.ignores_types &&
           !cluster->config.ignores_speed && gpu_types_is_mixed(&cluster->gpu_types);
}

static struct type_bias bias_of(const struct gpu_types *types, const struct gpu_speeds *speeds,
                                uint64_t now_us)
{
    struct type_bias bias = { 0 };
    double least = INFINITY;
    double most = -INFINITY;
    double sum = 0;
    uint32_t n = 0;

    for (uint8_t t = 0; t < GPU_TYPES_MAX; t++) {
        bias.born[t] = types->born[t];
        if (speeds->rounds[t] < 2 || speeds->born[t] != types->born[t] ||
            speeds->until_us[t] <= now_us)
            continue;
        bias.known |= 1U << t;
        bias.log[t] = speeds->log[t] - gpu_types_typical(types, t);
        least = fmin(least, bias.log[t]);
        most = fmax(most, bias.log[t]);
        sum += bias.log[t];
        n++;
    }
    for (uint8_t t = 0; t < GPU_TYPES_MAX; t++)
        if (bias.known & (1U << t))
            bias.log[t] -= sum / n;
    bias.clear = n > 1 && most - least > CLEARLY;
    return bias;
}

void job_believe_types(struct cluster *cluster, struct job *job, struct instant now)
{
    struct gpu_speeds *speeds;

    job->learned->bias = (struct type_bias){ 0 };
    if (!cluster->gpu_types.learnt || !cluster_minds_types(cluster))
        return;
    speeds = goodput_family_types(cluster->families, job->learned->family);
    if (speeds == NULL)
        return;
    gpu_speeds_current(speeds, &cluster->gpu_types, now.now_us);
    job->learned->bias = bias_of(&cluster->gpu_types, speeds, now.now_us);
}

/* Of one that waits, by its document. */
static struct type_bias pending_bias(const struct cluster *cluster, const char *family,
                                     struct instant now)
{
    const struct gpu_speeds *speeds = goodput_family_speeds(cluster->families, family);

    return speeds != NULL ? bias_of(&cluster->gpu_types, speeds, now.now_us)
                          : (struct type_bias){ 0 };
}

/* And has the name still under which it was. */
static bool type_is_known(const struct gpu_types *types, const struct type_bias *bias, uint8_t type)
{
    return type != GPU_TYPE_NONE && bias->known & (1U << type) &&
           bias->born[type] == types->born[type];
}

static double bias_on(const struct cluster *cluster, const struct type_bias *bias, uint8_t type)
{
    return type_is_known(&cluster->gpu_types, bias, type) ? bias->log[type] : 0;
}

bool job_knows_type(const struct cluster *cluster, const struct job *job, const struct node *node)
{
    return type_is_known(&cluster->gpu_types, &job->learned->bias, node->gpu_type);
}

/* --- where it goes
 * --------------------------------------------------------------------------------------- */

bool job_order_types(const struct cluster *cluster, const struct job *job, const char *family,
                     struct instant now, struct gpu_order *ret)
{
    struct type_bias bias =
        job->learned != NULL ? job->learned->bias : pending_bias(cluster, family, now);

    if (!bias.clear)
        return false;
    for (uint8_t t = 0; t < GPU_TYPES_MAX; t++)
        ret->step[t] = gpu_step(bias_on(cluster, &bias, t));
    return true;
}

/* --- the basis of its judgement
 * --------------------------------------------------------------------------------------- */

/* The known speed of the node itself, and that of its type if it was never seen. */
static double level_of(const struct cluster *cluster, const struct node *node, enum speed_kind kind,
                       bool by_type)
{
    return by_type && node->speeds[kind].rounds == 0
               ? gpu_types_typical(&cluster->gpu_types, node->gpu_type)
               : node->speeds[kind].log;
}

void job_expect_node(const struct cluster *cluster, const struct job *job, uint32_t role,
                     struct node_stay *stay)
{
    enum speed_kind kind = speed_kind_of(&job->spec->roles[role]);
    const struct type_bias *bias = &job->learned->bias;
    bool counts = kind == SPEED_GPU && bias->clear &&
                  type_is_known(&cluster->gpu_types, bias, stay->node->gpu_type);

    stay->level = level_of(cluster, stay->node, kind, counts);
    stay->bias = counts ? bias->log[stay->node->gpu_type] : 0;
}

/* Whether it differs clearly or not: as far as it is known. */
static double expected_log(const struct cluster *cluster, const struct process *process,
                           const struct node *node)
{
    enum speed_kind kind = speed_kind_of(&process->job->spec->roles[process->role]);
    const struct type_bias *bias = &process->job->learned->bias;
    bool known = kind == SPEED_GPU && type_is_known(&cluster->gpu_types, bias, node->gpu_type);

    return level_of(cluster, node, kind, known) + (known ? bias->log[node->gpu_type] : 0);
}

double process_gain_log(const struct cluster *cluster, const struct process *process,
                        const struct node *node)
{
    return expected_log(cluster, process, node) - expected_log(cluster, process, process->node);
}

/* It is known of that type, which some nodes are of, and its document allows. */
static bool may_be_on(const struct gpu_types *types, const struct job *job, uint32_t role,
                      uint8_t type)
{
    const struct labels *selector = role_selector(&job->spec->roles[role]);
    const char *name = labels_get(selector, LABEL_GPU_TYPE);

    return type_is_known(types, &job->learned->bias, type) && types->n_nodes[type] > 0 &&
           (name == NULL || streq(name, types->names[type]));
}

uint64_t job_misplaced(const struct cluster *cluster, const struct job *job, uint32_t role)
{
    const struct gpu_types *types = &cluster->gpu_types;
    const struct type_bias *bias = &job->learned->bias;
    uint64_t misplaced = 0;
    double best = -INFINITY;
    double worst = INFINITY;

    if (job->spec->roles[role].gpus == 0 || bias->known == 0 || job_surplus(job) == 0)
        return 0;
    for (uint8_t t = 0; t < GPU_TYPES_MAX; t++)
        if (may_be_on(types, job, role, t))
            best = fmax(best, gpu_types_typical(types, t) + bias->log[t]);
    for (uint32_t i = 0; i < job->n_slots[role]; i++) {
        const struct process *process = job->slots[role][i].live;
        double expected;

        if (process == NULL || process->state != PROCESS_RUNNING)
            continue;
        expected = expected_log(cluster, process, process->node);
        if (expected > best - SPEED_FASTER || expected >= worst)
            continue;
        worst = expected;
        misplaced = process->incarnation;
    }
    return misplaced;
}

/* --- new comparisons
 * --------------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of a machine that is slower than others of its type, the speed on one of those. */
static double log_s_of_type(const struct cluster *cluster, const struct node_stay *stay)
{
    const struct node_speed *speed = &stay->node->speeds[SPEED_GPU];
    double typical = gpu_types_typical(&cluster->gpu_types, stay->node->gpu_type);

    return stay->log_s + (speed->rounds > 0 ? speed->log - typical : 0);
}

/* false: nothing of it runs on that type */
static bool median_on(const struct cluster *cluster, const struct node_stay *stays, size_t n,
                      uint8_t type, double *ret)
{
    double *found = xcalloc(n, sizeof *found);
    size_t n_found = 0;

    for (size_t i = 0; i < n; i++)
        if (stays[i].node->gpu_type == type)
            found[n_found++] = log_s_of_type(cluster, &stays[i]);
    qsort(found, n_found, sizeof *found, compare_numbers);
    if (n_found > 0)
        *ret = (found[(n_found - 1) / 2] + found[n_found / 2]) / 2;
    free(found);
    return n_found > 0;
}

/* Collective jobs wait for each other; those with parameter servers may, and then they finish
 * alike. */
static bool teaches(const struct job *job, uint32_t role, double spread)
{
    if (job->spec->mode == JOB_MODE_COLLECTIVE || job->spec->mode == JOB_MODE_MPI)
        return job->queue != NULL && rendezvous_of(job, role) == NULL;
    return job->spec->n_roles == 1 || spread > NOT_EQUAL;
}

void job_note_types(struct cluster *cluster, const struct job *job, uint32_t role,
                    const struct node_stay *stays, size_t n, struct instant now)
{
    struct gpu_speeds *speeds;
    double log_s[GPU_TYPES_MAX] = { 0 };
    double least = INFINITY;
    double most = -INFINITY;
    uint32_t seen = 0;

    if (!cluster_minds_types(cluster) || job->spec->roles[role].gpus == 0)
        return;
    for (uint8_t t = 0; t < GPU_TYPES_MAX; t++)
        if (median_on(cluster, stays, n, t, &log_s[t])) {
            seen |= 1U << t;
            least = fmin(least, log_s[t]);
            most = fmax(most, log_s[t]);
        }
    if ((seen & (seen - 1)) == 0 || !teaches(job, role, most - least))
        return;
    speeds = goodput_family_types(cluster->families, job->learned->family);
    if (speeds == NULL)
        return;
    gpu_speeds_current(speeds, &cluster->gpu_types, now.now_us);
    gpu_speeds_note(speeds, seen, log_s, now.now_us + KEPT_US);
    cluster->gpu_types.learnt = true;
}

/* Under the name that it has. */
static bool is_seen(const struct gpu_types *types, const struct gpu_speeds *speeds, uint32_t type)
{
    return speeds != NULL && speeds->rounds[type] > 0 && speeds->born[type] == types->born[type];
}

size_t cluster_job_gpu_types(const struct cluster *cluster, const struct job *job,
                             struct job_gpu_type ret[GPU_TYPES_MAX])
{
    uint32_t instances[GPU_TYPES_MAX] = { 0 };
    const struct gpu_speeds *speeds;
    int role = job_elastic_role(job);
    double least = INFINITY;
    size_t n = 0;

    if (role < 0 || job->learned == NULL || job->spec->roles[role].gpus == 0 ||
        !cluster_minds_types(cluster))
        return 0;
    for (uint32_t i = 0; i < job->n_slots[role]; i++) {
        const struct process *process = job->slots[role][i].live;

        if (process != NULL && process->node->gpu_type != GPU_TYPE_NONE)
            instances[process->node->gpu_type]++;
    }
    speeds = goodput_family_speeds(cluster->families, job->learned->family);
    for (uint32_t t = 0; speeds != NULL && t < GPU_TYPES_MAX; t++)
        if (is_seen(&cluster->gpu_types, speeds, t))
            least = fmin(least, speeds->log[t]);
    for (uint32_t t = 0; t < cluster->gpu_types.n; t++)
        if (cluster->gpu_types.n_nodes[t] > 0)
            ret[n++] = (struct job_gpu_type){
                .name = cluster->gpu_types.names[t],
                .speed = is_seen(&cluster->gpu_types, speeds, t) ? exp(speeds->log[t] - least) : 0,
                .rounds = is_seen(&cluster->gpu_types, speeds, t) ? speeds->rounds[t] : 0,
                .instances = instances[t],
            };
    return n;
}
