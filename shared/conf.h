/* SPDX-License-Identifier: Apache-2.0 */
/* conf.h - configuration files of the daemons: "key: value" or "key: [value, ...]", as in YAML
 *
 * Flat on purpose: a key is the name of an option of the command line, a value is the text that
 * could stand there. */
#pragma once

#include <stddef.h>

struct edl_error;
struct option;

/* told of each value, in the order they stand; a list is so many values of its key.
 * What it refuses is told with file, line and key in front. */
typedef int (*conf_setting_fn)(const char *key, const char *value, void *userdata,
                               struct edl_error *error);

struct conf_reader {
    conf_setting_fn setting;
    void (*begin_file)(void *userdata); /* may be NULL; called before the settings of each file */
    void *userdata;
};

/* conf_read - one file; -ENOENT when there is none. It must belong to root or to us, and nobody
 * else may write to it (-EPERM). -EINVAL, or what setting returned, with error. */
int conf_read(const char *path, const struct conf_reader *reader, struct edl_error *error);

/* conf_read_folder - PATH.d/x.conf of all x, by name; without the folder nothing; errors as
 * conf_read */
int conf_read_folder(const char *path, const struct conf_reader *reader, struct edl_error *error);

/* conf_read_all - given, or fallback where that is NULL: a path that nobody asked for need not be
 * there. The file and its folder; "" or both NULL: nothing. Errors as conf_read */
int conf_read_all(const char *given, const char *fallback, const struct conf_reader *reader,
                  struct edl_error *error);

/* conf_argument - the last --conf of a command line, whose files are read before the options that
 * win over them; NULL: none. long_options as of getopt_long, with key for --conf; what else is
 * there is not judged. Borrowed from argv */
const char *conf_argument(int argc, char **argv, const struct option *long_options, int key);

/* conf_refuse_key - a key that is none of known, of which some may be NULL. page lists all:
 * "edl-agent(8)". -EINVAL with remedy */
int conf_refuse_key(const char *key, const char *const *known, size_t n_known, const char *page,
                    struct edl_error *error);
