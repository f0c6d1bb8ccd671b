/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpi_settings.c - the environment of mpirun: our variables, those of the job, those that go
 */
#include "mpi/settings.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static const struct mpi_place place = { .rsh = "/usr/bin/edl-mpi-rsh",
                                        .hosts = "/tmp/mine/hosts",
                                        .open_mpi = "/tmp/mine/hostfile",
                                        .mpich = "/tmp/mine/hostfile.mpich",
                                        .interface = "eth1" };

/* Nodes whose interfaces have different names are told none. */
TEST(test_an_interface_that_is_not_known_is_not_said)
{
    struct mpi_place unknown = place;

    unknown.interface = NULL;
    mpi_settings_command(&unknown);
    assert_null(getenv("HYDRA_IFACE"));
    mpi_settings_command(&place);
    assert_string_equal(getenv("HYDRA_IFACE"), "eth1");
}

TEST(test_a_job_may_set_up_its_mpi_but_not_how_slots_are_reached)
{
    assert_int_equal(setenv("OMPI_MCA_btl_tcp_if_include", "ib0", 1), 0);
    assert_int_equal(setenv("OMPI_MCA_rmaps_base_mapping_policy", "slot", 1), 0);
    assert_int_equal(setenv("OMPI_MCA_plm_rsh_agent", "ssh", 1), 0);
    mpi_settings_command(&place);
    assert_string_equal(getenv("OMPI_MCA_btl_tcp_if_include"), "ib0");
    assert_string_equal(getenv("OMPI_MCA_rmaps_base_mapping_policy"), "slot");
    assert_string_equal(getenv("OMPI_MCA_plm_rsh_agent"), place.rsh);
    assert_string_equal(getenv("HYDRA_LAUNCHER_EXEC"), place.rsh);
    assert_string_equal(getenv("HYDRA_HOST_FILE"), place.mpich);
    assert_string_equal(getenv("EDL_MPI_HOSTS"), place.hosts);
    assert_null(getenv("OMPI_ALLOW_RUN_AS_ROOT"));
}

/* RANK of an instance is that of none of its ranks. */
TEST(test_the_world_of_the_instances_is_forgotten)
{
    assert_int_equal(setenv("RANK", "1", 1), 0);
    assert_int_equal(setenv("OMPI_COMM_WORLD_SIZE", "3", 1), 0);
    assert_int_equal(setenv("EDL_INDEX", "1", 1), 0);
    mpi_settings_forget();
    assert_null(getenv("RANK"));
    assert_null(getenv("OMPI_COMM_WORLD_SIZE"));
    assert_string_equal(getenv("EDL_INDEX"), "1");
}
