/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_file.h - one file that comes over the network, into a folder of this machine
 *
 * It grows as NAME.part, and becomes NAME when its size and its SHA-256 are right. The node
 * computes that of a large file when it is asked for: behind the bytes, or when NAME may be there
 * already. The part of an earlier try is gone on with. Its path is somebody else's: nothing outside
 * the folder is touched, and no link below it is followed or written through.
 *
 * Used by: cmd_fetch.c. Tests: tests/unit/test_fetch_file.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "shared/file_listing.h"

struct content_hash;
struct edl_error;
struct fetch_record;

/* Where files go. */
struct fetch_target {
    int root_fd;                 /* borrowed */
    struct fetch_record *record; /* borrowed; NULL: nothing that is there is ours */
    bool replace;                /* also what edl fetch did not put there */
};

struct fetch_file {
    struct file_entry entry;
    char name[256], part[256];   /* in its folder */
    char *path, *part_path;      /* owned: below the root */
    struct fetch_record *record; /* borrowed */
    int folder_fd, fd;           /* owned */
    struct content_hash *hash;   /* owned; of what is in the part */
    uint64_t bytes;              /* in the part */
    bool there;                  /* NAME is what is wanted: nothing is to be fetched */
    int failure;                 /* of writing; 0: none */
    void (*on_bytes)(uint64_t n, void *userdata); /* some came; may be NULL */
    void *userdata;
};

/* fetch_folder_open - makes the folder at path, if it is missing; returns a descriptor
 * -EEXIST: it holds files and no FETCH_MARK, and any is not set: another program made it */
int fetch_folder_open(const char *path, bool any, struct edl_error *error);

/* fetch_file_is_alike - a file of its name and size is there, so that its checksum is wanted before
 * anything is fetched */
bool fetch_file_is_alike(int root_fd, const char *folder, const struct file_entry *entry);

/* fetch_folder_below - the folder of a path (up to its last '/') below the root, made as far as it
 * is missing; returns a descriptor, or -EPERM, -errno with error */
int fetch_folder_below(int root_fd, const char *path, struct edl_error *error);

/* fetch_file_open - folder: below the root, "" or ending with '/'; ret is ready for what follows at
 * ret->bytes. -EPERM: a link, or something else that is no file, is in its way; -EEXIST: another
 * file is there that edl fetch did not put there; -EBUSY: another program fetches it to there;
 * -errno */
int fetch_file_open(const struct fetch_target *target, const char *folder,
                    const struct file_entry *entry, struct fetch_file *ret,
                    struct edl_error *error);

/* fetch_file_stream - for writing what comes; fclose(3) ends it, and not the file */
FILE *fetch_file_stream(struct fetch_file *file);

/* fetch_file_restart - forgets what came: it did not belong together */
int fetch_file_restart(struct fetch_file *file, struct edl_error *error);

/* fetch_file_is_whole - no byte is missing */
bool fetch_file_is_whole(const struct fetch_file *file);

/* fetch_file_finish - NAME is there. file->entry has its checksum by now. -EAGAIN: bytes are
 * missing; -EBADMSG: they are not those that were listed; -errno */
int fetch_file_finish(struct fetch_file *file, struct edl_error *error);

/* fetch_file_close - what came stays as NAME.part */
void fetch_file_close(struct fetch_file *file);
