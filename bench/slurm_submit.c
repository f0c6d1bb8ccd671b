/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_submit.c - a client of Slurm's own library that submits one batch job after another
 *
 * Usage: slurm_submit COUNT (with SLURM_CONF in the environment). Prints one JSON object. */
#include <inttypes.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/clock.h"
#include "shared/parse.h"

static int submit(void)
{
    static char path[] = "PATH=/usr/bin:/bin", name[] = "job", script[] = "#!/bin/true\n";
    static char work_dir[] = "/tmp", output[] = "/dev/null";
    static char *environment[] = { path, NULL };
    submit_response_msg_t *answer = NULL;
    job_desc_msg_t job;
    int r;

    slurm_init_job_desc_msg(&job);
    job.name = name;
    job.script = script;
    job.work_dir = work_dir;
    job.std_out = job.std_err = output;
    job.user_id = geteuid();
    job.group_id = getegid();
    job.environment = environment;
    job.env_size = 1;
    job.min_nodes = job.num_tasks = 1;
    r = slurm_submit_batch_job(&job, &answer);
    if (r == SLURM_SUCCESS)
        slurm_free_submit_response_response_msg(answer);
    return r;
}

int main(int argc, char **argv)
{
    uint64_t n, failed = 0, start_us;
    double seconds;

    if (argc != 2 || parse_u64(argv[1], &n) < 0 || n == 0) {
        (void)fprintf(stderr, "usage: slurm_submit COUNT\n");
        return 2;
    }
    slurm_init(NULL);
    start_us = clock_read_us(CLOCK_MONOTONIC);
    for (uint64_t i = 0; i < n; i++)
        if (submit() != SLURM_SUCCESS && failed++ == 0)
            slurm_perror("slurm_submit");
    seconds = (double)(clock_read_us(CLOCK_MONOTONIC) - start_us) / 1e6;
    (void)printf("{\"requests\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"per_s\":%.1f}\n", n, failed,
                 (double)n / seconds);
    slurm_fini();
    return failed == 0 ? 0 : 1;
}
