/* SPDX-License-Identifier: Apache-2.0 */
/* script_call.c - see script_call.h */
#include "client/script_call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/report.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define SCRIPT_LOOK_BYTES (1 << 17) /* more than a script may have */

/* read_file - what a regular file begins with; NULL: it is none that can be read, which whoever
 * reads it next says */
static char *read_file(const char *path, size_t *ret_size)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    _cleanup_free_ char *text = NULL;
    struct stat st;
    size_t size = 0;

    if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
        return NULL;
    text = xcalloc(1, SCRIPT_LOOK_BYTES + 1);
    while (size < SCRIPT_LOOK_BYTES) {
        ssize_t n = read(fd, text + size, SCRIPT_LOOK_BYTES - size);

        if (n == -1 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        size += (size_t)n;
    }
    *ret_size = size;
    return TAKE_PTR(text);
}

/* join - the verb, the script's options, and all that the command line has */
static int join(const struct invocation *given, struct script_call *call)
{
    const struct word_list *words = &call->script.words;
    int n = 0;

    call->argv = xcalloc((size_t)given->argc + words->n + 1, sizeof *call->argv);
    call->argv[n++] = given->argv[0];
    for (size_t i = 0; i < words->n; i++)
        call->argv[n++] = words->words[i];
    for (int i = 1; i < given->argc; i++)
        call->argv[n++] = given->argv[i];
    return n;
}

/* start - the interpreter with the text, and the arguments of the script */
static void start(const struct option_words *arguments, struct script_call *call)
{
    const struct word_list *words = &call->script.start;
    struct option_words *ret = &call->invocation.arguments;
    size_t n = 0;

    call->rest = xcalloc(words->n + arguments->n_args + arguments->n_rest, sizeof *call->rest);
    for (size_t i = 0; i < words->n; i++)
        call->rest[n++] = words->words[i];
    for (size_t i = 1; i < arguments->n_args; i++)
        call->rest[n++] = arguments->args[i];
    for (size_t i = 0; i < arguments->n_rest; i++)
        call->rest[n++] = arguments->rest[i];
    *ret = (struct option_words){ .rest = call->rest, .n_rest = n, .has_rest = true };
}

static int read_options(const struct invocation *given, struct script_call *call,
                        struct edl_error *error)
{
    const struct verb *verb = given->verb;
    struct option_words words = { 0 };
    int argc = join(given, call), r;

    call->options = xcalloc(1, verb->options_size);
    r = options_parse(verb->options, call->options, argc, call->argv, &call->invocation.read,
                      &words, error);
    if (r < 0) {
        edl_error_prefix(error, "with the options of %s: ", given->arguments.args[0]);
        return r;
    }
    if (words.n_args == 0 || words.args[0] != given->arguments.args[0]) {
        (void)edl_error_set(error, -EINVAL, "%s: a line of #EDL has \"%.80s\", which is no option",
                            given->arguments.args[0], words.n_args > 0 ? words.args[0] : "--");
        r = edl_error_remedy(error, "#EDL --min 2, with the options of edl submit");
    } else {
        start(&words, call);
        r = 0;
    }
    option_words_clear(&words);
    return r;
}

int script_call_read(const struct invocation *given, size_t of_job, struct script_call *call,
                     const struct invocation **ret_call)
{
    const struct job_options *job =
        (const struct job_options *)(const void *)((const char *)given->options + of_job);
    const char *path = given->arguments.n_args > 0 ? given->arguments.args[0] : NULL;
    _cleanup_free_ char *text = NULL;
    struct edl_error error = { 0 };
    size_t size = 0;
    int r;

    *call = (struct script_call){ 0 };
    *ret_call = given;
    if (path != NULL && !streq(path, "-"))
        text = read_file(path, &size);
    if (text == NULL)
        return STATUS_OK;
    r = job_script_parse(path, text, size, job->script, &call->script, &error);
    if (r == 1)
        r = read_options(given, call, &error);
    else if (r == 0)
        return STATUS_OK;
    if (r < 0)
        return report_error(&error);
    call->invocation.verb = given->verb;
    call->invocation.options = call->options;
    call->invocation.common = call->options;
    *ret_call = &call->invocation;
    return STATUS_OK;
}

void script_call_note(const struct script_call *call, const struct job_options *options)
{
    if (call->options == NULL)
        return;
    if (call->script.late_line > 0)
        report_note("line %u is behind the first command, where no options are read",
                    call->script.late_line);
    if (call->script.reads_slurm && !options->slurm_env)
        report_note("the script has variables of Slurm, which are set with --slurm-env alone "
                    "(Open MPI takes them for Slurm's own)");
    if (options->tasks.n > 1 && (options->mode == NULL || !streq(options->mode, "mpi")))
        report_note("instances: %u, and each runs the script; --mode mpi runs it once, for mpirun",
                    (unsigned)options->tasks.n);
    if (options->output != NULL)
        report_note(
            "the output goes into a file in the job's folder, and not to edl logs (edl fetch "
            "gets it from a copy)");
}

void script_call_clear(struct script_call *call)
{
    job_script_clear(&call->script);
    free(call->argv);
    free(call->rest);
    free(call->options);
    *call = (struct script_call){ 0 };
}
