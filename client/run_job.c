/* SPDX-License-Identifier: Apache-2.0 */
/* run_job.c - see run_job.h */
#include "client/run_job.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/json_read.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define COMMENT "paddle_process_by_paddle" /* by which upstream found its processes in ps */

#define AT(member) OPTION_FIELD(struct run_options, member)

static const struct option_row rows[] = {
    { "job_dispatch_package", "DIR", "send this folder to every host, and run in it", option_text,
      AT(package), .letter = 'p' },
    { "job_workspace", "DIR", "run in this folder, which every host has already", option_text,
      AT(workspace), .letter = 'j' },
    { "conf", "FILE",
      "the list of hosts (default: ./conf.py if it is there, else " HOST_LIST_FILE ")", option_text,
      AT(conf) },
    { "job_name", "NAME", "of the job (default: its folder's, in small letters)", option_text,
      AT(name) },
    { "job_trainer", "PROGRAM", "the trainer, words as in a shell (edl-paddle train)", option_text,
      AT(trainer) },
    { "job_pserver", "PROGRAM", "the parameter server (edl-paddle pserver)", option_text,
      AT(pserver) },
    { "job_cpu", "CORES", "of each trainer (half of the smallest host)", option_cores,
      AT(cpu_millicores) },
    { "job_memory", "BYTES", "of each trainer (half of the smallest host)", option_memory,
      AT(memory_bytes) },
};

const struct options_table run_options = OPTION_ROWS(rows);

static int refuse_word(const char *word, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "edl run: \"%.80s\" is no flag", word);
    return edl_error_remedy(error, "write flags for the trainer as --NAME=VALUE");
}

int run_split(int argc, char **argv, char **own, int *ret_n_own, char **flags, size_t *ret_n_flags,
              struct edl_error *error)
{
    struct verb_options options;
    int n_own = 0;
    size_t n_flags = 0;

    options_of(&run_options, "run", &options);
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        bool apart;

        if (options_row_of(&options.table, word, &apart) != NULL) {
            own[n_own++] = argv[i];
            if (apart && i + 1 < argc)
                own[n_own++] = argv[++i];
        } else if (strncmp(word, "--", 2) == 0 && word[2] != '\0') {
            flags[n_flags++] = argv[i];
        } else {
            return refuse_word(word, error);
        }
    }
    *ret_n_own = n_own;
    *ret_n_flags = n_flags;
    return 0;
}

/* A job document is JSON, which is UTF-8. */
static bool is_utf8(const char *text)
{
    json_t *json = json_string(text);
    bool good = json != NULL;

    json_decref(json);
    return good;
}

int run_check_text(const struct run_options *options, char *const *flags, size_t n_flags,
                   struct edl_error *error)
{
    const char *const own[] = { options->workspace, options->name, options->trainer,
                                options->pserver };
    const char *wrong = NULL;
    char shown[100];

    for (size_t i = 0; i < ELEMENTS(own); i++)
        if (own[i] != NULL && !is_utf8(own[i]))
            wrong = own[i];
    for (size_t i = 0; i < n_flags; i++)
        if (!is_utf8(flags[i]))
            wrong = flags[i];
    if (wrong == NULL)
        return 0;
    (void)printable_escape(wrong, shown, sizeof shown);
    (void)edl_error_set(error, -EINVAL, "edl run: \"%s\" is no UTF-8", shown);
    return edl_error_remedy(error, "write it in UTF-8, or rename the file to plain letters");
}

int run_check(const struct run_options *options, struct edl_error *error)
{
    if ((options->package != NULL) == (options->workspace != NULL)) {
        (void)edl_error_set(error, -EINVAL, "edl run: %s",
                            options->package != NULL
                                ? "--job_dispatch_package and --job_workspace are both given"
                                : "neither --job_dispatch_package nor --job_workspace is given");
        return edl_error_remedy(error, "--job_dispatch_package=DIR sends a folder of this machine; "
                                       "--job_workspace=DIR runs in one that every host has");
    }
    if (options->workspace != NULL && options->workspace[0] != '/') {
        (void)edl_error_set(error, -EINVAL, "--job_workspace=%.100s is no absolute path",
                            options->workspace);
        return edl_error_remedy(error, "name the folder as it is called on every host: "
                                       "/home/paddle/JOB20161104171630");
    }
    return 0;
}

char *run_flag_in_copy(const char *flag, const char *folder)
{
    const char *value = strchr(flag, '=');
    size_t size = strlen(folder);

    while (size > 1 && folder[size - 1] == '/')
        size--;
    if (value == NULL || strncmp(value + 1, folder, size) != 0 || size < 2 ||
        (value[1 + size] != '/' && value[1 + size] != '\0'))
        return NULL;
    return text_format("%.*s=.%s", (int)(value - flag), flag, value + 1 + size);
}

/* Is `word` one of the words of `list`? */
static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = list; n > 0 && at != NULL && (at = strstr(at, word)) != NULL; at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

/* "n1" is "n1.example.org" */
static bool same_name(const char *host, const char *node)
{
    size_t n = strcspn(host, "."), m = strcspn(node, ".");

    if (strcasecmp(host, node) == 0)
        return true;
    return (host[n] == '\0' || node[m] == '\0') && n == m && n > 0 &&
           strncasecmp(host, node, n) == 0;
}

/* Is the node's name one of the words? */
static bool has_name(const char *words, const char *node)
{
    char word[NAME_MAX + 1];

    for (const char *at = words; at != NULL && *at != '\0';) {
        size_t n = strcspn(at, " ");

        (void)snprintf(word, sizeof word, "%.*s", (int)MIN_OF(n, sizeof word - 1), at);
        if (same_name(word, node))
            return true;
        at += n + strspn(at + n, " ");
    }
    return false;
}

static const json_t *find_node(const struct host *host, const json_t *nodes, const char *addresses)
{
    const json_t *by_address = NULL;
    size_t i;
    json_t *node;

    json_array_foreach(nodes, i, node)
    {
        const char *address = json_text(node, "address");

        if (same_name(host->name, json_text(node, "name")))
            return node;
        if (streq(host->name, address) || has_word(addresses, address) ||
            has_name(addresses, json_text(node, "name")))
            by_address = node;
    }
    return by_address;
}

int run_find_nodes(const struct host_list *list, const json_t *nodes, char *const *addresses,
                   const json_t **ret, struct edl_error *error)
{
    for (size_t i = 0; i < list->n_hosts; i++) {
        ret[i] = find_node(&list->hosts[i], nodes, addresses != NULL ? addresses[i] : NULL);
        if (ret[i] == NULL) {
            (void)edl_error_set(error, -ENOENT, "%s:%u: the host %s is no node of this cluster",
                                list->file, list->hosts[i].line, list->hosts[i].text);
            return edl_error_remedy(error,
                                    "edl deploy --conf %s; or write the node's name as edl nodes "
                                    "has it",
                                    list->file);
        }
        for (size_t j = 0; j < i; j++)
            if (ret[j] == ret[i]) {
                (void)edl_error_set(error, -EEXIST, "%s:%u: the hosts %s and %s are one node, %s",
                                    list->file, list->hosts[i].line, list->hosts[j].text,
                                    list->hosts[i].text, json_text(ret[i], "name"));
                return edl_error_remedy(error, "take one of them out of HOSTS");
            }
    }
    return 0;
}

char *run_job_folder(const struct run_job *job)
{
    const char *root = job->list->root_dir;

    if (job->options->workspace != NULL)
        return xstrdup(job->options->workspace);
    return root != NULL
               ? text_format("%s%s%s", root, root[strlen(root) - 1] == '/' ? "" : "/", job->folder)
               : NULL;
}

static char *servers_of(const struct run_job *job)
{
    char *all = xstrdup("");

    for (size_t i = 0; i < job->list->n_hosts; i++) {
        char *longer =
            text_format("%s%s%s", all, i > 0 ? "," : "", json_text(job->nodes[i], "address"));

        free(all);
        all = longer;
    }
    return all;
}

/* What servers and trainers have in common, in the order in which paddle.py wrote it. */
static json_t *common_flags(const struct run_job *job)
{
    const struct host_list *list = job->list;
    json_t *flags = json_array();

    (void)json_array_append_new(flags, json_sprintf("--num_gradient_servers=%zu", list->n_hosts));
    if (list->nic != NULL)
        (void)json_array_append_new(flags, json_sprintf("--nics=%s", list->nic));
    (void)json_array_append_new(flags, json_sprintf("--port=%" PRIu32, job->port));
    (void)json_array_append_new(flags, json_sprintf("--ports_num=%" PRIu32, list->ports_num));
    return flags;
}

static json_t *server_flags(const struct run_job *job)
{
    json_t *flags = common_flags(job);

    (void)json_array_append_new(flags, json_sprintf("--ports_num_for_sparse=%" PRIu32,
                                                    job->list->ports_num_for_sparse));
    (void)json_array_append_new(flags, json_string("--comment=" COMMENT));
    return flags;
}

/* The user's flags as they stand, and the number of the trainer last: the script adds that. */
static json_t *trainer_flags(const struct run_job *job)
{
    _cleanup_free_ char *servers = servers_of(job);
    json_t *flags = common_flags(job);

    (void)json_array_append_new(flags, json_string("--comment=" COMMENT));
    (void)json_array_append_new(flags, json_sprintf("--pservers=%s", servers));
    for (size_t i = 0; i < job->n_flags; i++)
        (void)json_array_append_new(flags, json_string(job->flags[i]));
    return flags;
}

/* Runs in the folder of the job on each host, as $1 names its log and $2 the other name of that.
 * Output goes to tee by a pipe whose name is gone before the program begins. So sh waits for the
 * program itself. Then tee has 5 s to write what is left: it ends at once, unless a background
 * child of the program holds the pipe. SIGTERM comes to each process once, and sh has no handler: a
 * child that it has just forked would swallow it there. So sh ends at once, edl-supervisor gives
 * the program its grace, and tee, which does not heed SIGTERM, writes until the program ends. */
static const char script[] =
    "log=$1; other=$2; program=$3; shift 3; pipe=log/.$log.$EDL_INDEX.pipe\n"
    "mkdir -p log && echo \"$EDL_INDEX\" >nodefile && ln -sf \"$log\" \"log/$other\" || exit 66\n"
    "rm -f \"$pipe\" && mkfifo -m 600 \"$pipe\" || exit 66\n"
    "exec 3<>\"$pipe\" 4<\"$pipe\" 5>\"$pipe\" 3>&-\n" /* 3: else the others would wait */
    "rm -f \"$pipe\"\n"
    "[ \"$log\" != train.log ] || set -- \"$@\" \"--trainer_id=$EDL_INDEX\"\n"
    "(trap '' TERM INT HUP; exec tee \"log/$log\" <&4 4<&- 5>&-) &\n"
    "tee=$!\n"
    "(exec >&5 2>&1 4<&- 5>&-\n"
    "  echo \"commandline: $program $*\"\n"
    "  eval \"$program\" '\"$@\"')\n"
    "status=$?\n"
    "exec 4<&- 5>&-\n"
    "(trap 'kill $!; exit 0' TERM; sleep 5 & wait $!; kill -KILL $tee) >/dev/null 2>&1 &\n"
    "while kill -0 $tee 2>/dev/null; do wait $tee; done 2>/dev/null\n"
    "kill $! 2>/dev/null\n"
    "exit $status\n";

static json_t *command_of(const char *log, const char *other, const char *program, json_t *flags)
{
    json_t *command = json_pack("[s,s,s,s,s,s,s]", "sh", "-c", script, "sh", log, other, program);

    (void)json_array_extend(command, flags);
    json_decref(flags);
    return command;
}

/* The least that one of the hosts offers. */
static uint64_t least(const struct run_job *job, const char *key)
{
    uint64_t all = UINT64_MAX;

    for (size_t i = 0; i < job->list->n_hosts; i++) {
        uint64_t one = json_u64(job->nodes[i], key);

        all = MIN_OF(all, one);
    }
    return all;
}

static json_t *amounts(uint64_t cpu_millicores, uint64_t memory_bytes, bool gpu)
{
    json_t *requests =
        json_pack("{s:o,s:o}", "cpu",
                  json_sprintf("%" PRIu64 "m", MAX_OF(cpu_millicores, UINT64_C(1))), "memory",
                  json_sprintf("%" PRIu64, MAX_OF(memory_bytes, UINT64_C(16) << 20)));

    return gpu ? json_pack("{s:o,s:{s:i}}", "requests", requests, "limits", "gpu", 1)
               : json_pack("{s:o}", "requests", requests);
}

static json_t *role_of(const struct run_job *job, json_t *command, json_t *resources)
{
    json_t *nodes = json_array();

    for (size_t i = 0; i < job->list->n_hosts; i++)
        (void)json_array_append_new(nodes, json_string(json_text(job->nodes[i], "name")));
    return json_pack("{s:o,s:o,s:o,s:s,s:I,s:I}", "command", command, "nodes", nodes, "resources",
                     resources, "workspace", job->workspace, "min-instance",
                     (json_int_t)job->list->n_hosts, "max-instance",
                     (json_int_t)job->list->n_hosts);
}

static json_t *pserver_role(const struct run_job *job)
{
    const char *program =
        job->options->pserver != NULL ? job->options->pserver : "edl-paddle pserver";

    json_t *role =
        role_of(job, command_of("server.log", "paddle_pserver2.INFO", program, server_flags(job)),
                amounts(least(job, "cpu_millicores") / 4, least(job, "memory_bytes") / 4, false));

    /* they listen where conf.py says, and the environment of trainers tells these ports */
    (void)json_object_set_new(role, "ports", json_integer(0));
    return role;
}

static json_t *trainer_role(const struct run_job *job)
{
    const struct run_options *options = job->options;
    const char *program = options->trainer != NULL ? options->trainer : "edl-paddle train";
    uint64_t cpu =
        options->cpu_millicores > 0 ? options->cpu_millicores : least(job, "cpu_millicores") / 2;
    uint64_t memory =
        options->memory_bytes > 0 ? options->memory_bytes : least(job, "memory_bytes") / 2;

    return role_of(job, command_of("train.log", "paddle_trainer.INFO", program, trainer_flags(job)),
                   amounts(cpu, memory, job->list->use_gpu));
}

json_t *run_job_document(const struct run_job *job)
{
    const struct host_list *list = job->list;
    _cleanup_free_ char *folder = run_job_folder(job);
    json_t *spec = json_pack("{s:s,s:i,s:I,s:I,s:o,s:o}", "mode", "pserver", "port", (int)job->port,
                             "ports_num", (json_int_t)list->ports_num, "ports_num_for_sparse",
                             (json_int_t)list->ports_num_for_sparse, "pserver", pserver_role(job),
                             "trainer", trainer_role(job));

    if (list->ld_library_path != NULL)
        (void)json_object_set_new(spec, "env",
                                  json_pack("{s:s}", "LD_LIBRARY_PATH", list->ld_library_path));
    if (folder != NULL && job->options->workspace == NULL)
        (void)json_object_set_new(spec, "workspace-folder", json_string(folder));
    return json_pack("{s:{s:s},s:o}", "metadata", "name", job->name, "spec", spec);
}
