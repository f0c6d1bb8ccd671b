/* SPDX-License-Identifier: Apache-2.0 */
/* outlook.h - when a job will be over, by its known speed, and whether that is in time */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

struct instant;
struct job;

struct job_outlook {
    uint32_t instances; /* of its elastic role, that it has */
    double left_s;      /* with those, from now on */
    bool by_family;     /* its own tasks do not tell: as long as jobs of its family took */
    bool has_deadline;
    uint64_t deadline_wall_us;
    bool in_time;    /* with those */
    uint32_t needed; /* instances with which it is in time, with something to spare where that can
                        be; 0: no number of them, or there is no deadline */
};

/* job_left_s - work that is left of a job that runs, in seconds of one instance; below 0: nobody
 * knows */
double job_left_s(const struct job *job, struct instant now);
/* job_outlook - false: nobody knows; its tasks have not told yet how fast it is or how many there
 * are and no job like it has ended, or the policy does not learn. Linear in the sizes that it may
 * have. */
bool job_outlook(const struct job *job, struct instant now, struct job_outlook *ret);
/* job_moved - its last instance that was slow, "trainer-3 was moved from ..."; "": none
 * (plan/straggler.c) */
const char *job_moved(const struct job *job);
