/* SPDX-License-Identifier: Apache-2.0 */
/* write_all.h - all of some bytes into a file, however many writes that takes
 *
 * Used by: scheduler, agent, client, trainer. Tests: tests/unit/test_write_all.c. */
#pragma once

#include <stddef.h>

/* write_all - 0 or -errno; goes on after a signal. -EAGAIN: the descriptor does not block, and some
 * bytes may be written. -EIO: the file takes nothing and tells no error */
int write_all(int fd, const void *data, size_t size);
