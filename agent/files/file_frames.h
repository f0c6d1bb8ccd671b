/* SPDX-License-Identifier: Apache-2.0 */
/* file_frames.h - what edl-workspace tells the agent of files, a message (SOCK_SEQPACKET) a frame
 *
 * The first byte of a message says what it is. A reader that ends without FILE_FRAME_END has died.
 *
 * Used by: file_reader.c writes them, file_reads.c takes them. */
#pragma once

#define FILE_FRAME_DATA 'D' /* bytes of the answer */
#define FILE_FRAME_END 'E'  /* that was all */
#define FILE_FRAME_GONE                                                                            \
    'G'                       /* there is no such file; the rest is a sentence, as in the next two \
                               */
#define FILE_FRAME_DENIED 'N' /* the account of the process may not read it */
#define FILE_FRAME_FAILED 'F'

#define FILE_FRAME_BYTES 65536 /* of a message, at most */
