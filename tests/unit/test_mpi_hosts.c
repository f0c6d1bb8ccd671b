/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpi_hosts.c - the hosts that mpirun may name */
#include <errno.h>

#include "libedl/edl/edl.h"
#include "mpi/host_table.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/text_format.h"
#include "tests/unit/test.h"

static const uint16_t ports[][1] = { { 7001 }, { 7002 }, { 7003 } };

static const struct edl_peer peers[] = {
    { .index = 0,
      .incarnation = 1,
      .node = "n1",
      .address = "10.0.0.1",
      .ports = ports[0],
      .n_ports = 1 },
    { .index = 1,
      .incarnation = 2,
      .node = "n2",
      .address = "10.0.0.2",
      .ports = ports[1],
      .n_ports = 1 },
    { .index = 2,
      .incarnation = 5,
      .node = "n2",
      .address = "10.0.0.2",
      .ports = ports[2],
      .n_ports = 1 },
};

TEST(test_hosts_are_found_by_each_of_their_names)
{
    static const struct {
        const char *host;
        uint64_t index;
    } cases[] = {
        { "trainer-0", 0 }, { "trainer-2", 2 }, { "n1", 0 },          { "n2", 1 },
        { "10.0.0.2", 1 },  { "n2", 1 },        { "me@10.0.0.1", 0 },
    };
    struct edl_error error = { 0 };
    struct mpi_slot_place place;
    struct mpi_hosts hosts;
    _cleanup_free_ char *text = NULL, *open_mpi = NULL, *mpich = NULL;

    assert_int_equal(mpi_hosts_make("trainer", peers, ELEMENTS(peers), &hosts, &error), 0);
    text = mpi_hosts_write(&hosts);
    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        assert_int_equal(mpi_hosts_find(text, cases[i].host, &place, &error), 0);
        assert_int_equal(place.index, cases[i].index);
        assert_int_equal(place.port, ports[place.index][0]);
        assert_string_equal(place.address, peers[place.index].address);
        assert_int_equal(place.incarnation, peers[place.index].incarnation);
    }
    open_mpi = mpi_hosts_list(&hosts, " slots=", 1);
    assert_string_equal(open_mpi, "trainer-0 slots=1\ntrainer-1 slots=1\ntrainer-2 slots=1\n");
    mpich = mpi_hosts_list(&hosts, ":", 4);
    assert_string_equal(mpich, "trainer-0:4\ntrainer-1:4\ntrainer-2:4\n");
    mpi_hosts_clear(&hosts);
}

/* As a person sees it who wrote another cluster's machines into a file. */
TEST(test_a_stranger_is_told_who_is_there)
{
    struct edl_error error = { 0 };
    struct mpi_slot_place place;
    struct mpi_hosts hosts;
    _cleanup_free_ char *text = NULL;

    assert_int_equal(mpi_hosts_make("trainer", peers, ELEMENTS(peers), &hosts, &error), 0);
    text = mpi_hosts_write(&hosts);
    assert_int_equal(mpi_hosts_find(text, "n9", &place, &error), -ENOENT);
    assert_string_equal(error.text, "n9 is no host of this job: trainer-0, trainer-1, trainer-2, "
                                    "n1, 10.0.0.1, n2, 10.0.0.2");
    assert_non_null(strstr(error.remedy, "-hostfile"));
    mpi_hosts_clear(&hosts);
}

TEST(test_many_hosts_are_listed_in_part)
{
    struct edl_peer *many = xcalloc(MPI_HOSTS_MAX + 1, sizeof *many);
    struct edl_error error = { 0 };
    struct mpi_slot_place place;
    struct mpi_hosts hosts;
    _cleanup_free_ char *text = NULL;

    for (size_t i = 0; i <= MPI_HOSTS_MAX; i++) {
        many[i] = peers[0];
        many[i].index = i;
    }
    assert_int_equal(mpi_hosts_make("trainer", many, MPI_HOSTS_MAX + 1, &hosts, &error), -EINVAL);
    assert_int_equal(mpi_hosts_make("trainer", many, MPI_HOSTS_MAX, &hosts, &error), 0);
    text = mpi_hosts_write(&hosts);
    assert_true(strlen(text) < MPI_HOST_FILE_MAX);
    assert_int_equal(mpi_hosts_find(text, "trainer-1023", &place, &error), 0);
    assert_int_equal(mpi_hosts_find(text, "n9", &place, &error), -ENOENT);
    assert_non_null(strstr(error.text, ", ..."));
    mpi_hosts_clear(&hosts);
    free(many);
}

TEST(test_a_host_without_a_port_is_none)
{
    struct edl_peer peer = peers[0];
    struct edl_error error = { 0 };
    struct mpi_hosts hosts;

    peer.n_ports = 0;
    assert_int_equal(mpi_hosts_make("trainer", &peer, 1, &hosts, &error), -EINVAL);
    assert_string_equal(error.text, "trainer-0 has no port to be told at");
}

TEST(test_a_damaged_table_is_told)
{
    static const char *const texts[] = {
        "trainer-0 10.0.0.1 7001 0\n",     "trainer-0 10.0.0.1 0 0 1\n",
        "trainer-0 10.0.0.1 70001 0 1\n",  "trainer-0 10.0.0.1 7001 x 1\n",
        "trainer-0 10.0.0.1 7001 0 1 2\n", " 10.0.0.1 7001 0 1\n",
    };
    struct mpi_slot_place place;

    for (size_t i = 0; i < ELEMENTS(texts); i++) {
        struct edl_error error = { 0 };

        assert_int_equal(mpi_hosts_find(texts[i], "trainer-0", &place, &error), -EINVAL);
    }
}
