/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpi_order.c - orders to a slot: as they are written they are read, and nothing else is */
#include <errno.h>

#include "mpi/order.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/text_format.h"
#include "tests/unit/test.h"

TEST(test_an_order_is_read_as_it_was_written)
{
    char command[] = "orted -mca ess \"env\"", plm[] = "OMPI_MCA_plm=rsh", empty[] = "HYDRA_X=";
    char *env[] = { plm, empty };
    const struct mpi_order orders[] = {
        { .command = command, .env = env, .n_env = 2 },
        { .command = command },
        { .end = true, .status = 7 },
    };

    for (size_t i = 0; i < ELEMENTS(orders); i++) {
        struct edl_error error = { 0 };
        _cleanup_free_ char *text = NULL;
        struct mpi_order order;
        size_t n = 0;

        assert_int_equal(mpi_order_write(&orders[i], &text, &n, &error), 0);
        assert_int_equal(mpi_order_read(text, n, &order, &error), 0);
        assert_int_equal(order.end, orders[i].end);
        assert_int_equal(order.status, orders[i].status);
        assert_int_equal(order.n_env, orders[i].n_env);
        if (orders[i].command != NULL)
            assert_string_equal(order.command, command);
        for (size_t j = 0; j < order.n_env; j++)
            assert_true(streq(order.env[j], plm) || streq(order.env[j], empty));
        mpi_order_clear(&order);
    }
}

TEST(test_what_is_no_order_is_refused)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "", "no JSON" },
        { "{}", "{command, env}" },
        { "[]", "{command, env}" },
        { "{\"end\":256}", "0 to 255" },
        { "{\"end\":-1}", "0 to 255" },
        { "{\"end\":true}", "0 to 255" },
        { "{\"end\":0,\"command\":\"x\"}", "{command, env}" },
        { "{\"command\":\"\",\"env\":{}}", "command is no text" },
        { "{\"command\":7,\"env\":{}}", "command is no text" },
        { "{\"command\":\"x\"}", "{command, env}" },
        { "{\"command\":\"x\",\"env\":[]}", "no object" },
        { "{\"command\":\"x\",\"env\":{\"OMPI_MCA_x\":1}}", "no variable" },
        { "{\"command\":\"x\",\"env\":{\"LD_PRELOAD\":\"evil.so\"}}", "LD_PRELOAD" },
        { "{\"command\":\"x\",\"env\":{\"OMPI_MCA_\":\"x\"}}", "no variable" },
        { "{\"command\":\"x\",\"env\":{\"HYDRA_A=B\":\"x\"}}", "no variable" },
        { "{\"command\":\"x\",\"command\":\"y\",\"env\":{}}", "no JSON" },
        { "{\"command\":\"x\\u0000y\",\"env\":{}}", "no JSON" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct edl_error error = { 0 };
        struct mpi_order order;

        assert_int_equal(mpi_order_read(cases[i].text, strlen(cases[i].text), &order, &error),
                         -EINVAL);
        assert_non_null(strstr(error.text, cases[i].says));
    }
}

TEST(test_orders_are_bounded)
{
    struct edl_error error = { 0 };
    _cleanup_free_ char *command = xcalloc(1, MPI_ORDER_COMMAND_MAX + 2);
    _cleanup_free_ char *text = NULL, *most = NULL;
    struct mpi_order order = { .command = command };
    size_t n = 0;

    memset(command, 'x', MPI_ORDER_COMMAND_MAX + 1);
    assert_int_equal(mpi_order_write(&order, &text, &n, &error), -E2BIG);
    text = text_format("{\"command\":\"%s\",\"env\":{}}", command);
    assert_int_equal(mpi_order_read(text, strlen(text), &order, &error), -EINVAL);
    most = xcalloc(1, MPI_ORDER_BYTES_MAX + 1);
    assert_int_equal(mpi_order_read(most, MPI_ORDER_BYTES_MAX + 1, &order, &error), -E2BIG);
    command[MPI_ORDER_COMMAND_MAX] = '\0';
    command[7] = (char)0xff;
    order = (struct mpi_order){ .command = command };
    assert_int_equal(mpi_order_write(&order, &most, &n, &error), -EINVAL);
}
