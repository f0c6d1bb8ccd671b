/* SPDX-License-Identifier: Apache-2.0 */
/* network_saves.h - the saved passes of a training: pass-00000 behind the first one, and
 * pass-00000-001 and so on within it; pass-00000.tar beside a folder on request
 *
 * Each folder is written aside and appears whole. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "trainer/files/one_writer.h"

struct edl_error;
struct network;
struct network_file;
struct network_learner;
struct table;

struct network_saves_config {
    const struct network *network;   /* outlives the struct, as the texts do */
    const struct network_file *file; /* is saved beside the parameters */
    const char *dir;
    const char *before;  /* the folder that the training began with, NULL: none */
    uint64_t start_pass; /* the number of the first one */
    bool with_tar;
    bool only_one; /* a save that is whole removes the one before it */
};

struct network_saves {
    struct network_saves_config config;
    struct one_writer writer; /* of dir */
    char last[PATH_MAX];      /* "": none that a new one is to remove */
};

/* network_saves_open - makes dir (one level), and looks whether it can be written to; the error has
 * a remedy. -EBUSY: another process saves there; the text names it. Tars that dead processes had
 * begun are removed. With only_one, before is removed as well if it is dir's pass before
 * start_pass. */
int network_saves_open(const struct network_saves_config *config, struct network_saves *ret,
                       struct edl_error *error);

/* network_saves_write - the learner's values; table: whose optimizer's state is saved beside them,
 * NULL: it is elsewhere; inner: of the saves within the pass, from 1 on, 0: at its end */
int network_saves_write(struct network_saves *saves, const struct network_learner *learner,
                        struct table *table, uint64_t pass, uint64_t inner,
                        char ret_path[static PATH_MAX], struct edl_error *error);

/* network_saves_close - another process may save there from now on */
void network_saves_close(struct network_saves *saves);
