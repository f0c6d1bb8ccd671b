/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - the environment by which Open MPI and MPICH reach the slots of a job */
#include "mpi/settings.h"

#include <stddef.h>

#include "shared/macro.h"

#define AT(member) offsetof(struct mpi_place, member)

struct setting {
    const char *name, *value; /* value: NULL, of the place: */
    size_t offset;
    bool always; /* else what the job's environment says counts */
};

static const struct setting settings[] = {
    { .name = "EDL_MPI_HOSTS", .offset = AT(hosts), .always = true },
    { .name = "OMPI_MCA_plm", .value = "rsh", .always = true },
    { .name = "OMPI_MCA_plm_rsh_agent", .offset = AT(rsh), .always = true },
    { .name = "OMPI_MCA_plm_rsh_no_tree_spawn", .value = "1", .always = true },
    { .name = "OMPI_MCA_orte_leave_session_attached", .value = "1", .always = true },
    { .name = "OMPI_MCA_orte_keep_fqdn_hostnames", .value = "1" },
    { .name = "OMPI_MCA_orte_default_hostfile", .offset = AT(open_mpi) },
    { .name = "OMPI_MCA_ras", .value = "^slurm" },
    { .name = "OMPI_MCA_ess", .value = "^slurm" },
    { .name = "OMPI_MCA_rmaps_base_mapping_policy", .value = "node" },
    { .name = "OMPI_MCA_rmaps_base_oversubscribe", .value = "1" },
    { .name = "OMPI_MCA_hwloc_base_binding_policy", .value = "none" },
    { .name = "OMPI_MCA_oob_tcp_if_include", .offset = AT(interface) },
    { .name = "OMPI_MCA_btl_tcp_if_include", .offset = AT(interface) },
    { .name = "HYDRA_IFACE", .offset = AT(interface) },
    { .name = "HYDRA_LAUNCHER", .value = "ssh", .always = true },
    { .name = "HYDRA_LAUNCHER_EXEC", .offset = AT(rsh), .always = true },
    { .name = "HYDRA_HOST_FILE", .offset = AT(mpich) },
    { .name = "HYDRA_ENV", .value = "none" },
};

static const char *value_of(const struct setting *setting, const struct mpi_place *place)
{
    const char *value = setting->value != NULL
                            ? setting->value
                            : *(const char *const *)((const char *)place + setting->offset);

    if (value == NULL || *value == '\0' || (!setting->always && getenv(setting->name) != NULL))
        return NULL;
    return value;
}

void mpi_settings_command(const struct mpi_place *place)
{
    for (size_t i = 0; i < ELEMENTS(settings); i++)
        if (value_of(&settings[i], place) != NULL)
            (void)setenv(settings[i].name, value_of(&settings[i], place), 1);
    if (!place->root)
        return;
    (void)setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    (void)setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
}

void mpi_settings_forget(void)
{
    static const char *const names[] = {
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "NODE_RANK",
        "GROUP_RANK",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
        "OMPI_COMM_WORLD_NODE_RANK",
    };

    for (size_t i = 0; i < ELEMENTS(names); i++)
        (void)unsetenv(names[i]);
}
