/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_mpi.c - any bytes as what a slot of edl-mpi is sent, as an order, and as a table of hosts:
 * the first byte says which. Nothing is run that was not proved, and what is accepted is within the
 * bounds of order.h and host_table.h */
#include <stdlib.h>
#include <string.h>

#include "mpi/host_table.h"
#include "mpi/meeting.h"
#include "shared/error.h"
#include "shared/macro.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_order(const struct mpi_order *order)
{
    if (order->end)
        return;
    if (order->command == NULL || order->command[0] == '\0' ||
        strlen(order->command) > MPI_ORDER_COMMAND_MAX || order->n_env > MPI_ORDER_ENV_MAX)
        abort();
    for (size_t i = 0; i < order->n_env; i++)
        if (!mpi_order_takes(order->env[i], strcspn(order->env[i], "=")))
            abort();
}

static void as_order(const uint8_t *data, size_t size)
{
    struct edl_error error = { 0 };
    struct mpi_order order, again;
    char *text = NULL;
    size_t n = 0;

    if (mpi_order_read(data, size, &order, &error) < 0)
        return;
    check_order(&order);
    if (mpi_order_write(&order, &text, &n, &error) < 0 ||
        mpi_order_read(text, n, &again, &error) < 0)
        abort();
    free(text);
    mpi_order_clear(&again);
    mpi_order_clear(&order);
}

/* Without the secret no bytes are an order. */
static void as_caller(const uint8_t *data, size_t size)
{
    struct mpi_meeting meeting = { .job_id = 1, .secret = { 7 } };
    struct edl_error error = { 0 };
    struct mpi_peer peer;
    int r = 0;

    mpi_peer_begin(&peer, &meeting);
    for (size_t piece = 1; r == 0 && size > 0; piece += 13) {
        size_t n = MIN_OF(piece, size);

        r = mpi_peer_take(&peer, data, n, &error);
        data += n;
        size -= n;
        if (peer.n_out > sizeof peer.out)
            abort();
    }
    if (r > 0 || (r < 0 && error.code != r))
        abort();
    mpi_peer_clear(&peer);
}

static void as_table(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    struct edl_error error = { 0 };
    struct mpi_slot_place place;

    if (text == NULL)
        abort();
    if (mpi_hosts_find(text, "trainer-0", &place, &error) == 0 &&
        (place.port == 0 || memchr(place.address, '\0', sizeof place.address) == NULL))
        abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const kinds[])(const uint8_t *data, size_t size) = { as_order, as_caller,
                                                                       as_table };

    if (size > 0)
        kinds[data[0] % ELEMENTS(kinds)](data + 1, size - 1);
    return 0;
}
