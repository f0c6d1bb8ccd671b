/* SPDX-License-Identifier: Apache-2.0 */
/* file_reader.h - reads what a process left in its folder, in a process of its own
 *
 * The folder is the job's and may be on any file system: reading it may take for ever, and any file
 * there may be a trap. So edl-workspace does it, as the account of the process, follows no link and
 * leaves no folder. It writes the files to fd 1 in the frames of file_frames.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* file_reader_list - the files below root, as lines of file_listing.h
 * owner: "UID:GID" to become, "-" to stay who we are. since: "0" all; a wall clock's reading: those
 * changed since; "birth:0", with a reading: those written since the folder was made, and since
 * then. pattern: fnmatch(3) on paths; a folder that matches stands for all that is below it; ""
 * all. sums_bytes: files of at most so many have a checksum. */
void file_reader_list(const char *owner, const char *root, const char *since, const char *pattern,
                      uint64_t sums_bytes);

/* file_reader_send - the bytes of a file below root from offset on, at most so many */
void file_reader_send(const char *owner, const char *root, const char *path, uint64_t offset,
                      uint64_t bytes);

/* The wanted part of a log, whose front may be gone. */
struct log_part {
    uint64_t offset, bytes; /* what is left of so many bytes from here on */
    /* the first so many of what is left from there on, and in front of bytes that were written
     * together a line "OFFSET BYTES TIME_US"; TIME_US 0: unknown */
    bool chunks;
    /* of chunks: lines that were written then or later, as far as the times tell, behind a chunk
     * of no bytes that tells where that begins; 0: all */
    uint64_t since_us;
};

void file_reader_log(const char *folder, const char *name, const struct log_part *part);
