/* SPDX-License-Identifier: Apache-2.0 */
/* owner_limits.h - the limits of a user or group in bodies and answers */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct body_field;
struct cluster;
struct edl_error;
struct owner_limits;

#define OWNER_LIMIT_KEYS "max_cpu_millicores max_gpus max_jobs max_time_us"

/* owner_limits_given - whether the body names one */
bool owner_limits_given(const struct body_field *field);
/* owner_limits_read - those that are named, 0: none any more; the others stay */
int owner_limits_read(const struct body_field *field, struct owner_limits *limits,
                      struct edl_error *error);
/* owner_limits_show - as members of the answer, and of somebody with a limit what is held now */
void owner_limits_show(json_t *to, const struct cluster *cluster, const char *name, bool is_group,
                       const struct owner_limits *limits);
/* owner_limits_tag - behind an entity tag without its last quote: nothing where there is none */
void owner_limits_tag(const struct owner_limits *limits, char *tag, size_t size);
