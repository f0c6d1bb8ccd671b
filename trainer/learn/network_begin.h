/* SPDX-License-Identifier: Apache-2.0 */
/* network_begin.h - a training that begins with a saved pass
 *
 * The values are read into the learner, and set where the parameters are kept. With parameter
 * servers trainer 0 alone reads and sets them; the other trainers wait until all servers have them.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "trainer/exchange/exchange.h"

struct edl_error;
struct network;
struct network_learner;
struct network_servers;
struct table;

struct network_begin {
    const struct network *network;
    const char *folder;  /* of the saved pass */
    const char *missing; /* of a parameter that it has no file of: fail, rand, zero */
    struct network_learner *learner;
    bool all_dense; /* where values are kept, as local_sgd_center declares them */
    struct network_servers *servers;
    bool sets;    /* this is trainer 0, which has the folder */
    bool goes_on; /* with the optimizer as well */
    const volatile sig_atomic_t *stop;
};

/* network_begin_read - all parameters into the learner, also those that no exchange carries
 * -EINVAL: it is no saved pass; EDL_ECORRUPT, -ENOENT and so on: a file of it */
int network_begin_read(const struct network_begin *begin, struct edl_error *error);

/* network_begin_set - the learner's values to the place that the exchange knows; fails as it does
 */
int network_begin_set(const struct network_begin *begin, exchange_fn exchange, void *userdata,
                      struct edl_error *error);

/* network_begin_optimizer - the optimizer's state, behind the values; the log says why there is
 * none pass: that was trained last. EDL_ECORRUPT and so on: it is damaged, or cannot be read */
int network_begin_optimizer(const struct network_begin *begin, struct table *table, uint32_t pass,
                            struct edl_error *error);

/* network_begin_servers - the same to servers, unless they have updates: those of a training that
 * goes on
 * EDL_ESTALE: a server began again and the others have updates; -EINVAL: they have the values of
 * another saved pass, which other trainers may have pulled */
int network_begin_servers(const struct network_begin *begin, struct edl_error *error);

/* network_begin_wait - until trainer 0 has set them; the log tells of it now and then
 * -ETIMEDOUT: not in time; -EINTR: told to stop; EDL_ESTALE: as above */
int network_begin_wait(const struct network_begin *begin, uint64_t wait_us,
                       struct edl_error *error);

/* network_begin_again - behind network_servers_again: a server that began again before any update
 * gets the values anew. Trainer 0 reads and sets them, the others wait. The learner's own averages
 * stay; its shared values are to be pulled. Fails as reading, setting and waiting do. */
int network_begin_again(const struct network_begin *begin, uint64_t wait_us,
                        struct edl_error *error);
