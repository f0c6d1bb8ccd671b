/* SPDX-License-Identifier: Apache-2.0 */
/* verb_words.c - see verb_words.h
 *
 * These are words of Slurm, PBS, Grid Engine, Kubernetes and Docker, and those that people guess.
 * The table goes before the nearest spelling: "stop" is one letter from "top" and means another
 * thing. */
#include "client/verb_words.h"

#include <stddef.h>
#include <strings.h>

#include "shared/macro.h"

#define JOBS "edl ps"
#define ENDED_JOBS "edl ps --all (the sums: edl usage)"
#define ONE_JOB "edl show JOB (all jobs: edl ps)"
#define KILL "edl kill JOB"
#define NODES "edl nodes"
#define SUBMIT "edl submit FILE, or edl submit [OPTION]... -- COMMAND..."
#define FOLLOW "edl submit --follow [OPTION]... -- COMMAND..."
#define ALLOCATION "edl shell --cpu 4 --gpu 1 (a command: edl submit --follow -- COMMAND...)"
#define SHELL "edl shell JOB (ssh itself, once: edl ssh-config >> ~/.ssh/config)"
#define PORTS "edl port-forward JOB PORT"
#define OUTPUT "edl logs -f JOB"
#define FILES "edl fetch JOB"
#define WHY "edl why JOB"
#define RESIZE "edl scale JOB MIN:MAX"
#define HOLD "edl scale JOB --priority -1000000 (all others go before it; 0 ends that)"
#define RELEASE "edl scale JOB --priority 0"
#define AGAIN "edl kill JOB, and then edl submit FILE"
#define USAGE "edl usage"
#define LOGIN "edl login"
#define WEB "open https://SERVER:7010/ in a browser, with a token of edl token create"
#define ADMIN_NODE "edl node drain NODE (or cordon, uncordon, remove)"

static const struct {
    const char *word, *type;
} words[] = {
    { "squeue", JOBS },
    { "queue", JOBS },
    { "qstat", JOBS },
    { "bjobs", JOBS },
    { "jobs", JOBS },
    { "list", JOBS },
    { "ls", JOBS },
    { "sacct", ENDED_JOBS },
    { "history", ENDED_JOBS },
    { "status", ONE_JOB },
    { "state", ONE_JOB },
    { "describe", ONE_JOB },
    { "get", ONE_JOB },
    { "info", ONE_JOB },
    { "inspect", ONE_JOB },
    { "job", ONE_JOB },
    { "scontrol", "edl show JOB, edl nodes NODE, edl scale JOB MIN:MAX or edl node drain NODE" },
    { "cancel", KILL },
    { "scancel", KILL },
    { "delete", KILL },
    { "del", KILL },
    { "rm", KILL },
    { "remove", KILL },
    { "stop", KILL },
    { "end", KILL },
    { "abort", KILL },
    { "terminate", KILL },
    { "qdel", KILL },
    { "bkill", KILL },
    { "sinfo", NODES },
    { "pbsnodes", NODES },
    { "qhost", NODES },
    { "bhosts", NODES },
    { "machines", NODES },
    { "partitions", NODES },
    { "gpus", NODES },
    { "sbatch", SUBMIT },
    { "qsub", SUBMIT },
    { "bsub", SUBMIT },
    { "batch", SUBMIT },
    { "create", SUBMIT },
    { "apply", SUBMIT },
    { "start", SUBMIT },
    { "launch", SUBMIT },
    { "new", SUBMIT },
    { "srun", FOLLOW },
    { "salloc", ALLOCATION },
    { "interactive", ALLOCATION },
    { "sattach", "edl attach JOB" },
    { "ssh", SHELL },
    { "sh", SHELL },
    { "bash", SHELL },
    { "enter", SHELL },
    { "console", SHELL },
    { "forward", PORTS },
    { "proxy", PORTS },
    { "tunnel", PORTS },
    { "jupyter", "edl notebook" },
    { "lab", "edl notebook" },
    { "output", OUTPUT },
    { "log", OUTPUT },
    { "tail", OUTPUT },
    { "cat", OUTPUT },
    { "stdout", OUTPUT },
    { "stderr", OUTPUT },
    { "follow", OUTPUT },
    { "download", FILES },
    { "pull", FILES },
    { "files", FILES },
    { "upload", "edl workspace add FOLDER" },
    { "push", "edl workspace add FOLDER" },
    { "reason", WHY },
    { "explain", WHY },
    { "sprio", WHY },
    { "estimate", "edl plan FILE" },
    { "resize", RESIZE },
    { "update", RESIZE },
    { "modify", RESIZE },
    { "edit", RESIZE },
    { "set", RESIZE },
    { "priority", "edl scale JOB --priority N" },
    { "nice", "edl scale JOB --priority N" },
    { "hold", HOLD },
    { "pause", HOLD },
    { "suspend", HOLD },
    { "release", RELEASE },
    { "resume", RELEASE },
    { "requeue", AGAIN },
    { "restart", AGAIN },
    { "rerun", AGAIN },
    { "sreport", USAGE },
    { "sstat", "edl show JOB" },
    { "sshare", USAGE },
    { "account", USAGE },
    { "accounting", USAGE },
    { "sacctmgr", "edl user list, or edl group list" },
    { "users", "edl user list" },
    { "groups", "edl group list" },
    { "tokens", "edl token list" },
    { "drain", ADMIN_NODE },
    { "cordon", ADMIN_NODE },
    { "uncordon", ADMIN_NODE },
    { "join", "edl node add NAME" },
    { "signin", LOGIN },
    { "auth", LOGIN },
    { "web", WEB },
    { "ui", WEB },
    { "dashboard", WEB },
    { "gui", WEB },
    { "watch", "edl top" },
    { "monitor", "edl top" },
    { "env", "edl show JOB --json" },
    { "man", "edl help VERB" },
};

const char *verb_of_word(const char *word)
{
    for (size_t i = 0; i < ELEMENTS(words); i++)
        if (strcasecmp(word, words[i].word) == 0)
            return words[i].type;
    return NULL;
}
