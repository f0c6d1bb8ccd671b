/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - which back-end of the kernels a trainer computes with
 *
 * The CPU's is linked in. The CUDA one is a shared library that is loaded when it is asked for
 * (libedl-kernels-cuda.so, package edl-trainer-cuda). Without it nothing of CUDA is needed. It is
 * looked for in EDL_KERNELS_DIR, else where it is installed. */
#pragma once

#include <stdbool.h>

struct edl_backend;
struct edl_error;
struct network;

struct device {
    const struct edl_backend *backend;
    char name[160]; /* of the device, "" on the CPU */
    bool is_choice; /* of "auto" */
};

/* device_open - "cpu", "cuda" or "auto"; opened, for device_close
 *
 * auto: cuda when this process was granted a GPU (CUDA_VISIBLE_DEVICES names one) and it works,
 * else cpu; a GPU that was granted and is not used is a line in the log. -EINVAL: another word.
 * -ENOENT: the CUDA back-end is not installed. -ELIBACC: it cannot be loaded. -ELIBBAD: it is of
 * another version. -ENODEV: it has no device that works. */
int device_open(const char *wanted, struct device *ret, struct edl_error *error);
void device_close(struct device *device);

/* device_backend_for - the back-end that trains a network: the device's (NULL: the CPU's)
 * Where the device has no ops for it (plan_fits): with "auto" the CPU's and a line in the log, else
 * -EOPNOTSUPP. */
int device_backend_for(const struct device *device, const struct network *network,
                       const struct edl_backend **ret, struct edl_error *error);
