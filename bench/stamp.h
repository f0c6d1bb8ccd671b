/* SPDX-License-Identifier: Apache-2.0 */
/* stamp.h - the words of a measured process to its measurer, in one datagram
 *
 * Its number comes with it, as the kernel knows it (SCM_CREDENTIALS). */
#pragma once

#include <stdint.h>

struct stamp {
    uint64_t main_ns; /* CLOCK_MONOTONIC at the beginning of main */
};
