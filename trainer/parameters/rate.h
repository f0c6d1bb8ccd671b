/* SPDX-License-Identifier: Apache-2.0 */
/* rate.h - how the learning rate follows the samples trained, or the pass; pure
 *
 *     constant     r
 *     poly         r * (1 + a*n)^-b
 *     caffe_poly   r * (1 - n/a)^b, and 0 beyond a
 *     exp          r * a^(n/b)
 *     discexp      r * a^floor(n/b)
 *     linear       max(r - a*n, b)
 *     manual       r * the factor of the first step s with n <= s; "s0:f0,s1:f1,..."; behind the
 *                  last one its factor
 *     pass_manual  the same of the pass, from 0 on
 *
 * n counts the samples of all trainers, those of this batch included. */
#pragma once

#include <stdint.h>

struct edl_error;

#define RATE_SCHEDULE_MAP(XX)                                                                      \
    XX(CONSTANT, constant)                                                                         \
    XX(POLY, poly)                                                                                 \
    XX(CAFFE_POLY, caffe_poly)                                                                     \
    XX(EXP, exp)                                                                                   \
    XX(DISCEXP, discexp)                                                                           \
    XX(LINEAR, linear)                                                                             \
    XX(MANUAL, manual)                                                                             \
    XX(PASS_MANUAL, pass_manual)

enum rate_schedule {
#define XX(upper, lower) RATE_##upper,
    RATE_SCHEDULE_MAP(XX)
#undef XX
        RATE_SCHEDULES
};

#define RATE_ARGS_SIZE 128 /* with the NUL at its end */
#define RATE_STEPS_MAX 32

struct rate {
    uint32_t schedule;
    double base, a, b;
    uint32_t n_steps;
    struct {
        uint64_t until; /* samples or pass */
        double factor;
    } steps[RATE_STEPS_MAX];
};

/* rate_parse - checks the numbers and takes the steps of the manual schedules apart
 * -EINVAL: error names the number or text that is wrong, and one that would do. */
int rate_parse(uint32_t schedule, double base, double a, double b, const char args[RATE_ARGS_SIZE],
               struct rate *ret, struct edl_error *error);

/* rate_at - the rate of the batch with which n samples are trained, in this pass */
double rate_at(const struct rate *rate, uint64_t samples, uint32_t pass);

/* rate_schedule_to_string - "poly"; "?" when none */
const char *rate_schedule_to_string(uint32_t schedule);

/* rate_schedule_of - the number of a name; -1 when there is none */
int rate_schedule_of(const char *name);
