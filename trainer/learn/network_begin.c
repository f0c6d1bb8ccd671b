/* SPDX-License-Identifier: Apache-2.0 */
/* network_begin.c - a training that begins with a saved pass */
#include "trainer/learn/network_begin.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "trainer/parameters/declaration.h"
#include "trainer/model/network_read.h"
#include "trainer/network/network.h"
#include "trainer/learn/network_learner.h"
#include "trainer/exchange/network_servers.h"
#include "trainer/model/optimizer_state.h"
#include "trainer/exchange/ps_client.h"
#include "trainer/exchange/servers_wait.h"

/* ---- reading ---- */

/* read_params - shared_only: those that an exchange carries */
static int read_params(const struct network_begin *begin, bool shared_only, struct edl_error *error)
{
    const struct network_read read = { .network = begin->network,
                                       .path = begin->folder,
                                       .missing = begin->missing,
                                       .shared_only = shared_only };

    network_learner_start_values(begin->learner, shared_only);
    return network_read(&read, network_learner_values(begin->learner), error);
}

int network_begin_read(const struct network_begin *begin, struct edl_error *error)
{
    return read_params(begin, false, error);
}

/* ---- setting ---- */

/* The contents of one exchange, by the numbers that the parameters are declared with. */
struct parcel {
    const float *dense[DECLARATION_PARAMS_MAX];
    struct exchange_rows rows[DECLARATION_PARAMS_MAX];
    uint32_t n_declared, n_rows;
    uint32_t *ids; /* owned; 0, 1, ...: as many as the largest table has rows */
};

static void make_ids(const struct network *network, struct parcel *parcel)
{
    uint32_t n = 1;

    for (uint32_t p = 0; p < network->n_params; p++)
        n = MAX_OF(n, network->params[p].spec.rows);
    parcel->ids = xcalloc(n, sizeof *parcel->ids);
    for (uint32_t i = 0; i < n; i++)
        parcel->ids[i] = i;
}

static void pack(const struct network_begin *begin, struct parcel *parcel)
{
    float *const *values = network_learner_values(begin->learner);

    make_ids(begin->network, parcel);
    for (uint32_t p = 0; p < begin->network->n_params; p++) {
        const struct param_spec *spec = &begin->network->params[p].spec;

        if (begin->network->params[p].is_static)
            continue;
        if (spec->sparse && !begin->all_dense)
            parcel->rows[parcel->n_rows++] = (struct exchange_rows){ .param = parcel->n_declared,
                                                                     .n_push = spec->rows,
                                                                     .push_ids = parcel->ids,
                                                                     .push_rows = values[p] };
        parcel->dense[parcel->n_declared++] = values[p];
    }
}

int network_begin_set(const struct network_begin *begin, exchange_fn exchange, void *userdata,
                      struct edl_error *error)
{
    struct parcel *parcel = xcalloc(1, sizeof *parcel);
    struct exchange set = { .set = true, .dense_gradients = parcel->dense, .rows = parcel->rows };
    int r;

    pack(begin, parcel);
    set.n_rows = parcel->n_rows;
    r = exchange(userdata, &set, error);
    free(parcel->ids);
    free(parcel);
    return r;
}

int network_begin_optimizer(const struct network_begin *begin, struct table *table, uint32_t pass,
                            struct edl_error *error)
{
    struct edl_error why = { 0 };
    uint64_t steps;
    int r = optimizer_state_read(begin->folder, begin->network,
                                 network_learner_values(begin->learner), pass, table, &steps, &why);

    if (r > 0)
        network_learner_set_steps(begin->learner, steps);
    else if (r == 0)
        log_warning("%s: the optimizer begins anew, and the training is not that of one that never "
                    "ended",
                    why.text);
    else
        *error = why;
    return MIN_OF(r, 0);
}

static int come_back(const struct network_begin *begin, struct edl_error *error)
{
    log_warning("%s; connecting again", error->text);
    return network_servers_again(begin->servers, error);
}

/* mixed - a server began again while the others have been trained */
static int mixed(const struct ps_client *client, struct edl_error *error)
{
    (void)edl_error_set(error, EDL_ESTALE,
                        "%s was started again and has no values, and another one has %" PRIu64
                        " update%s",
                        ps_client_awaits(client), ps_client_most_updates(client),
                        PLURAL(ps_client_most_updates(client)));
    return edl_error_remedy(error, "restart all servers and trainers, behind the last saved pass: "
                                   "--start_pass");
}

/* Servers take values again as long as they have no updates, and only the same ones. If another
 * trainer pushes meanwhile, all had values. */
int network_begin_servers(const struct network_begin *begin, struct edl_error *error)
{
    struct ps_client *client = network_servers_client(begin->servers);
    int r = 0;

    while (r >= 0) {
        if (ps_client_most_updates(client) > 0)
            return ps_client_awaits(client) != NULL ? mixed(client, error) : 0;
        r = network_begin_set(begin, ps_client_exchange, client, error);
        if (r >= 0 && begin->goes_on)
            log_warning("the parameter servers had the optimizer's state, and no saved pass has "
                        "it: the optimizer begins anew");
        if (r >= 0 || (r != -EALREADY && !network_servers_may_come_back(r)))
            return r;
        r = come_back(begin, error);
    }
    return r;
}

/* ---- waiting ---- */

static int too_late(uint64_t wait_us, struct edl_error *error)
{
    (void)edl_error_set(error, -ETIMEDOUT,
                        "trainer 0 has not set the values of its saved model (waited %" PRIu64
                        " s)",
                        wait_us / USEC_PER_SEC);
    return edl_error_remedy(error,
                            "start the trainer with --trainer_id=0 too, with the same "
                            "--init_model_path or --start_pass; its log tells what is wrong");
}

struct look {
    const struct network_begin *begin;
    bool again;     /* the first one takes what the servers said when we connected */
    bool has_begun; /* the last one has seen updates */
};

/* One look asks the servers one after the other, and training may begin meanwhile. So a server that
 * has no values counts as one that began again only when the look before has seen updates. */
static int look_once(void *userdata, struct edl_error *error)
{
    struct look *look = userdata;
    struct ps_client *client = network_servers_client(look->begin->servers);
    int r = look->again ? ps_client_look(client, error) : 0;

    look->again = true;
    if (network_servers_may_come_back(r))
        r = come_back(look->begin, error);
    if (r < 0 || ps_client_awaits(client) == NULL)
        return r;
    if (look->has_begun)
        return mixed(client, error);
    look->has_begun = ps_client_most_updates(client) > 0;
    return edl_error_set(error, -EINPROGRESS, "%s has none", ps_client_awaits(client));
}

static bool has_none(int code)
{
    return code == -EINPROGRESS;
}

int network_begin_wait(const struct network_begin *begin, uint64_t wait_us, struct edl_error *error)
{
    struct look looked = { .begin = begin };
    const struct servers_wait wait = { .attempt = look_once,
                                       .may_come = has_none,
                                       .userdata = &looked,
                                       .what = "trainer 0 to set the values of its saved model",
                                       .wait_us = wait_us,
                                       .stop = begin->stop };
    bool late;
    int r = servers_wait(&wait, &late, error);

    return late ? too_late(wait_us, error) : r;
}

/* ---- again ---- */

int network_begin_again(const struct network_begin *begin, uint64_t wait_us,
                        struct edl_error *error)
{
    int r;

    if (ps_client_awaits(network_servers_client(begin->servers)) == NULL)
        return 0;
    if (!begin->sets)
        return network_begin_wait(begin, wait_us, error);
    r = read_params(begin, true, error);
    return r < 0 ? r : network_begin_servers(begin, error);
}
