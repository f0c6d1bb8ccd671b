/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - which back-end of the kernels a trainer computes with
 *
 * The CPU's is linked in. The CUDA one is a shared library that is loaded when it is asked for
 * (libedl-kernels-cuda.so, package edl-trainer-cuda). Without it nothing of CUDA is needed. It is
 * looked for in EDL_KERNELS_DIR, else where it is installed. */
#pragma once

struct edl_backend;
struct edl_error;

struct device {
    const struct edl_backend *backend;
    char name[160]; /* of the device, "" on the CPU */
};

/* device_fits_fn - whether what is to be computed has ops there; negative: error says what lacks.
 * The back-end is loaded and not started. */
typedef int (*device_fits_fn)(const struct edl_backend *backend, struct edl_error *error);

/* device_open - "cpu", "cuda" or "auto"; opened, for device_close
 *
 * fits: NULL when every back-end will do. auto: cuda when this process was granted a GPU
 * (CUDA_VISIBLE_DEVICES names one), it works and it fits, else cpu; a GPU that was granted and is
 * not used is a line in the log. Errors of fits, and
 * -EINVAL: another word. -ENOENT: the CUDA back-end is not installed. -ELIBACC: it cannot be
 * loaded. -ELIBBAD: it is of another version. -ENODEV: it has no device that works. */
int device_open(const char *wanted, device_fits_fn fits, struct device *ret,
                struct edl_error *error);
void device_close(struct device *device);
