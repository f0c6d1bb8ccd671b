/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_host.h - the ops of any back-end on the program's memory, for tests
 *
 * Each op copies its operands to the back-end, and the outputs back. It copies outputs there too,
 * so that the parts that it leaves alone come back. It has the ops that every device has. */
#pragma once

#include "kernels/kernels.h"

/* kernels_on_host - of an open back-end; the last one asked for */
const struct tensor_ops *kernels_on_host(const struct edl_backend *device);
