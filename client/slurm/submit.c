/* SPDX-License-Identifier: Apache-2.0 */
/* submit.c - sbatch, srun and salloc; see slurm.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/json_read.h"
#include "client/slurm/slurm.h"
#include "client/slurm_wants.h"
#include "client/text.h"
#include "client/word_list.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

static void add(struct word_list *list, const char *word)
{
    word_list_take(list, xstrdup(word));
}

static void add_all(struct word_list *list, char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add(list, words[i]);
}

/* read_wants - the options; *ret_n: words that they take, the program's name with them. An exit
 * status */
static int read_wants(int argc, char **argv, struct slurm_wants *wants, size_t *ret_n)
{
    struct edl_error error = { 0 };
    size_t n = 0;
    int r = slurm_wants_read(wants, (size_t)argc - 1, argv + 1, false, &n, &error);

    if (r == 0)
        r = slurm_wants_finish(wants, &error);
    *ret_n = n + 1;
    return r < 0 ? slurm_fail(argv[0], &error) : 0;
}

/* ---- sbatch ---- */

/* A script that came by standard input, as a file in a folder of its own. */
struct input_script {
    char folder[40];
    char *path; /* owned; NULL: there is none */
};

static void remove_input(struct input_script *input)
{
    if (input->path == NULL)
        return;
    (void)unlink(input->path);
    (void)rmdir(input->folder);
    free(input->path);
    input->path = NULL;
}

static int keep_input(struct input_script *ret)
{
    struct edl_error error = { 0 };
    char buffer[4096];
    size_t n;
    FILE *file;

    (void)snprintf(ret->folder, sizeof ret->folder, "/tmp/edl-sbatch-XXXXXX");
    if (mkdtemp(ret->folder) == NULL) {
        (void)edl_error_errno(&error, -errno, "cannot make the folder %s", ret->folder);
        return slurm_fail("sbatch", &error);
    }
    ret->path = text_format("%s/sbatch", ret->folder); /* the name that Slurm gives such a job */
    file = fopen(ret->path, "we");
    if (file == NULL) {
        (void)edl_error_errno(&error, -errno, "cannot write %s", ret->path);
        return slurm_fail("sbatch", &error);
    }
    while ((n = fread(buffer, 1, sizeof buffer, stdin)) > 0)
        (void)fwrite(buffer, 1, n, file);
    if (fclose(file) == 0)
        return 0;
    (void)edl_error_errno(&error, -errno, "cannot write %s", ret->path);
    return slurm_fail("sbatch", &error);
}

/* What edl submit answered. */
struct accepted {
    uint64_t id, last_id; /* the same of one job */
};

static void take_accepted(const json_t *value, void *userdata)
{
    struct accepted *accepted = userdata;

    if (json_u64(value, "id") == 0 || accepted->id != 0)
        return;
    accepted->id = json_u64(value, "id");
    accepted->last_id = MAX_OF(accepted->id, json_u64(json_object_get(value, "array"), "last_id"));
}

static int wait_for(const struct accepted *accepted)
{
    struct word_list words = { 0 };
    int status;

    add(&words, "wait");
    for (uint64_t id = accepted->id; id <= accepted->last_id; id++)
        word_list_take(&words, text_format("%" PRIu64, id));
    status = slurm_edl(&words, true);
    word_list_clear(&words);
    return status;
}

static int send(const struct slurm_wants *wants, const struct word_list *words)
{
    struct accepted accepted = { 0 };
    int status = slurm_edl_json(words, take_accepted, &accepted);

    if (status != 0)
        return status;
    (void)printf(wants->parsable ? "%" PRIu64 "\n" : "Submitted batch job %" PRIu64 "\n",
                 accepted.id);
    (void)fflush(stdout);
    return wants->wait ? wait_for(&accepted) : 0;
}

/* batch - the call of edl for a script and its arguments, or for --wrap */
static void batch(const struct slurm_wants *wants, const char *script, char *const *arguments,
                  size_t n, struct word_list *ret)
{
    add(ret, wants->test_only ? "plan" : "submit");
    if (!wants->test_only)
        add(ret, "--json");
    if (wants->wrap == NULL)
        add(ret, "--script");
    else
        add(ret, "--name-like=wrap");
    add_all(ret, wants->words.words, wants->words.n);
    if (wants->wrap == NULL)
        add(ret, script);
    add(ret, "--");
    if (wants->wrap != NULL) {
        add(ret, "/bin/sh");
        add(ret, "-c");
        add(ret, wants->wrap);
    }
    add_all(ret, arguments, n);
}

int slurm_sbatch(int argc, char **argv)
{
    struct slurm_wants wants = { .of_batch = true };
    struct input_script input = { .path = NULL };
    struct word_list words = { 0 };
    size_t n = 0;
    int status = read_wants(argc, argv, &wants, &n);
    bool has_script = n < (size_t)argc && wants.wrap == NULL;

    if (status == 0 && !has_script && wants.wrap == NULL)
        status = keep_input(&input);
    if (status == 0) {
        batch(&wants, has_script ? argv[n] : input.path, argv + n + has_script,
              (size_t)argc - n - has_script, &words);
        status = wants.test_only ? slurm_edl(&words, false) : send(&wants, &words);
    }
    remove_input(&input);
    word_list_clear(&words);
    slurm_wants_clear(&wants);
    return status;
}

/* ---- srun ---- */

/* run_inside - in a job a step has nothing to wait for: each instance runs it where it is, and a
 * job of MPI has a launcher */
static int run_inside(const struct slurm_wants *wants, char **command)
{
    struct edl_error error = { 0 };
    struct word_list words = { 0 };

    if (getenv("EDL_MPI_HOSTS") != NULL) {
        add(&words, "mpirun");
        if (wants->tasks > 0) {
            add(&words, "-n");
            word_list_take(&words, text_format("%" PRIu64, wants->tasks));
        }
    }
    for (size_t i = 0; command[i] != NULL; i++)
        add(&words, command[i]);
    (void)execvp(words.words[0], words.words);
    (void)edl_error_errno(&error, -errno, "cannot start %s", words.words[0]);
    return slurm_fail("srun", &error);
}

/* Which start of which process printed last, and whether its line is whole. */
struct printed {
    char *who; /* owned; NULL: nobody's */
    bool in_line;
};

static void end_line(struct printed *printed)
{
    if (printed->in_line)
        (void)fputc('\n', stdout);
    printed->in_line = false;
}

/* take_output - each process's lines whole; what edl says of them is none of the program's */
static void take_output(const json_t *value, void *userdata)
{
    const char *text = json_text(value, "text"), *role = json_text(value, "role");
    size_t n = json_string_length(json_object_get(value, "text"));
    struct printed *printed = userdata;
    char *who;

    if (*role == '\0' || n == 0)
        return;
    if (json_is_true(json_object_get(value, "notice"))) {
        (void)fprintf(stderr, "%s%s", text, text[n - 1] == '\n' ? "" : "\n");
        return;
    }
    who = text_format("%s-%" PRIu64 "-%" PRIu64, role, json_u64(value, "index"),
                      json_u64(value, "incarnation"));
    if (printed->who == NULL || !streq(printed->who, who))
        end_line(printed);
    free(printed->who);
    printed->who = who;
    (void)fwrite(text, 1, n, stdout);
    (void)fflush(stdout);
    printed->in_line = text[n - 1] != '\n';
}

/* run_beside - in a job that runs: with a terminal, or without one */
static int run_beside(const struct slurm_wants *wants, char *const *command, size_t n)
{
    struct word_list words = { 0 };
    int status;

    add(&words, "exec");
    if (wants->terminal)
        add(&words, "-t");
    add(&words, wants->job);
    add(&words, "--");
    add_all(&words, command, n);
    status = slurm_edl_become(&words);
    word_list_clear(&words);
    return status;
}

static bool is_shell(const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash != NULL ? slash + 1 : program;

    return streq(name, "bash") || streq(name, "sh") || streq(name, "zsh");
}

/* refuse_words - what a job of edl shell cannot have; an exit status */
static int refuse_words(const char *program, const struct word_list *words)
{
    static const char *const known[] = { "--cpu=",  "--memory=",    "--gpus=",
                                         "--time=", "--workspace=", "--nodelist=" };
    struct edl_error error = { 0 };

    for (size_t i = 0; i < words->n; i++) {
        size_t k = 0;

        while (k < ELEMENTS(known) && strncmp(words->words[i], known[k], strlen(known[k])) != 0)
            k++;
        if (k < ELEMENTS(known))
            continue;
        (void)edl_error_set(&error, -EINVAL, "the job of a shell takes no %.80s", words->words[i]);
        (void)edl_error_remedy(&error, "leave it out: edl help shell lists what it takes");
        return slurm_fail(program, &error);
    }
    return 0;
}

/* open_shell - edl shell has the same options, but for the name of the node */
static int open_shell(const char *program, const struct slurm_wants *wants)
{
    static const char nodelist[] = "--nodelist=";
    struct edl_error error = { 0 };
    struct word_list words = { 0 };
    int status;

    if (wants->tasks > 1 || wants->nodes > 1) {
        (void)edl_error_set(&error, -EINVAL, "a shell has one instance");
        (void)edl_error_remedy(&error, "%s -c 4 --mem=8G: so much for that one", program);
        return slurm_fail(program, &error);
    }
    if (refuse_words(program, &wants->words) != 0)
        return 1;
    add(&words, "shell");
    for (size_t i = 0; i < wants->words.n; i++) {
        const char *word = wants->words.words[i];

        if (strncmp(word, nodelist, strlen(nodelist)) == 0)
            word_list_take(&words, text_format("--node=%s", word + strlen(nodelist)));
        else
            add(&words, word);
    }
    status = slurm_edl_become(&words);
    word_list_clear(&words);
    return status;
}

static int run_outside(const struct slurm_wants *wants, char *const *command, size_t n)
{
    struct word_list words = { 0 };
    struct printed printed = { .who = NULL };
    int status;

    add(&words, "submit");
    add(&words, "--json");
    add(&words, "--follow");
    add(&words, "--kill-on-interrupt");
    add_all(&words, wants->words.words, wants->words.n);
    add(&words, "--");
    add_all(&words, command, n);
    status = slurm_edl_json(&words, take_output, &printed);
    free(printed.who);
    word_list_clear(&words);
    return status;
}

static int run(const char *program, const struct slurm_wants *wants, char **command, size_t n)
{
    if (n == 0)
        return slurm_fail(program, &(struct edl_error){ .text = "the command is missing",
                                                        .remedy = "srun [OPTION]... COMMAND..." });
    if (wants->job != NULL)
        return run_beside(wants, command, n);
    if (getenv("EDL_SOCKET") != NULL)
        return run_inside(wants, command);
    if (wants->terminal && n == 1 && is_shell(command[0]))
        return open_shell(program, wants);
    if (wants->terminal)
        return slurm_fail(program,
                          &(struct edl_error){ .text = "--pty has a shell alone",
                                               .remedy = "srun --pty bash; beside a job: srun "
                                                         "--jobid=ID --pty COMMAND" });
    return run_outside(wants, command, n);
}

int slurm_srun(int argc, char **argv)
{
    struct slurm_wants wants = { 0 };
    size_t n = 0;
    int status = read_wants(argc, argv, &wants, &n);

    if (status == 0)
        status = run(argv[0], &wants, argv + n, (size_t)argc - n);
    slurm_wants_clear(&wants);
    return status;
}

/* ---- salloc ---- */

int slurm_salloc(int argc, char **argv)
{
    struct slurm_wants wants = { 0 };
    size_t n = 0;
    int status = read_wants(argc, argv, &wants, &n);

    if (status == 0)
        status = n < (size_t)argc && !is_shell(argv[n])
                     ? run_outside(&wants, argv + n, (size_t)argc - n)
                     : open_shell(argv[0], &wants);
    slurm_wants_clear(&wants);
    return status;
}
