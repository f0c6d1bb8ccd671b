/* SPDX-License-Identifier: Apache-2.0 */
/* collective_rules.c - the batch of a group, as the options of a trainer say it */
#include "trainer/run/collective_rules.h"

#include <errno.h>
#include <inttypes.h>

#include "libedl/edl/edl.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"
#include "trainer/run/network_local.h"

#define BATCHES_MOST 8 /* of a step, where nothing else is said */
#define MICRO_BATCHES_MOST EDL_GROUP_MICRO_BATCHES_MAX

/* micro_batches_of - a batch is cut into as many as are asked for, else into at most eight */
static int micro_batches_of(const struct network_job *job, uint64_t batch, uint64_t *ret,
                            struct edl_error *error)
{
    *ret = job->micro_batches > 0 ? job->micro_batches : 8;
    while (job->micro_batches == 0 && batch % *ret != 0)
        --*ret;
    if (batch % *ret == 0)
        return 0;
    (void)edl_error_set(error, -EINVAL, "a batch of %" PRIu64 " cannot be cut into %" PRIu64, batch,
                        *ret);
    return edl_error_remedy(error, "--batch is a multiple of --micro-batches");
}

/* read_batches - those of another training */
static int read_batches(const struct network_job *job, struct collective_rules *ret,
                        struct edl_error *error)
{
    const char *path = job->batches;
    _cleanup_free_ char *text = NULL;
    int r;

    if (path == NULL)
        return 0;
    if (ret->rules.rule == BATCH_CONSTANT) {
        (void)edl_error_set(error, -EINVAL, "--batches beside --batch-rule=constant");
        return edl_error_remedy(error, "give the --batch-rule of the training that wrote it");
    }
    r = whole_file_read(path, false, &text, error);
    if (r >= 0)
        r = batch_history_of_text(text, ret->rules.most / ret->rules.micro_batch, &ret->batches,
                                  error);
    if (r < 0)
        edl_error_prefix(error, "--batches=%s: ", path);
    return r;
}

/* check_rules - what the rules of a batch that changes need */
static int check_rules(const struct batch_rules *rules, struct edl_error *error)
{
    if (rules->rule != BATCH_CONSTANT && rules->most / rules->micro_batch > MICRO_BATCHES_MOST) {
        (void)edl_error_set(error, -EINVAL,
                            "--batch-most is %u: that are %u micro-batches, %d are possible",
                            rules->most, rules->most / rules->micro_batch, MICRO_BATCHES_MOST);
        return edl_error_remedy(error, "set --batch-most to %u, or --micro-batches lower",
                                MICRO_BATCHES_MOST * rules->micro_batch);
    }
    if (rules->rule == BATCH_GOODPUT && rules->start == rules->micro_batch) {
        (void)edl_error_set(error, -EINVAL,
                            "--micro-batches is 1: goodput measures how they differ");
        return edl_error_remedy(error, "set --micro-batches to 2 or more");
    }
    return batch_rules_check(rules, error);
}

/* read_rules - how the batch follows the ranks */
static int read_rules(const struct network_job *job, uint64_t batch, uint64_t micro_batches,
                      struct collective_rules *ret, struct edl_error *error)
{
    const int rule = batch_rule_of(job->batch_rule);
    const uint64_t most = job->batch_most > 0 ? job->batch_most
                                              : MIN_OF(BATCHES_MOST * batch,
                                                       MICRO_BATCHES_MOST * batch / micro_batches);
    int r;

    if (rule < 0) {
        (void)edl_error_set(error, -EINVAL, "--batch-rule is \"%.40s\"", job->batch_rule);
        return edl_error_remedy(error, "write constant, linear or goodput");
    }
    if (most > UINT32_MAX || batch > UINT32_MAX || job->warm_up > UINT32_MAX)
        return edl_error_set(error, -EINVAL,
                             "--batch, --batch-most and --batch-warm-up are less than 2^32");
    ret->rules = (struct batch_rules){ .rule = (enum batch_rule)rule,
                                       .micro_batch = (uint32_t)(batch / micro_batches),
                                       .start = (uint32_t)batch,
                                       .most = (uint32_t)most,
                                       .warm_up = (uint32_t)job->warm_up };
    r = check_rules(&ret->rules, error);
    return r < 0 ? r : read_batches(job, ret, error);
}

int collective_rules_read(const struct network_job *job, uint64_t batch,
                          struct collective_rules *ret, struct edl_error *error)
{
    uint64_t micro_batches;
    int r = micro_batches_of(job, batch, &micro_batches, error);

    *ret = (struct collective_rules){ .batches = { 0 } };
    return r < 0 ? r : read_rules(job, batch, micro_batches, ret, error);
}
