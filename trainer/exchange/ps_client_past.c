/* SPDX-License-Identifier: Apache-2.0 */
/* ps_client_past.c - what a trainer of a job has of its servers' values, for one that comes back
 * without them: recovery.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/exchange/ps_client_internal.h"

void ps_client_past_open(struct ps_client *client)
{
    const struct declaration *d = &client->config.declaration;

    client->held = xcalloc(client->config.n_servers, sizeof *client->held);
    for (uint32_t p = 0; client->config.tells_past && p < d->n_params; p++)
        if (d->params[p].sparse)
            client->rows_held[p] = xcalloc(d->params[p].rows, sizeof *client->rows_held[p]);
}

void ps_client_past_close(struct ps_client *client)
{
    for (uint32_t p = 0; p < DECLARATION_PARAMS_MAX; p++)
        free(client->rows_held[p]);
    free(client->held);
}

void ps_client_set_trained(struct ps_client *client, bool trained)
{
    client->trained = trained;
}

/* knows_of_training - of this server. It had no update when another one had the first: then its
 * values are those that are held. */
static bool knows_of_training(const struct ps_client *client, uint32_t server)
{
    const struct wire_past *own = &client->held[server].past;
    bool knows = client->trained;

    if (own->life != 0 && own->holds > 0 && own->updates == 0)
        return knows;

    for (uint32_t s = 0; s < client->config.n_servers; s++)
        knows = knows || client->held[s].past.updates > 0;
    return knows;
}

int ps_client_past_tell(struct ps_client *client, struct edl_error *error)
{
    const uint32_t n = client->config.n_servers;
    _cleanup_free_ uint8_t *replies = xcalloc(n, WIRE_PAST_OK_BYTES);
    int r;

    for (uint32_t s = 0; s < n; s++) {
        struct wire_past past = client->held[s].past;

        past.trained = knows_of_training(client, s);
        (void)wire_past_encode(&past, client->links[s].head + WIRE_HEADER_BYTES);
    }
    r = ps_client_ask_all(client, WIRE_PAST, WIRE_PAST_BYTES, WIRE_PAST_OK, replies,
                          WIRE_PAST_OK_BYTES, error);
    client->awaits = NULL;
    for (uint32_t s = 0; r >= 0 && s < n; s++) {
        struct wire_past_ok ok = { 0 };

        r = wire_past_ok_decode(replies + s * WIRE_PAST_OK_BYTES, WIRE_PAST_OK_BYTES, &ok, error);
        if (r < 0)
            break;
        client->held[s].life = ok.life;
        client->held[s].wish = (enum wire_wish)ok.wish;
        client->packed[s].counts =
            (struct ps_counts){ .updates = ok.updates, .samples = ok.samples };
        if (ok.wish == WISH_WAIT)
            client->awaits = client->links[s].name;
    }
    return r;
}

void ps_client_past_note(struct ps_client *client, const struct exchange *exchange)
{
    for (uint32_t i = 0; i < exchange->n_rows; i++) {
        const struct exchange_rows *rows = &exchange->rows[i];

        for (uint32_t k = 0; client->rows_held[rows->param] != NULL && k < rows->n_pull; k++)
            client->rows_held[rows->param][rows->pull_ids[k]] = true;
    }
    if (exchange->ret_dense == NULL)
        return;
    for (uint32_t s = 0; s < client->config.n_servers; s++)
        client->held[s].past = (struct wire_past){ .life = client->held[s].life,
                                                   .updates = client->packed[s].counts.updates,
                                                   .samples = client->packed[s].counts.samples,
                                                   .holds = 1 };
}

void ps_client_forget(struct ps_client *client)
{
    const struct declaration *d = &client->config.declaration;

    for (uint32_t s = 0; s < client->config.n_servers; s++)
        client->held[s].past.holds = 0;
    for (uint32_t p = 0; p < d->n_params; p++)
        if (client->rows_held[p] != NULL)
            memset(client->rows_held[p], 0, d->params[p].rows * sizeof *client->rows_held[p]);
}

/* ---- giving them back ---- */

static bool asks(const struct ps_held *held)
{
    return held->wish == WISH_VALUES || held->wish == WISH_ROWS;
}

bool ps_client_wished(const struct ps_client *client)
{
    bool wished = false;

    for (uint32_t s = 0; client->connected && s < client->config.n_servers; s++)
        wished = wished || asks(&client->held[s]);
    return wished;
}

/* The rows that were pulled, one after the other; what is allocated is the caller's. */
struct bundle {
    struct exchange_rows rows[DECLARATION_PARAMS_MAX];
    uint32_t *ids[DECLARATION_PARAMS_MAX];
    float *values[DECLARATION_PARAMS_MAX];
    uint32_t n;
};

static void bundle_free(struct bundle *bundle)
{
    for (uint32_t i = 0; i < bundle->n; i++) {
        free(bundle->ids[i]);
        free(bundle->values[i]);
    }
    free(bundle);
}

static bool bundle_add(struct bundle *bundle, const struct ps_client *client, uint32_t p,
                       const float *values)
{
    const struct param_spec *spec = &client->config.declaration.params[p];
    const uint32_t at = bundle->n++;
    uint32_t n = 0;

    bundle->ids[at] = calloc(spec->rows, sizeof(uint32_t));
    bundle->values[at] = calloc((size_t)spec->rows * spec->columns, sizeof(float));
    if (bundle->ids[at] == NULL || bundle->values[at] == NULL)
        return false;
    for (uint32_t row = 0; row < spec->rows; row++) {
        if (!client->rows_held[p][row])
            continue;
        memcpy(bundle->values[at] + (size_t)n * spec->columns, values + (size_t)row * spec->columns,
               spec->columns * sizeof(float));
        bundle->ids[at][n++] = row;
    }
    bundle->rows[at] = (struct exchange_rows){
        .param = p, .n_push = n, .push_ids = bundle->ids[at], .push_rows = bundle->values[at]
    };
    return true;
}

static int send_bundle(struct ps_client *client, const struct bundle *bundle, float *const *values,
                       struct edl_error *error)
{
    struct exchange exchange = { .rows = bundle->rows, .n_rows = bundle->n };
    int r = 0;

    for (uint32_t s = 0; r >= 0 && s < client->config.n_servers; s++) {
        exchange.dense_gradients =
            client->held[s].wish == WISH_VALUES ? (const float *const *)values : NULL;
        if (asks(&client->held[s]))
            r = ps_client_prepare(client, s, &exchange, WIRE_SEED, 0, error);
    }
    if (r >= 0)
        r = ps_links_run(client->links, client->config.n_servers, client->config.timeout_us, NULL,
                         error);
    return r;
}

int ps_client_give(struct ps_client *client, float *const *values, struct edl_error *error)
{
    const struct declaration *d = &client->config.declaration;
    struct bundle *bundle = xcalloc(1, sizeof *bundle);
    int r = 0;

    for (uint32_t p = 0; r >= 0 && p < d->n_params; p++)
        if (client->rows_held[p] != NULL && !bundle_add(bundle, client, p, values[p]))
            r = edl_error_set(error, -ENOMEM, "no memory for the rows that a server asks for");
    if (r >= 0)
        r = send_bundle(client, bundle, values, error);
    bundle_free(bundle);
    if (r < 0) {
        ps_client_disconnect(client);
        return r;
    }
    for (uint32_t s = 0; s < client->config.n_servers; s++) {
        if (asks(&client->held[s]))
            client->held[s].past.life = client->held[s].life;
        client->held[s].wish = WISH_NOTHING;
    }
    return 0;
}
