/* SPDX-License-Identifier: Apache-2.0 */
/* network_saves.c - the saved passes of a training */
#include "trainer/learn/network_saves.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/model/model_file.h"
#include "trainer/model/model_tar.h"
#include "trainer/model/network_files.h"
#include "trainer/learn/network_learner.h"
#include "trainer/model/optimizer_state.h"

static int path_of(const struct network_saves *saves, uint64_t pass, uint64_t inner,
                   char ret[static PATH_MAX], struct edl_error *error)
{
    const char *dir = saves->config.dir;
    int n = inner == 0
                ? snprintf(ret, PATH_MAX, "%s/pass-%05" PRIu64, dir, pass)
                : snprintf(ret, PATH_MAX, "%s/pass-%05" PRIu64 "-%03" PRIu64, dir, pass, inner);

    return n < PATH_MAX ? 0 : edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", dir);
}

static int tar_of(const char *folder, char ret[static PATH_MAX], struct edl_error *error)
{
    return snprintf(ret, PATH_MAX, "%s.tar", folder) < PATH_MAX
               ? 0
               : edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", folder);
}

static int write_tar(const struct network_saves *saves, float *const *values, const char *folder,
                     struct edl_error *error)
{
    char path[PATH_MAX];
    int r = tar_of(folder, path, error);

    return r < 0 ? r : network_save_tar(saves->config.network, values, path, error);
}

/* remove_last - with its tar, whichever run has written that */
static void remove_last(const struct network_saves *saves)
{
    char path[PATH_MAX];

    model_file_remove(saves->last);
    if (tar_of(saves->last, path, NULL) >= 0)
        (void)unlink(path);
}

/* claim - the folder for this process */
static int claim(struct network_saves *saves, struct edl_error *error)
{
    struct writer_name me;
    char path[PATH_MAX];

    writer_name_of_environment(&me);
    if (snprintf(path, sizeof path, "%s/.writer", saves->config.dir) >= PATH_MAX)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", saves->config.dir);
    return one_writer_claim(&saves->writer, path, &me, error);
}

int network_saves_open(const struct network_saves_config *config, struct network_saves *ret,
                       struct edl_error *error)
{
    char path[PATH_MAX];
    int r;

    *ret = (struct network_saves){ .config = *config };
    r = path_of(ret, config->start_pass > 0 ? config->start_pass - 1 : 0, 0, path, error);
    if (r < 0)
        return r;
    if (config->start_pass > 0 && config->before != NULL && streq(config->before, path))
        memcpy(ret->last, path, sizeof path);
    r = model_file_prepare(path, error);
    if (r >= 0)
        r = claim(ret, error);
    if (r >= 0)
        model_tar_clean(config->dir);
    return r;
}

void network_saves_close(struct network_saves *saves)
{
    one_writer_release(&saves->writer);
}

int network_saves_write(struct network_saves *saves, const struct network_learner *learner,
                        struct table *table, uint64_t pass, uint64_t inner,
                        char ret_path[static PATH_MAX], struct edl_error *error)
{
    float *const *values = network_learner_values(learner);
    struct optimizer_state state = { 0 };
    int r = path_of(saves, pass, inner, ret_path, error);

    if (r >= 0)
        r = claim(saves, error);
    if (r >= 0 && table != NULL)
        r = optimizer_state_pack(saves->config.network, values, table,
                                 network_learner_steps(learner), &state, error);
    if (r >= 0 && saves->config.with_tar)
        r = write_tar(saves, values, ret_path, error);
    if (r >= 0)
        r = network_save(saves->config.network, saves->config.file, values, NULL,
                         table != NULL ? &state.part : NULL, ret_path, error);
    optimizer_state_clear(&state);
    if (r < 0)
        return r;
    if (saves->config.only_one && saves->last[0] != '\0' && !streq(saves->last, ret_path))
        remove_last(saves);
    memcpy(saves->last, ret_path, strlen(ret_path) + 1);
    return 0;
}
