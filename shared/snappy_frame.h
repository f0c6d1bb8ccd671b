/* SPDX-License-Identifier: Apache-2.0 */
/* snappy_frame.h - the snappy framing format, as RecordIO files of the Go tools hold it
 *
 * Both return 0 and a malloc'd buffer, or a negative code and leave the outputs alone. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* snappy_frame_encode - never fails; *ret holds *ret_size bytes */
void snappy_frame_encode(const uint8_t *raw, size_t size, uint8_t **ret, size_t *ret_size);

/* snappy_frame_decode - untrusted input; -EBADMSG when damaged, -E2BIG when more than raw_max bytes
 * come out */
int snappy_frame_decode(const uint8_t *framed, size_t size, size_t raw_max, uint8_t **ret,
                        size_t *ret_size);
