/* SPDX-License-Identifier: Apache-2.0 */
/* corpus_files.h - the text files below some paths, each content once, in sorted order */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;

enum corpus_verdict { CORPUS_MORE, CORPUS_NEXT_FILE, CORPUS_STOP };

/* Where text goes: text() for each piece, file_end() after each file, also after one that was left
 * early. */
struct corpus_sink {
    enum corpus_verdict (*text)(const uint8_t *bytes, size_t size, void *userdata);
    void (*file_end)(uint64_t files, void *userdata);
    void *userdata;
};

/* corpus_files_default - the places where text lies on a Debian machine; *ret_n paths, static */
const char *const *corpus_files_default(size_t *ret_n);

/* corpus_files_read - reads all regular files that look like text; .gz are unpacked, symbolic links
 * not followed Markup and page descriptions (HTML, XML, PostScript, PDF) are left out. must_exist:
 * a path that is missing is an error, else it is skipped. Files that cannot be read are skipped. */
int corpus_files_read(const char *const *paths, size_t n_paths, bool must_exist,
                      const struct corpus_sink *sink, uint64_t *ret_files, struct edl_error *error);
