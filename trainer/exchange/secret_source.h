/* SPDX-License-Identifier: Apache-2.0 */
/* secret_source.h - from where a server or a trainer knows the secret of its job */
#pragma once

#include <stdint.h>

#include "shared/job_secret.h"

struct edl_error;

/* secret_read - of a file with 64 hexadecimal digits, that only its owner may read; without one
 * (NULL) of the agent behind socket_path, which may take minutes to answer. Both NULL: -EINVAL with
 * a remedy. */
int secret_read(const char *file, const char *socket_path, uint8_t ret[JOB_SECRET_BYTES],
                struct edl_error *error);
