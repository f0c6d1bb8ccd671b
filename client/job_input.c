/* SPDX-License-Identifier: Apache-2.0 */
/* job_input.c - the job that a verb is given: a document as it is, or a command made into one */
#include "client/job_input.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/job_array.h"
#include "client/job_build.h"
#include "client/job_command.h"
#include "client/job_folder.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "client/workspace_program.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/json_text.h"
#include "shared/macro.h"
#include "shared/printable.h"
#include "shared/workspace_id.h"

bool job_options_given(const struct job_options *options)
{
    return options->name != NULL || options->min != 0 || options->max != 0 ||
           options->cpu_millicores != 0 || options->memory_bytes != 0 || options->gpus != 0 ||
           options->takes_input || options->passes != 0 || options->env.n != 0 ||
           options->workspace != NULL || options->dataset != NULL || options->deadline != NULL ||
           options->expected != NULL || options->time_limit != NULL || options->array != NULL ||
           options->user != NULL || options->shuffle != NULL || options->mode != NULL ||
           options->task_records != 0 || options->task_tries != 0 || options->after.n != 0 ||
           options->tasks.n != 0 || options->tasks.name != NULL || options->selector.n != 0 ||
           options->nodes != NULL || options->priority != NULL || options->dependency != NULL ||
           options->exports != NULL || options->mail_type != NULL || options->mail_user != NULL ||
           options->webhook != NULL || options->name_like != NULL || options->output != NULL ||
           options->error != NULL || options->slurm_env;
}

/* refuse_program - whoever writes a command where a document goes has left out the "--" */
static int refuse_program(const struct invocation *invocation, const char *path, const char *text,
                          size_t size, struct edl_error *error)
{
    const struct option_words *arguments = &invocation->arguments;
    _cleanup_free_ char *command =
        job_command_form(path, text, size, text != NULL && access(path, X_OK) == 0);

    (void)edl_error_set(error, -EINVAL, "%s is a program and no document", path);
    for (size_t i = 1; i < arguments->n_args; i++) {
        char *longer = text_format("%s %s", command, arguments->args[i]);

        free(command);
        command = longer;
    }
    return edl_error_remedy(error, "edl %s -- %.*s", invocation->verb->name,
                            printable_prefix(command, 200), command);
}

/* One byte more than allowed is read to tell. */
int job_read_document(const struct invocation *invocation, const char *path, char **ret,
                      size_t *ret_size, struct edl_error *error)
{
    bool first = path == invocation->arguments.args[0];
    bool from_stdin = streq(path, "-");
    _cleanup_close_ int opened = from_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int fd = from_stdin ? STDIN_FILENO : opened;
    _cleanup_free_ char *text = xcalloc(1, JOB_DOCUMENT_MAX_BYTES + 2);
    size_t size = 0;

    if (fd == -1 && errno == ENOENT && first && job_command_is(path, NULL, 0))
        return refuse_program(invocation, path, NULL, 0, error);
    if (fd == -1) {
        /* the same exit status as for any other wrong argument */
        return edl_error_set(error, -EINVAL, "the document %s cannot be opened: %s", path,
                             strerror(errno));
    }
    while (size <= JOB_DOCUMENT_MAX_BYTES) {
        ssize_t n = read(fd, text + size, JOB_DOCUMENT_MAX_BYTES + 1 - size);

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return edl_error_set(error, -EINVAL, "the document %s cannot be read: %s", path,
                                 strerror(errno));
        if (n == 0)
            break;
        size += (size_t)n;
    }
    if (!from_stdin && first && job_command_is(path, text, size))
        return refuse_program(invocation, path, text, size, error);
    if (size > JOB_DOCUMENT_MAX_BYTES) {
        (void)edl_error_set(error, -E2BIG,
                            "the document %s is larger than the %d bytes that a"
                            " scheduler takes",
                            path, JOB_DOCUMENT_MAX_BYTES);
        return edl_error_remedy(error, JOB_DOCUMENT_REMEDY);
    }
    *ret = TAKE_PTR(text);
    *ret_size = size;
    return 0;
}

static const char *content_type(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return *text == '{' ? "application/json" : "application/yaml";
}

int job_send(struct server *server, const char *path, const char *file, const char *text,
             size_t size, json_t **ret)
{
    struct http_call call = { .method = "POST",
                              .path = path,
                              .body = text,
                              .body_size = size,
                              .content_type = content_type(text) };
    struct http_answer answer = { 0 };
    int status = server_call(server, &call, &answer);

    if (status != STATUS_OK)
        status = report_answer_on(&answer, file);
    else
        *ret = answer.json != NULL ? json_incref(answer.json) : json_object();
    http_answer_clear(&answer);
    return status;
}

/* is_for_others - whether accounts of which nothing is known may enter a folder, and all above it
 */
static bool is_for_others(const char *folder)
{
    _cleanup_free_ char *path = xstrdup(folder);
    struct stat st;

    for (char *end = path + strlen(path); end != NULL; end = strrchr(path, '/')) {
        *end = '\0';
        if (stat(path[0] != '\0' ? path : "/", &st) == -1 || (st.st_mode & S_IXOTH) == 0)
            return false;
    }
    return true;
}

/* default_workspace - here is where the command makes sense: like a shell, run it where it was
 * typed; new string, NULL: private
 * The service runs no job as root, so that in root's own folders there is nothing but a failure for
 * those that root submits. (The agents of `edl dev`, which has no such socket, may.) */
static char *default_workspace(const struct server *server)
{
    _cleanup_free_ char *here = getcwd(NULL, 0);

    if (here == NULL || geteuid() != 0 || strncmp(server->base, "unix:", 5) != 0 ||
        is_for_others(here))
        return TAKE_PTR(here);
    report_note("%s is closed to the accounts of jobs: each process runs in an empty folder of its "
                "own (--workspace, --upload)",
                here);
    return NULL;
}

/* make_absolute - a folder of this machine as nodes know it; new string
 * A shell replaces "~" in front of a word only, so that --workspace=~/x comes as it was typed. */
static int make_absolute(const char *given, char **ret, struct edl_error *error)
{
    const char *home = getenv("HOME");
    bool of_home =
        given[0] == '~' && (given[1] == '/' || given[1] == '\0') && home != NULL && home[0] == '/';
    _cleanup_free_ char *here = of_home ? xstrdup(home) : getcwd(NULL, 0);
    const char *rest = of_home ? given + 1 : given;
    struct stat st;

    if (given[0] == '/') {
        *ret = xstrdup(given);
        return 0;
    }
    if (here == NULL)
        return edl_error_errno(error, -errno, "cannot tell the current folder");
    while (rest[0] == '/' || (rest[0] == '.' && (rest[1] == '/' || rest[1] == '\0')))
        rest++;
    *ret = rest[0] == '\0' ? TAKE_PTR(here) : text_format("%s/%s", here, rest);
    if (stat(*ret, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    (void)edl_error_set(error, -EINVAL, "--workspace: %s is no folder of this machine", *ret);
    return edl_error_remedy(error, "give the whole path, from / on, of a folder that only nodes "
                                   "have; private gives each process one of its own");
}

/* choose_workspace - *ret: new string; "": private */
static int choose_workspace(const struct server *server, const char *given, char **ret,
                            struct edl_error *error)
{
    if (given == NULL) {
        *ret = default_workspace(server);
        if (*ret == NULL)
            *ret = xstrdup("");
        return 0;
    }
    if (given[0] != '\0' && !streq(given, "private") && !workspace_is_kept(given))
        return make_absolute(given, ret, error);
    *ret = xstrdup(streq(given, "private") ? "" : given);
    return 0;
}

void job_note_workspace(struct server *server, const struct job_options *options,
                        const char *workspace)
{
    if (workspace != NULL && workspace[0] == '/' && !job_folder_is_shared(workspace) &&
        job_folder_elsewhere(server))
        report_note("%s has to be there on each node that is to run the job; to send it along: "
                    "--upload %s",
                    workspace, options->workspace != NULL ? workspace : ".");
}

static mode_t own_umask(void)
{
    mode_t own = umask(0077); /* the only way to ask for it */

    (void)umask(own);
    return own;
}

/* settle_tasks - how many instances, by a word of Slurm */
static int settle_tasks(struct job_build *build, const struct job_tasks *tasks,
                        struct edl_error *error)
{
    if (tasks->name != NULL && build->name != NULL) {
        (void)edl_error_set(error, -EINVAL, "-n and --name say two names");
        return edl_error_remedy(error, "leave one of them out");
    }
    if (tasks->name != NULL)
        build->name = tasks->name;
    if (tasks->n == 0)
        return 0;
    if (build->min != 0 || build->max != 0) {
        (void)edl_error_set(error, -EINVAL,
                            "--ntasks (-n) and --min or --max both say how many instances");
        return edl_error_remedy(error, "leave --ntasks out");
    }
    build->min = build->max = tasks->n;
    return 0;
}

int job_from_command(struct server *server, const struct job_options *options,
                     const struct option_words *arguments, char **ret, char **ret_workspace,
                     struct edl_error *error)
{
    _cleanup_free_ char *workspace = NULL, *dependency = NULL;
    struct job_build build = {
        .name = options->name,
        .dataset = options->dataset,
        .min = options->min,
        .max = options->max,
        .cpu_millicores = options->cpu_millicores,
        .memory_bytes = options->memory_bytes,
        .gpus = options->gpus,
        .takes_input = options->takes_input,
        .passes = options->passes,
        .task_records = options->task_records,
        .task_tries = options->task_tries,
        .env = &options->env,
        .after = &options->after,
        .deadline = options->deadline,
        .expected = options->expected,
        .time_limit = options->time_limit,
        .user = options->user,
        .array = options->array,
        .shuffle = options->shuffle,
        .mode = options->mode,
        .mail_type = options->mail_type,
        .mail_user = options->mail_user,
        .webhook = options->webhook,
        .priority = options->priority,
        .nodes = options->nodes,
        .exports = options->exports,
        .name_like = options->name_like,
        .output = options->output,
        .error = options->error,
        .slurm_env = options->slurm_env,
        .selector = &options->selector,
        .umask = own_umask(),
        .argv = arguments->rest,
        .argc = arguments->n_rest,
    };
    _cleanup_json_ json_t *document = NULL;
    int r = choose_workspace(server, options->workspace, &workspace, error);

    build.workspace = workspace;
    if (r == 0 && options->dependency != NULL)
        r = array_dependency(server, options->dependency, &dependency, error);
    build.dependency = dependency;
    if (r == 0)
        r = settle_tasks(&build, &options->tasks, error);
    if (r == 0)
        r = job_build_document(&build, &document, error);
    if (r < 0)
        return r;
    *ret = json_to_text(document, NULL);
    *ret_workspace = TAKE_PTR(workspace);
    return 0;
}

/* may_run_python - a program that the environment has, a shell, or a script: what is compiled does
 * not look for an interpreter */
static bool may_run_python(const char *program, const char *virtual_env)
{
    static const char *const shells[] = { "sh", "bash", "env" };
    _cleanup_free_ char *there = text_format("%s/bin/%s", virtual_env, program);
    _cleanup_close_ int fd = -1;
    char start[2];

    for (size_t i = 0; i < ELEMENTS(shells); i++)
        if (streq(program, shells[i]))
            return true;
    if (strchr(program, '/') == NULL)
        return access(there, X_OK) == 0;
    fd = open(program, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return fd != -1 && read(fd, start, sizeof start) == sizeof start && memcmp(start, "#!", 2) == 0;
}

static bool is_given_in(const struct option_list *env, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < env->n; i++)
        if (strncmp(env->values[i], name, length) == 0 && env->values[i][length] == '=')
            return true;
    return false;
}

/* as_sent - an environment as its copy is named from the folder that is sent; new string, NULL: it
 * is not in that folder */
static char *as_sent(const char *virtual_env, const char *upload)
{
    _cleanup_free_ char *typed = upload != NULL ? workspace_folder(upload) : NULL;
    _cleanup_free_ char *folder = typed != NULL ? realpath(typed, NULL) : NULL;
    _cleanup_free_ char *whole = realpath(virtual_env, NULL);
    size_t n = folder != NULL ? strlen(folder) : 0;

    if (n == 0 || whole == NULL || strncmp(whole, folder, n) != 0 || whole[n] != '/')
        return NULL;
    return xstrdup(whole + n + 1);
}

void job_note_virtual_env(const struct server *server, const struct job_options *options,
                          const struct option_words *arguments, const char *upload)
{
    _cleanup_free_ char *sent = NULL;
    const char *active = getenv("VIRTUAL_ENV");
    const char *program = arguments->n_rest > 0 ? arguments->rest[0] : "";

    if (active == NULL || active[0] != '/' || *program == '\0' ||
        is_given_in(&options->env, "PATH") ||
        (server->virtual_env != NULL && streq(server->virtual_env, active)) ||
        strncmp(program, active, strlen(active)) == 0 || !may_run_python(program, active))
        return;
    sent = as_sent(active, upload);
    report_note("the job does not see the virtual environment %s: programs are looked for in its "
                "node's PATH; to use it: --env PATH=%s/bin:/usr/bin:/bin",
                active, sent != NULL ? sent : active);
}

void job_note_ignored(const json_t *answer)
{
    size_t i;
    json_t *pointer;

    json_array_foreach(json_object_get(answer, "ignored"), i, pointer)
        report_note("%s is ignored",
                    json_string_value(pointer) != NULL ? json_string_value(pointer) : "?");
}
