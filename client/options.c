/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - see options.h */
#include "client/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/job_spec.h"

#define AT(member) OPTION_FIELD(struct common_options, member)

static const struct option_row server_rows[] = {
    { "server", "URL[,URL]", "the scheduler (default: $EDL_SERVER, then the running edl dev)",
      option_text, AT(server) },
    { "token-file", "FILE", "file with the token (default: $EDL_TOKEN_FILE, $EDL_TOKEN)",
      option_text, AT(token_file) },
    { "ca", "FILE", "certificate of an https server's authority (default: $EDL_CA)", option_text,
      AT(ca) },
};

static const struct option_row common_rows[] = {
    { "json", NULL, "print JSON instead of text", option_flag, AT(json) },
    { "help", NULL, "show this help", .letter = 'h' },
};

const struct options_table server_options = OPTION_ROWS(server_rows);
const struct options_table common_options = OPTION_ROWS(common_rows);

/* ---- values ---- */

/* fits - a number that was stored and is not too little */
static int fits(const struct option_value *value, int r, uint64_t least, const char *takes,
                struct edl_error *error)
{
    if (r == 0 && *(uint64_t *)value->field >= least)
        return 0;
    (void)edl_error_set(error, -EINVAL, "\"%s\" does not fit", value->text);
    return edl_error_remedy(error, "%s", takes);
}

/* name, kind of shared/option_kinds.h, the least number, the text of a value that fits */
#define NUMBER_MAP(XX)                                                                             \
    XX(number, u64, 0, "a whole number such as 4")                                                 \
    XX(positive, u64, 1, "a whole number from 1")                                                  \
    XX(cores, cpu, 1,                                                                              \
       "cores such as 2, 0.5 or 200m, more than none; without the option there is a default")      \
    XX(amount, bytes, 1,                                                                           \
       "bytes such as 64Mi or 1Gi, more than none; without the option there is a default")         \
    XX(memory, bytes, ROLE_MEMORY_BYTES_LEAST,                                                     \
       "64Mi or 1Gi, with the unit (64 is 64 bytes) and 4Mi at least; without the option there "   \
       "is a default")                                                                             \
    XX(period, time, 1, "a time such as 500ms, 30s or 2m, more than none")                         \
    XX(limit, time, 0, "a time such as 500ms, 30s or 2m; 0: no limit")

#define XX(name, kind, least, takes)                                                               \
    int option_##name(const struct option_value *value, struct edl_error *error)                   \
    {                                                                                              \
        return fits(value, option_##kind(value, error), least, takes, error);                      \
    }
NUMBER_MAP(XX)
#undef XX

int option_share(const struct option_value *value, struct edl_error *error)
{
    char *end = NULL;
    double share = value->text[0] >= '0' && value->text[0] <= '9' ? strtod(value->text, &end) : NAN;

    if (end == NULL || *end != '\0' || !(share > 0.0 && share <= 1.0)) {
        (void)edl_error_set(error, -EINVAL, "\"%s\" does not fit", value->text);
        return edl_error_remedy(error, "a share such as 0.9");
    }
    *(double *)value->field = share;
    return 0;
}

int option_list(const struct option_value *value, struct edl_error *error)
{
    struct option_list *list = value->field;

    if (list->n == OPTION_LIST_MAX)
        return edl_error_set(error, -EINVAL, "given more than %d times", OPTION_LIST_MAX);
    list->values[list->n++] = value->text;
    return 0;
}

/* ---- tables ---- */

void options_of(const struct options_table *own, const char *name, struct verb_options *ret)
{
    const struct options_table *const parts[] = { own, &server_options, &common_options };

    ret->given = (struct options_given){ .now = 0 };
    ret->table = common_options;
    ret->table.program = ret->program;
    ret->table.ours = own != NULL ? own->ours : NULL;
    ret->table.rows = ret->rows;
    ret->table.n_rows = 0;
    (void)snprintf(ret->program, sizeof ret->program, "edl %s", name);
    for (size_t i = own != NULL ? 0 : 1; i < ELEMENTS(parts); i++) {
        if (parts[i]->n_rows > OPTIONS_MAX - ret->table.n_rows)
            abort();
        for (size_t j = 0; j < parts[i]->n_rows; j++)
            ret->rows[ret->table.n_rows++] = parts[i]->rows[j];
    }
}

int options_parse(const struct options_table *own, void *values, int argc, char **argv,
                  struct verb_options *ret, struct option_words *ret_words, struct edl_error *error)
{
    options_of(own, argv[0], ret);
    return options_read_words(&ret->table, argc, argv, values, &ret->given, ret_words, error);
}
