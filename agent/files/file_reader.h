/* SPDX-License-Identifier: Apache-2.0 */
/* file_reader.h - reads what a process left in its folder, in a process of its own
 *
 * The folder is the job's and may be on any file system: reading it may take for ever, and any file
 * there may be a trap. So edl-workspace does it, as the account of the process, follows no link and
 * leaves no folder. It writes the files to fd 1 in the frames of file_frames.h. */
#pragma once

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

/* file_reader_log - what is left of a log from offset on, at most so many bytes of it: those before
 * the first one that is kept are not there */
void file_reader_log(const char *folder, const char *name, uint64_t offset, uint64_t bytes);
