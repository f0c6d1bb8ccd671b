/* SPDX-License-Identifier: Apache-2.0 */
/* verb.c - the table of verbs, the help made from it, and the way from argv to a verb */
#include "client/verb.h"

#include <errno.h>
#include <string.h>

#include "client/job_command.h"
#include "client/report.h"
#include "client/verb_words.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"

/* In the order of the help. */
static const struct verb *const verbs[] = {
    &verb_dev,      &verb_deploy,     &verb_submit,  &verb_search,    &verb_run,
    &verb_plan,     &verb_ps,         &verb_show,    &verb_why,       &verb_logs,
    &verb_exec,     &verb_shell,      &verb_attach,  &verb_cp,        &verb_port_forward,
    &verb_notebook, &verb_ssh_config, &verb_connect, &verb_fetch,     &verb_events,
    &verb_wait,     &verb_kill,       &verb_scale,   &verb_services,  &verb_hosts,
    &verb_nodes,    &verb_node,       &verb_top,     &verb_policy,    &verb_usage,
    &verb_user,     &verb_group,      &verb_token,   &verb_login,     &verb_logout,
    &verb_whoami,   &verb_audit,      &verb_admin,   &verb_corpus,    &verb_recordio,
    &verb_dataset,  &verb_simulate,   &verb_replay,  &verb_workspace, &verb_model,
    &verb_doctor,   &verb_version,
};

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < ELEMENTS(verbs); i++)
        if (streq(verbs[i]->name, name))
            return verbs[i];
    return NULL;
}

const struct verb *verb_nearest(const char *name)
{
    const char *names[ELEMENTS(verbs)];

    for (size_t i = 0; i < ELEMENTS(verbs); i++)
        names[i] = verbs[i]->name;

    const char *nearest = nearest_word(name, names, ELEMENTS(names));

    return nearest != NULL ? verb_find(nearest) : NULL;
}

static void print_overview(FILE *out)
{
    (void)fprintf(out, "usage: edl VERB [OPTION]... [ARGUMENT]...\n\n"
                       "Elastic training jobs on plain Linux machines.\n\n");
    for (size_t i = 0; i < ELEMENTS(verbs); i++)
        (void)fprintf(out, "  %-12s  %s\n", verbs[i]->name, verbs[i]->summary);
    (void)fprintf(out, "\nEvery verb that asks a server takes:\n");
    options_print(out, &server_options);
    (void)fprintf(out, "\nEvery verb takes:\n");
    options_print(out, &common_options);
    (void)fprintf(out, "\n`edl help VERB` tells more. Exit status: 0 done, 1 failed or not found,\n"
                       "2 wrong input, 3 the server cannot be reached.\n");
}

void verb_print_help(const struct verb *verb, FILE *out)
{
    (void)fprintf(out, "usage: edl %s%s%s\n\n%s.\n", verb->name, verb->usage[0] != '\0' ? " " : "",
                  verb->usage, verb->summary);
    if (verb->details != NULL)
        (void)fprintf(out, "\n%s\n", verb->details);
    (void)fprintf(out, "\nOptions:\n");
    if (verb->options != NULL)
        options_print(out, verb->options);
    if (!verb->local)
        options_print(out, &server_options);
    options_print(out, &common_options);
}

static int unknown_verb(const char *name)
{
    const char *meant = verb_of_word(name);
    const struct verb *nearest = verb_nearest(name);
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, -EINVAL, "there is no verb \"%.80s\"", name);
    if (meant != NULL)
        (void)edl_error_remedy(&error, "%s", meant);
    else if (nearest != NULL)
        (void)edl_error_remedy(&error, "edl %s", nearest->name);
    else
        (void)edl_error_remedy(&error, "edl --help");
    return report_error(&error);
}

static int help_main(int argc, char **argv)
{
    const struct verb *verb = argc > 0 ? verb_find(argv[0]) : NULL;

    if (argc > 0 && verb == NULL && argv[0][0] != '-')
        return unknown_verb(argv[0]);
    if (verb != NULL)
        verb_print_help(verb, stdout);
    else
        print_overview(stdout);
    return STATUS_OK;
}

static int check_count(const struct verb *verb, const struct option_words *arguments,
                       struct edl_error *error)
{
    if (arguments->n_args >= verb->min_args && arguments->n_args <= verb->max_args)
        return 0;
    (void)edl_error_set(error, -EINVAL, "edl %s: %s", verb->name,
                        arguments->n_args < verb->min_args ? "an argument is missing"
                                                           : "too many arguments");
    return edl_error_remedy(error, "edl %s %s", verb->name, verb->usage);
}

static int check_server(const struct verb *verb, const struct common_options *given,
                        struct edl_error *error)
{
    if (!verb->local || (given->server == NULL && given->token_file == NULL))
        return 0;
    (void)edl_error_set(error, -EINVAL, "edl %s asks no server", verb->name);
    return edl_error_remedy(error, "leave %s out",
                            given->server != NULL ? "--server" : "--token-file");
}

/* An option that is none of ours, behind a word that is none: of a command that lacks its "--". */
static void suggest_command(const struct verb *verb, int argc, char **argv, struct edl_error *error)
{
    const char *of = verb->min_args > 0 ? " JOB" : "";

    for (int i = (int)verb->min_args; verb->takes_command && i < argc && !streq(argv[i], "--"); i++)
        if (job_command_is(argv[i], NULL, 0) || job_command_is(argv[i], "", 0)) {
            (void)edl_error_remedy(error,
                                   "edl %s%s -- %.80s ...: a command and its options go "
                                   "behind --",
                                   verb->name, of, argv[i]);
            return;
        }
}

/* argv[0] is the verb */
static int run_verb(const struct verb *verb, int argc, char **argv)
{
    _cleanup_free_ void *options =
        xcalloc(1, MAX_OF(verb->options_size, sizeof(struct common_options)));
    struct edl_error error = { 0 };
    struct invocation invocation = {
        .verb = verb, .options = options, .common = options, .argc = argc, .argv = argv
    };
    int status = options_parse(verb->options, options, argc, argv, &invocation.read,
                               &invocation.arguments, &error);

    if (status < 0) {
        suggest_command(verb, argc - 1, argv + 1, &error);
        return report_error(&error);
    }
    if (!verb->takes_command)
        option_words_join(&invocation.arguments);
    if (status == OPTIONS_HELP) {
        verb_print_help(verb, stdout);
        status = STATUS_OK;
    } else if (check_count(verb, &invocation.arguments, &error) < 0 ||
               check_server(verb, invocation.common, &error) < 0) {
        status = report_error(&error);
    } else {
        status = verb->run(&invocation);
    }
    option_words_clear(&invocation.arguments);
    return status;
}

/* ---- options before the verb ---- */

/* reads_before - whether the words before argv[n] are options of this verb, with their values */
static bool reads_before(const struct verb *verb, int n, char *const *argv)
{
    struct verb_options read;
    int at = 1;

    options_of(verb->options, verb->name, &read);
    while (at < n) {
        bool apart = false;

        if (!streq(argv[at], "--help") && !streq(argv[at], "-h") &&
            options_row_of(&read.table, argv[at], &apart) == NULL)
            return false;
        at += apart ? 2 : 1;
    }
    return at == n;
}

/* word_place - the first word that is no option, nor the value of one that every verb has; 0: none
 */
static int word_place(int argc, char *const *argv)
{
    struct verb_options read;

    options_of(NULL, "", &read);
    for (int i = 1; i < argc && !streq(argv[i], "--"); i++) {
        bool apart = false;

        if (argv[i][0] != '-')
            return i;
        (void)options_row_of(&read.table, argv[i], &apart);
        i += apart;
    }
    return 0;
}

/* verb_place - where the verb stands: behind options of its own, else behind some that are none and
 * that its help tells of; 0: there is no verb */
static int verb_place(int argc, char *const *argv)
{
    int word = word_place(argc, argv), first = 0;

    if (word != 0 && streq(argv[word], "help"))
        return word;
    for (int i = 1; i < argc && !streq(argv[i], "--"); i++) {
        const struct verb *verb = verb_find(argv[i]);

        if (verb != NULL && reads_before(verb, i, argv))
            return i;
        first = first == 0 && verb != NULL ? i : first;
    }
    return first != 0 ? first : word;
}

static int run_named(int argc, char **argv)
{
    const struct verb *verb = verb_find(argv[1]);

    if (streq(argv[1], "help"))
        return help_main(argc - 2, argv + 2);
    if (verb == NULL)
        return unknown_verb(argv[1]);
    return verb->run_words != NULL ? verb->run_words(verb, argc - 2, argv + 2)
                                   : run_verb(verb, argc - 1, argv + 1);
}

/* run_behind_options - the same words with the verb in front */
static int run_behind_options(int argc, char **argv)
{
    _cleanup_free_ char **words = xcalloc((size_t)argc + 1, sizeof *words);
    int place = verb_place(argc, argv);
    struct edl_error error = { 0 };

    if (place == 0) {
        (void)edl_error_set(&error, -EINVAL, "a verb is missing behind %.80s", argv[1]);
        (void)edl_error_remedy(&error, "edl --help lists the verbs");
        return report_error(&error);
    }
    words[0] = argv[0];
    words[1] = argv[place];
    for (int i = 1; i < argc; i++)
        if (i != place)
            words[i < place ? i + 1 : i] = argv[i];
    return run_named(argc, words);
}

int verb_main(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stderr);
        return STATUS_BAD_INPUT;
    }
    if (streq(argv[1], "--help") || streq(argv[1], "-h"))
        return help_main(argc - 2, argv + 2);
    if (streq(argv[1], "--version")) { /* of this program alone, like any other's */
        (void)printf("edl %s\n", EDL_VERSION);
        return STATUS_OK;
    }
    return argv[1][0] == '-' ? run_behind_options(argc, argv) : run_named(argc, argv);
}
