/* SPDX-License-Identifier: Apache-2.0 */
/* low_water.c - see low_water.h */
#include "trainer/wire/low_water.h"

#include <sys/socket.h>

#include "shared/macro.h"

#define MARK_MAX_BYTES ((size_t)512 * 1024)

void low_water_set(int fd, size_t missing_bytes, int *io_mark)
{
    const int mark = (int)MIN_OF(missing_bytes, MARK_MAX_BYTES);

    if (mark == *io_mark)
        return;
    /* Without the mark a wait ends earlier, and that is all. */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof mark) == 0)
        *io_mark = mark;
}
