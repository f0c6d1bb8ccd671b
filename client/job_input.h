/* SPDX-License-Identifier: Apache-2.0 */
/* job_input.h - the job that a verb is given: a document as it is, or a command made into one
 *
 * A document is sent byte for byte: the scheduler is the only judge of it, so that every client
 * gets the same answer. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "client/job_words.h"
#include "client/options.h"

struct edl_error;
struct invocation;
struct server;

struct job_options {
    const char *name, *workspace, *dataset, *deadline, *expected, *time_limit, *array, *user,
        *shuffle, *mode;
    const char *mail_type, *mail_user, *webhook;
    const char *priority, *nodes, *dependency, *exports, *name_like, *output, *error;
    bool slurm_env, script;
    struct job_tasks tasks;
    uint64_t min, max, cpu_millicores, memory_bytes, gpus, passes, task_records, task_tries;
    bool takes_input;
    struct option_list env, after, selector;
};

/* What a verb's option table has for them: name, argument, help, kind, member, letter */
#define JOB_OPTION_MAP(XX)                                                                         \
    XX("name", "NAME", "of the job, also -n NAME (default: from the command)", option_text, name,  \
       0)                                                                                          \
    XX("ntasks", "N", "so many instances: as --min N --max N, and -n N", option_positive, tasks.n, \
       0)                                                                                          \
    XX("min", "N", "instances to start with (1)", option_positive, min, 0)                         \
    XX("max", "N", "instances at most (as --min)", option_positive, max, 0)                        \
    XX("mode", "MODE", "collective (this one), mpi or service", option_text, mode, 0)              \
    XX("cpu", "CORES", "per instance: 2, 0.5, 200m", option_cores, cpu_millicores, 'c')            \
    XX("memory", "BYTES", "per instance: 64Mi, 1Gi", option_memory, memory_bytes, 0)               \
    XX("gpus", "N", "per instance", option_number, gpus, 0)                                        \
    XX("stdin", NULL, "it reads what `edl attach` types; else it has no input", option_flag,       \
       takes_input, 0)                                                                             \
    XX("selector", "KEY=VALUE", "only on nodes with that label; may be repeated", option_list,     \
       selector, 0)                                                                                \
    XX("nodelist", "NODE,...", "only on these nodes, an instance on each", option_text, nodes, 0)  \
    XX("priority", "N", "order of service while jobs wait (0); higher is sooner", option_text,     \
       priority, 0)                                                                                \
    XX("env", "N=V", "environment of the processes; N: as here; may be repeated", option_list,     \
       env, 'e')                                                                                   \
    XX("workspace", "DIR", "folder to run in, on every node (this one); private: one each",        \
       option_text, workspace, 'w')                                                                \
    XX("dataset", "GLOB", "files of records, given out as tasks", option_text, dataset, 0)         \
    XX("array", "A-B[%N]", "jobs NAME-A to NAME-B, N at once; EDL_ARRAY_INDEX tells which",        \
       option_text, array, 'a')                                                                    \
    XX("after", "JOB", "start when it has succeeded (any:JOB: is over); may be repeated",          \
       option_list, after, 0)                                                                      \
    XX("deadline", "TIME", "killed when not done: 8h, 2026-12-01T18:00:00Z", option_text,          \
       deadline, 0)                                                                                \
    XX("expected", "TIME", "how long you think it takes: 20m, 8h", option_text, expected, 0)       \
    XX("time", "TIME", "killed when it has run for so long: 90m, 8h", option_text, time_limit,     \
       't')                                                                                        \
    XX("mail-type", "TYPE,...", "of what you are told: BEGIN, END, FAIL, REQUEUE, ALL, NONE",      \
       option_text, mail_type, 0)                                                                  \
    XX("mail-user", "ADDRESS,...", "who gets a mail of that (you)", option_text, mail_user, 0)     \
    XX("webhook", "URL", "which URL gets it as JSON", option_text, webhook, 0)                     \
    XX("user", "ACCOUNT", "run as (yours); anybody else: for admins", option_text, user, 0)        \
    XX("passes", "N", "passes over the dataset (its program's, or 1)", option_positive, passes, 0) \
    XX("shuffle", "SEED", "each pass in another order, which follows from the seed", option_text,  \
       shuffle, 0)                                                                                 \
    XX("task-records", "N", "records in a task, at most (as its program likes)", option_positive,  \
       task_records, 0)                                                                            \
    XX("task-tries", "N", "failures or deaths that skip a task (4, 5)", option_positive,           \
       task_tries, 0)                                                                              \
    XX("output", "FILE", "its output goes there, and not to edl logs; %j: the number",             \
       option_text, output, 'o')                                                                   \
    XX("error", "FILE", "the same of its errors", option_text, error, 0)                           \
    XX("name-like", "NAME", "a name of its own that begins so", option_text, name_like, 0)         \
    XX("slurm-env", NULL, "it has variables of Slurm: SLURM_JOB_ID and more", option_flag,         \
       slurm_env, 0)                                                                               \
    XX("script", NULL, "FILE is a script, also without lines of options", option_flag, script, 0)  \
    SLURM_OPTION_MAP(XX)

/* Words of Slurm that mean the same; --help does not list them. */
#define SLURM_OPTION_MAP(XX)                                                                       \
    XX("n", "NAME|N", NULL, option_name_or_tasks, tasks, 'n')                                      \
    XX("job-name", "NAME", NULL, option_text, name, 'J')                                           \
    XX("cpus-per-task", "CORES", NULL, option_cores, cpu_millicores, 0)                            \
    XX("gres", "gpu:N", NULL, option_gres, gpus, 0)                                                \
    XX("gpus-per-task", "N", NULL, option_number, gpus, 0)                                         \
    XX("dependency", "afterok:JOB", NULL, option_text, dependency, 'd')                            \
    XX("chdir", "DIR", NULL, option_text, workspace, 'D')                                          \
    XX("export", "ALL|NAME,...", NULL, option_text, exports, 0)

/* job_options_given - one of them is; they describe a command and do not go with a document */
bool job_options_given(const struct job_options *options);

/* job_read_document - the whole of a file or, for "-", of standard input; *ret: new string.
 * -EINVAL (also a program: the remedy is how to submit it), -E2BIG over JOB_DOCUMENT_MAX_BYTES.
 * path: one of the invocation's arguments */
int job_read_document(const struct invocation *invocation, const char *path, char **ret,
                      size_t *ret_size, struct edl_error *error);

/* job_from_command - the document of a command, for that server; *ret, *ret_workspace: new strings
 * Without a workspace it is the current folder, or private where that is root's alone and jobs are
 * not: a note tells. Asks the server nothing. */
int job_from_command(struct server *server, const struct job_options *options,
                     const struct option_words *arguments, char **ret, char **ret_workspace,
                     struct edl_error *error);

/* job_send - POST of a document to a path; prints a failure. *ret: new reference on STATUS_OK
 * file: from which it came (report_answer_on), NULL when the command line made it */
int job_send(struct server *server, const char *path, const char *file, const char *text,
             size_t size, json_t **ret);

/* job_note_workspace - a folder of this machine, where the job may run on others: they have to have
 * it too. Better told at once than by what becomes of the job, but behind its submission: of a
 * server that dies in between nothing is lost then. Whether there are others: job_folder.h.
 * workspace: NULL, of a document, which says where it runs */
void job_note_workspace(struct server *server, const struct job_options *options,
                        const char *workspace);

/* job_note_virtual_env - an active virtual environment of Python that the command looks as if it
 * needs, and that the job does not see: its PATH is its node's
 * upload: the folder that is sent, whose copy may hold the environment; NULL: none */
void job_note_virtual_env(const struct server *server, const struct job_options *options,
                          const struct option_words *arguments, const char *upload);

/* job_note_ignored - tells the keys that the server ignored, on stderr */
void job_note_ignored(const json_t *answer);
