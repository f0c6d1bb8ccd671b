/* SPDX-License-Identifier: Apache-2.0 */
/* group_model.c - a training whose gradients follow from values, step and micro-batch */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "shared/macro.h"
#include "tests/unit/group_cluster.h"

struct cluster_model {
    struct cluster_plan plan;
    float *values, *slots;
    struct edl_group_bucket buckets[2];
    struct edl_group_part parts[2];
};

static float noise(uint32_t i, uint32_t a)
{
    uint32_t h = (i * 0x9E3779B1U) ^ a;

    h ^= h >> 15;
    h *= 0x85EBCA77U;
    h ^= h >> 13;
    return (float)(int32_t)h * 0x1p-31F;
}

static void add_gradient(const struct cluster_model *m, uint64_t step, uint64_t micro_batch,
                         float *gradient)
{
    uint32_t a = (uint32_t)(step * 0x27D4EB2FU + micro_batch * 0x165667B1U);

    for (uint64_t i = 0; i < m->plan.n_values; i++)
        gradient[i] += noise((uint32_t)i, a) + 0.01F * m->values[i];
}

static void move(struct cluster_model *m, const float *sum)
{
    for (uint64_t i = 0; i < m->plan.n_values; i++) {
        m->slots[i] += sum[i] * sum[i];
        m->values[i] -= 0.01F * sum[i] / sqrtf(m->slots[i] + 1e-6F);
    }
}

static uint64_t hash_of(const struct cluster_model *m)
{
    const uint8_t *bytes = (const uint8_t *)m->values;
    uint64_t h = UINT64_C(14695981039346656037);

    for (uint64_t i = 0; i < m->plan.n_values * sizeof *m->values; i++)
        h = (h ^ bytes[i]) * UINT64_C(1099511628211);
    return h | 1;
}

struct cluster_model *cluster_model_new(const struct cluster_plan *plan)
{
    struct cluster_model *m = xcalloc(1, sizeof *m);

    m->plan = *plan;
    m->values = xcalloc(plan->n_values, sizeof *m->values);
    m->slots = xcalloc(plan->n_values, sizeof *m->slots);
    for (uint64_t i = 0; i < plan->n_values; i++)
        m->values[i] = noise((uint32_t)i, 77);
    m->buckets[0] = (struct edl_group_bucket){ "first", 3 };
    m->buckets[1] = (struct edl_group_bucket){ "second", plan->n_values - 3 };
    m->parts[0] = (struct edl_group_part){ m->values, plan->n_values * sizeof *m->values };
    m->parts[1] = (struct edl_group_part){ m->slots, plan->n_values * sizeof *m->slots };
    return m;
}

void cluster_model_free(struct cluster_model *m)
{
    free(m->values);
    free(m->slots);
    free(m);
}

static uint64_t micro_batches_of(void *userdata, uint64_t ranks)
{
    const struct cluster_model *m = userdata;
    uint32_t bits;

    memcpy(&bits, &m->values[1], sizeof bits);
    return m->plan.chooses ? 1 + (bits + ranks) % m->plan.micro_batches
                           : m->plan.micro_batches * ranks;
}

void cluster_options(struct cluster_model *m, struct edl_group_options *ret)
{
    *ret = (struct edl_group_options){ .micro_batches = m->plan.micro_batches,
                                       .buckets = m->buckets,
                                       .n_buckets = 2,
                                       .state = m->parts,
                                       .n_parts = 2,
                                       .micro_batches_of = m->plan.linear ? micro_batches_of : NULL,
                                       .userdata = m,
                                       .steps = m->plan.linear ? 0 : m->plan.steps,
                                       .exact = m->plan.exact };
}

int cluster_train(struct edl_group *group, struct cluster_model *m, cluster_told told,
                  void *userdata)
{
    struct edl_group_step step;
    const float *sum;
    uint64_t mb;
    int r, t = 0, came = 0;

    while ((r = edl_group_begin(group, &step)) == 1) {
        step.state_came = came |= step.state_came;
        if (m->plan.linear && step.step > m->plan.steps) { /* the last state came */
            edl_group_end(group);
            continue;
        }
        if (m->plan.linear && !m->plan.chooses && step.rank != EDL_NO_RANK &&
            step.micro_batches != m->plan.micro_batches * step.size)
            return -ERANGE;
        while ((t = edl_group_take(group, &mb)) == 1) {
            add_gradient(m, step.step, mb, step.gradient);
            if (step.step == m->plan.bad_step && step.rank == 0)
                step.gradient[5] = NAN;
        }
        r = t == 0 ? edl_group_sum(group, &sum) : t;
        if (r < 0)
            return r;
        if (r == 0)
            continue;
        move(m, sum);
        if (m->plan.linear)
            m->slots[0] += (float)step.micro_batches; /* of each rank the same number */
        (void)edl_group_commit(group);
        if (m->plan.linear && step.step == m->plan.steps)
            edl_group_end(group);
        if (m->plan.chooses && step.rank == 0 && step.step % 16 == 0)
            edl_group_replan(group);
        told(userdata, &step, hash_of(m));
        came = 0;
    }
    if (r == 0) /* the last word: what all have */
        told(userdata, &step, 0);
    return r;
}

void cluster_alone(const struct cluster_plan *plan, uint64_t ret_hash[CLUSTER_STEPS + 1])
{
    struct cluster_model *m = cluster_model_new(plan);
    float *gradient = xcalloc(plan->n_values, sizeof *gradient);
    double *sum = xcalloc(plan->n_values, sizeof *sum);

    for (unsigned step = 1; step <= plan->steps; step++) {
        memset(sum, 0, plan->n_values * sizeof *sum);
        for (unsigned mb = 0; mb < plan->micro_batches; mb++) {
            memset(gradient, 0, plan->n_values * sizeof *gradient);
            add_gradient(m, step, mb, gradient);
            /* whole units in a double: below 2^53 as the values are small */
            for (uint64_t i = 0; i < plan->n_values; i++)
                sum[i] += nearbyint((double)gradient[i] * 0x1p36);
        }
        for (uint64_t i = 0; i < plan->n_values; i++)
            gradient[i] = (float)(sum[i] * 0x1p-36);
        move(m, gradient);
        ret_hash[step] = hash_of(m);
    }
    free(gradient);
    free(sum);
    cluster_model_free(m);
}
