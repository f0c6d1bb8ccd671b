/* SPDX-License-Identifier: Apache-2.0 */
/* test_servers_again.c - servers that a person has started: a trainer's words when one is started
 * again, or is of somebody else */
#include "tests/unit/test.h"
#include "tests/unit/trainer_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/hex.h"
#include "trainer/exchange/network_servers.h"
#include "shared/cleanup.h"

static char folder[256], secret[300], list[32];
static struct test_server server;

static int set_up(void **state)
{
    (void)state;
    folder_make(folder, sizeof folder);
    (void)snprintf(secret, sizeof secret, "%s/secret", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(folder);
    return 0;
}

TEST_EACH(set_up, tear_down);

static void write_secret(const char *bytes)
{
    char digits[2 * JOB_SECRET_BYTES + 1];
    int fd = open(secret, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    hex_encode((const uint8_t *)bytes, JOB_SECRET_BYTES, digits);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, digits, sizeof digits - 1), sizeof digits - 1);
    assert_int_equal(safe_close(fd), -1);
}

static struct declaration declare(void)
{
    struct declaration d = { .seed = 5, .n_params = 1 };

    d.optimizer = optimizer_default(OPTIMIZER_MOMENTUM);
    d.params[0] =
        (struct param_spec){ "weight", 3, 1, .initial = PARAM_CONSTANT, .learning_rate = 1 };
    return d;
}

static void start(const char *checkpoint, uint16_t port)
{
    const struct pserver_config config = { .job_id = TEST_JOB,
                                           .incarnation = 1,
                                           .checkpoint_path = checkpoint,
                                           .checkpoint_period_us = 60 * USEC_PER_SEC };

    server_start_at(&server, config, port);
    (void)snprintf(list, sizeof list, "127.0.0.1:%u", server.port);
}

static int connect_to(struct network_servers **ret, struct edl_error *error)
{
    const struct network_servers_config config = {
        .list = list, .secret_file = secret, .job_id = TEST_JOB, .wait_us = 120 * USEC_PER_SEC
    };
    const struct declaration d = declare();

    return network_servers_open(&config, &d, ret, error);
}

static struct network_servers *open_pushed(void)
{
    const struct exchange push = { .push = true, .samples = 1 };
    struct network_servers *servers = NULL;
    struct edl_error error = { 0 };

    write_secret(TEST_SECRET);
    if (connect_to(&servers, &error) < 0)
        fail_msg("%s", error.text);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ps_client_exchange(network_servers_client(servers), &push, NULL), 0);
    return servers;
}

TEST(test_parameters_that_are_lost)
{
    struct network_servers *servers;
    struct edl_error error = { 0 };

    start(NULL, 0);
    servers = open_pushed();
    server_kill(&server);
    start(NULL, server.port);
    assert_int_equal(network_servers_again(servers, &error), EDL_ESTALE);
    assert_non_null(strstr(error.text, list));
    assert_non_null(strstr(error.text, "lost its parameters"));
    assert_non_null(strstr(error.remedy, "--start_pass"));
    (void)network_servers_free(servers);
    assert_int_equal(server_stop(&server), 0);
}

/* A checkpoint may be some batches old; training goes on from it. */
TEST(test_a_checkpoint_that_is_older)
{
    const struct exchange push = { .push = true, .samples = 1 };
    struct network_servers *servers;
    struct edl_error error = { 0 };
    char path[300];

    (void)snprintf(path, sizeof path, "%s/pserver-0.ckpt", folder);
    start(path, 0);
    servers = open_pushed();
    assert_int_equal(server_stop(&server), 0);
    start(path, server.port);
    assert_int_equal(network_servers_again(servers, &error), 0);
    assert_int_equal(ps_client_updates(network_servers_client(servers)), 2);
    assert_int_equal(ps_client_exchange(network_servers_client(servers), &push, NULL), 0);
    server_kill(&server); /* the third push is in no checkpoint */
    start(path, server.port);
    assert_int_equal(network_servers_again(servers, &error), 0);
    assert_int_equal(ps_client_updates(network_servers_client(servers)), 2);
    (void)network_servers_free(servers);
    assert_int_equal(server_stop(&server), 0);
}

/* It is told at once: waiting mends nothing. */
TEST(test_another_secret)
{
    struct network_servers *servers = NULL;
    struct edl_error error = { 0 };

    start(NULL, 0);
    write_secret("another one: this has 32 bytes..");
    assert_int_equal(connect_to(&servers, &error), -EACCES);
    assert_non_null(strstr(error.text, "its secret is another one"));
    assert_non_null(strstr(error.text, list));
    assert_non_null(strstr(error.remedy, "paddle-secret"));
    assert_int_equal(server_stop(&server), 0);
}
