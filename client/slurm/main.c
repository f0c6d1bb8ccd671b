/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - edl-slurm: sbatch, srun, squeue, scancel, sinfo, salloc, sacct and scontrol
 *
 * Which of them it is follows from the name by which it was called, or from its first word. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "client/slurm/slurm.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/nearest.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} programs[] = {
    { "sbatch", slurm_sbatch }, { "srun", slurm_srun },         { "salloc", slurm_salloc },
    { "squeue", slurm_squeue }, { "scancel", slurm_scancel },   { "sinfo", slurm_sinfo },
    { "sacct", slurm_sacct },   { "scontrol", slurm_scontrol },
};

static int refuse(const char *name)
{
    const char *known[ELEMENTS(programs)], *nearest;
    struct edl_error error = { 0 };

    for (size_t i = 0; i < ELEMENTS(programs); i++)
        known[i] = programs[i].name;
    nearest = nearest_word(name, known, ELEMENTS(known));
    (void)edl_error_set(&error, -EINVAL, "\"%.80s\" is no command of Slurm that it knows", name);
    (void)edl_error_remedy(&error, "edl-slurm %s", nearest != NULL ? nearest : "squeue");
    return slurm_fail("edl-slurm", &error);
}

static int help(void)
{
    (void)printf("usage: edl-slurm COMMAND [OPTION]...\n\nCommands of Slurm over calls of edl:");
    for (size_t i = 0; i < ELEMENTS(programs); i++)
        (void)printf(" %s", programs[i].name);
    (void)printf("\n");
    return 0;
}

int main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : argc > 0 ? argv[0] : "";

    (void)signal(SIGPIPE, SIG_DFL);
    log_init("edl-slurm");
    if (strncmp(name, "edl-slurm", 9) == 0) {
        argv++;
        argc--;
        name = argc > 0 ? argv[0] : "";
    }
    if (streq(name, "--version")) {
        (void)printf("edl-slurm %s\n", EDL_VERSION);
        return 0;
    }
    if (streq(name, "--help"))
        return help();
    for (size_t i = 0; i < ELEMENTS(programs); i++)
        if (streq(name, programs[i].name)) {
            int status = programs[i].run(argc, argv);

            return fflush(stdout) != 0 && status == 0 ? 1 : status;
        }
    return refuse(name);
}
