/* SPDX-License-Identifier: Apache-2.0 */
/* common.c - what the commands of Slurm share: options, errors, the scheduler; see slurm.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/job_array.h"
#include "client/job_words.h"
#include "client/json_read.h"
#include "client/options.h"
#include "client/server.h"
#include "client/slurm/slurm.h"
#include "client/text.h"
#include "client/word_list.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

int slurm_fail(const char *program, const struct edl_error *error)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "%s: error: %s\n", program, error->text);
    if (error->remedy[0] != '\0')
        (void)fprintf(stderr, "try: %s\n", error->remedy);
    return 1;
}

static bool has_row(const struct options_table *table, const char *name)
{
    for (size_t i = 0; i < table->n_rows; i++)
        if (streq(table->rows[i].name, name))
            return true;
    return false;
}

/* spell_out - "-h" and what shares its word: the parser of options has -h for the help */
static void spell_out(const struct options_table *table, int argc, char **argv,
                      struct word_list *ret)
{
    bool header = has_row(table, "noheader");

    for (int i = 0; i < argc; i++) {
        bool is = header && i > 0 && strncmp(argv[i], "-h", 2) == 0;

        if (is)
            word_list_take(ret, xstrdup("--noheader"));
        if (is && argv[i][2] == '\0')
            continue;
        if (is)
            argv[i][1] = '-';
        word_list_take(ret, xstrdup(argv[i] + is));
    }
}

int slurm_options(const struct options_table *table, int argc, char **argv, void *options,
                  struct option_words *ret)
{
    /* of the life of the program: options point into it */
    static struct word_list words;
    static struct options_given given;
    struct edl_error error = { 0 };
    int r;

    spell_out(table, argc, argv, &words);
    r = options_read_words(table, (int)words.n, words.words, options, &given, ret, &error);
    if (r < 0)
        return slurm_fail(table->program, &error) + 1;
    option_words_join(ret);
    if (r != OPTIONS_HELP)
        return 0;
    (void)printf("usage: %s [OPTION]...   (of edl: docs/from-slurm.md)\n\nOptions:\n",
                 table->program);
    options_print(stdout, table);
    return 1;
}

int slurm_open(struct server *ret)
{
    static const struct common_options common;

    return server_open(&common, ret) == 0 ? 0 : 1;
}

bool slurm_is_in(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; at != NULL;
         at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL)
        if (strcspn(at, ",") == length && strncmp(at, word, length) == 0)
            return true;
    return false;
}

int slurm_jobs(struct server *server, const char *list, char **ret)
{
    size_t size = 0;
    FILE *out = open_memstream(ret, &size);
    int status = 0;

    if (out == NULL)
        abort();
    for (const char *at = list; status == 0 && *at != '\0';) {
        size_t n = strcspn(at, ","), i;
        _cleanup_free_ char *word = text_format("%.*s", (int)n, at), *name = NULL;
        _cleanup_json_ json_t *jobs = NULL;
        json_t *job;

        status = array_begun(server, word, &name, &jobs);
        if (status == 0 && json_array_size(jobs) == 0)
            (void)fprintf(out, "%s,", word);
        json_array_foreach(jobs, i, job)(void) fprintf(out, "%" PRIu64 ",", json_u64(job, "id"));
        at += n;
        at += *at == ',';
    }
    (void)fclose(out);
    return status;
}
