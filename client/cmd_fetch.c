/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fetch.c - `edl fetch`: files that processes of a job wrote, from their nodes to this machine
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "client/fetch_job.h"
#include "client/job_array.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

struct fetch_options {
    struct common_options common;
    const char *folder;
    const char *role;
    const char *index;
    bool list;
    bool replace;
};

static const struct option_row fetch_options[] = {
    { "output", "DIR", "where they go; default: a folder with the job's name", option_text,
      OPTION_FIELD(struct fetch_options, folder), .letter = 'o' },
    { "role", "ROLE", "only of this role", option_text, OPTION_FIELD(struct fetch_options, role),
      .letter = 'r' },
    { "index", "I", "only of this process of each role", option_text,
      OPTION_FIELD(struct fetch_options, index), .letter = 'i' },
    { "list", NULL, "tell what there is and fetch nothing", option_flag,
      OPTION_FIELD(struct fetch_options, list), .letter = 'l' },
    { "replace", NULL, "also files that edl fetch did not put there, or that were changed since",
      option_flag, OPTION_FIELD(struct fetch_options, replace) },
    { "force", NULL, "the same", option_flag, OPTION_FIELD(struct fetch_options, replace) },
};

/* fetch_array - each of its jobs into a folder of its name */
static int fetch_array(const struct fetch_wish *wish, const char *name, const char *folder,
                       const json_t *jobs)
{
    _cleanup_json_ json_t *answers = json_array();
    struct edl_error error = { 0 };
    int status = STATUS_OK, one;
    uint64_t found = 0;
    size_t i;
    json_t *job;

    if (!wish->list && mkdir(folder, 0777) == -1 && errno != EEXIST) {
        (void)edl_error_errno(&error, -errno, "cannot make the folder %.200s", folder);
        return report_error(&error);
    }
    json_array_foreach(jobs, i, job)
    {
        const char *member = json_text(job, "name");
        _cleanup_free_ char *root = text_format("%s/%s", folder, member);
        _cleanup_free_ char *id = text_format("%" PRIu64, json_u64(job, "id"));

        one = fetch_job(wish, id, root, member, answers, &found);
        status = one != STATUS_OK ? one : status;
    }
    if (wish->json) {
        json_t *answer = json_pack("{s:s,s:O}", "array", name, "jobs", answers);

        json_print(answer);
        json_decref(answer);
    }
    if (status != STATUS_OK || found > 0)
        return status;
    (void)edl_error_set(&error, -ENOENT, "no job of array %.80s has such a file", name);
    (void)edl_error_remedy(&error, "`edl fetch --list %.80s '*'` lists all of them", name);
    return report_error(&error);
}

static int fetch(const struct fetch_wish *wish, const char *name, const char *folder)
{
    _cleanup_json_ json_t *jobs = NULL;
    uint64_t found = 0;
    int status = array_find(wish->server, name, &jobs);

    if (status != STATUS_OK)
        return status;
    return jobs != NULL ? fetch_array(wish, name, folder, jobs)
                        : fetch_job(wish, name, folder, NULL, NULL, &found);
}

static int run(const struct invocation *invocation)
{
    const struct fetch_options *options = invocation->options;
    const struct option_words *arguments = &invocation->arguments;
    const char *name = arguments->args[0];
    struct fetch_wish wish = { .pattern = arguments->n_args > 1 ? arguments->args[1] : "",
                               .role = options->role,
                               .index = UINT64_MAX,
                               .list = options->list,
                               .replace = options->replace,
                               .named = options->folder != NULL,
                               .json = options->common.json };
    struct edl_error error = { 0 };
    struct server server;
    int status;

    if (options->index != NULL && parse_u64(options->index, &wish.index) < 0) {
        (void)edl_error_set(&error, -EINVAL, "--index: \"%s\" is no process number",
                            options->index);
        return report_error(&error);
    }
    status = server_open(&options->common, &server);
    if (status != STATUS_OK)
        return status;
    wish.server = &server;
    status = fetch(&wish, name, wish.named ? options->folder : name);
    server_clear(&server);
    return status;
}

const struct verb verb_fetch = {
    .name = "fetch",
    .usage = "JOB|ARRAY [PATTERN] [-o DIR] [--role ROLE] [--index I] [--list] [--replace]",
    .summary =
        "Fetch files that a job's processes wrote, from their nodes, while it runs and after",
    .details =
        "Without PATTERN: the files that the job wrote or changed below the folder that its\n"
        "processes start in, and in $EDL_OUTPUT_DIR. With it: all that match, 'output/pass-*'\n"
        "for instance; a folder that matches stands for all in it, and EDL_OUTPUT_DIR/ before\n"
        "a name for that folder. Quote it, or the shell replaces it here.\n"
        "Files of several processes go into folders with their names, trainer-0/ and so on.\n"
        "An array's name fetches each of its jobs into a folder of the job's name.\n"
        "Without -o a folder of the job's name is left alone that edl fetch did not make. In any\n"
        "folder a file stays that edl fetch did not put there, or that was changed since, unless\n"
        "--replace is given. Permissions are kept as far as the umask lets them. A symbolic link\n"
        "that stays within the job's folder is made anew; any other one is left out and named.\n"
        "A file grows as NAME.part, until its checksum is right. When anything breaks off, the\n"
        "same command goes on, without fetching complete files again. A node keeps the files for\n"
        "keep-outputs (edl-agent.conf(5)) after their process.",
    VERB_OPTIONS(fetch_options, struct fetch_options),
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
