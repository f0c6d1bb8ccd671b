/* SPDX-License-Identifier: Apache-2.0 */
/* prober.c - program edl-prober: asks the machine what may take its time to answer
 *
 * A file system of the network that hangs, a driver that wakes its device: a program that asks such
 * things waits. The agent must not, so it has this process ask, and kills it when it does not come
 * back. For each line or message on standard input it writes one document to standard output. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/machine/machine.h"
#include "agent/machine/nvml.h"
#include "agent/machine/usage_question.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/journal.h"
#include "shared/json_text.h"
#include "shared/log.h"
#include "shared/macro.h"

/* gpus - NULL when there is no library; false when it broke */
static bool gpus(struct nvml *nvml, json_t **ret)
{
    struct edl_error error = { 0 };

    *ret = NULL;
    if (nvml == NULL || nvml_gpus(nvml, ret, &error) == 0)
        return true;
    (void)log_failure(&error, "GPUs");
    return false;
}

/* say - one write: over a socket of the agent's kind that is one message */
static int say(json_t *take_json)
{
    _cleanup_free_ char *text = json_to_text(take_json, NULL);
    struct iovec parts[] = { { .iov_base = text }, { .iov_base = (char[]){ '\n' }, .iov_len = 1 } };

    json_decref(take_json);
    if (text == NULL)
        return -EINVAL;
    parts[0].iov_len = strlen(text);
    return writev(STDOUT_FILENO, parts, ELEMENTS(parts)) == -1 ? -errno : 0;
}

static int answer(const struct machine_disk *disks, size_t n, json_t *take_gpus,
                  json_t *take_versions)
{
    return say(json_pack("{s:o,s:o,s:o*,s:o*}", "nics", machine_nics(""), "disks",
                         machine_disks(disks, n), "gpus", take_gpus, "gpu_versions",
                         take_versions));
}

/* tell_usage - for each message until there are no more */
static int tell_usage(const char *node)
{
    _cleanup_free_ char *text = xcalloc(1, USAGE_QUESTION_MAX);
    ssize_t n;

    if (node != NULL)
        log_node(node);
    while ((n = read(STDIN_FILENO, text, USAGE_QUESTION_MAX)) > 0) {
        json_t *question = json_loadb(text, (size_t)n, 0, NULL);
        int r = say(usage_answer(question));

        json_decref(question);
        if (r < 0)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct machine_disk disks[] = { { "state", NULL }, { "output", NULL } };
    struct edl_error error = { 0 };
    struct nvml *nvml;
    json_t *told;
    char request[64];
    bool wants_versions = argc > 1 && streq(argv[1], "--versions");

    log_init("edl-prober");
    journal_open();
    if (argc == 2 && streq(argv[1], "--version")) {
        (void)printf("edl-prober %s\n", EDL_VERSION);
        return 0;
    }
    if (argc > 1 && argc < 4 && streq(argv[1], "--usage"))
        return tell_usage(argv[2]);
    if (wants_versions) {
        argc--;
        argv++;
    }
    if (argc < 3 || argc > 4 || argv[1][0] == '-') {
        (void)fprintf(
            stderr,
            "Usage: edl-prober [--versions] STATE_DIR OUTPUT_DIR [NODE]\n"
            "       edl-prober --usage [NODE]\n"
            "Tells edl-agent of disks, network interfaces and GPUs, once for each line, or what "
            "processes use that each message names.\n");
        return argc == 2 && streq(argv[1], "--help") ? 0 : 2;
    }
    if (argc == 4)
        log_node(argv[3]);
    disks[0].path = argv[1];
    disks[1].path = argv[2];
    if (nvml_open(getenv("EDL_NVML_LIBRARY"), &nvml, &error) < 0)
        (void)log_failure(&error, "GPUs are not seen");
    while (read(STDIN_FILENO, request, sizeof request) > 0)
        if (!gpus(nvml, &told) ||
            answer(disks, ELEMENTS(disks), told,
                   wants_versions && nvml != NULL ? nvml_versions(nvml) : NULL) < 0)
            return 1;
    return 0;
}
