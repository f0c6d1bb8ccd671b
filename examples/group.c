/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - all processes of a role together find a line through points; some of them may come, go
 * or be killed. The same is in edl(3).
 *
 * cc group.c $(pkg-config --cflags --libs edl) */
#include <edl/edl.h>
#include <stdio.h>

enum { MICRO_BATCHES = 8, STEPS = 2000 };

static float line[2]; /* the state: all that a step changes */

/* of the point that this micro-batch of this step is */
static void add_gradient(uint64_t step, uint64_t m, float *gradient)
{
    float x = (float)((step * MICRO_BATCHES + m) % 97) / 97, y = 3 * x - 1;
    float error = line[0] * x + line[1] - y;

    gradient[0] += error * x;
    gradient[1] += error;
}

int main(void)
{
    const struct edl_group_bucket bucket = { "line", 2 };
    const struct edl_group_part state = { line, sizeof line };
    const struct edl_group_options options = { .micro_batches = MICRO_BATCHES,
                                               .buckets = &bucket,
                                               .n_buckets = 1,
                                               .state = &state,
                                               .n_parts = 1,
                                               .steps = STEPS,
                                               .exact = 1 };
    struct edl_client *client = NULL;
    struct edl_group_step step;
    struct edl_group *group;
    const float *sum;
    uint64_t m;
    int r;

    edl_client_new(NULL, &client); /* there is none outside of a job: a group of one */
    if (edl_group_new(client, &options, &group) < 0) {
        fprintf(stderr, "%s\n", client != NULL ? edl_last_error(client) : "no group");
        return 1;
    }
    while ((r = edl_group_begin(group, &step)) == 1) {
        while ((r = edl_group_take(group, &m)) == 1)
            add_gradient(step.step, m, step.gradient);
        if (r == 0)
            r = edl_group_sum(group, &sum);
        if (r < 0)
            break;
        if (r == 0) /* a rank was lost */
            continue;
        line[0] -= 0.1f * sum[0];
        line[1] -= 0.1f * sum[1];
        edl_group_commit(group);
    }
    if (r < 0)
        fprintf(stderr, "%s\n", edl_group_error(group));
    else if (step.stable == STEPS)
        printf("%a %a\n", (double)line[0], (double)line[1]);
    edl_group_free(group);
    edl_client_free(client);
    return r < 0;
}
