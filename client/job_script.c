/* SPDX-License-Identifier: Apache-2.0 */
/* job_script.c - see job_script.h
 *
 * As in Slurm the lines of options end with the first line that is a command. */
#include "client/job_script.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/slurm_wants.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define SCRIPT_MAX_BYTES 65000 /* an argument of a command has 65,536 at most */

/* Programs that take a script as text. */
static const struct {
    const char *name, *option;
    bool takes_name; /* the word behind the text is the script's name, and no argument */
} interpreters[] = {
    { "sh", "-c", true },       { "bash", "-c", true },  { "dash", "-c", true },
    { "ksh", "-c", true },      { "zsh", "-c", true },   { "python", "-c", false },
    { "python3", "-c", false }, { "perl", "-e", false }, { "ruby", "-e", false },
    { "Rscript", "-e", false },
};

/* ---- lines of options ---- */

static const char edl_line[] = "#EDL", slurm_line[] = "#SBATCH";

static bool begins(const char *line, size_t size, const char *start)
{
    size_t n = strlen(start);

    return size > n && strncmp(line, start, n) == 0 && (line[n] == ' ' || line[n] == '\t');
}

static bool is_of_options(const char *line, size_t size)
{
    return begins(line, size, edl_line) || begins(line, size, slurm_line);
}

static bool is_command(const char *line, size_t size)
{
    size_t at = 0;

    while (at < size && isspace((unsigned char)line[at]))
        at++;
    return at < size && line[at] != '#';
}

static void name_line(struct edl_error *error, const char *name, unsigned number)
{
    edl_error_prefix(error, "%s line %u: ", name, number);
}

/* copy_edl - each word has to be an option or the value of one: the parser of options sees the rest
 */
static void copy_words(struct word_list *to, const struct word_list *from)
{
    for (size_t i = 0; i < from->n; i++)
        word_list_take(to, xstrdup(from->words[i]));
}

static int read_slurm(struct slurm_wants *wants, const struct word_list *words,
                      struct edl_error *error)
{
    size_t n = 0;
    int r = slurm_wants_read(wants, words->n, words->words, true, &n, error);

    if (r < 0 || n == words->n)
        return r;
    (void)edl_error_set(error, -EINVAL, "\"%.80s\" is no option", words->words[n]);
    return edl_error_remedy(error, "a line of options has options alone");
}

static int read_line(struct job_script *script, struct slurm_wants *wants, const char *line,
                     size_t size, struct edl_error *error)
{
    bool of_slurm = begins(line, size, slurm_line);
    size_t n = strlen(of_slurm ? slurm_line : edl_line);
    struct word_list words = { 0 };
    int r = word_list_split(&words, line + n, size - n);

    if (r < 0) {
        (void)edl_error_set(error, -EINVAL, "a quote is not shut");
        (void)edl_error_remedy(error, "write the same quote behind the value");
    } else if (of_slurm) {
        r = read_slurm(wants, &words, error);
    } else if (words.n > 0 && words.words[0][0] != '-') {
        (void)edl_error_set(error, -EINVAL, "\"%.80s\" is no option", words.words[0]);
        r = edl_error_remedy(error, "#EDL --min 2, with the options of edl submit");
    } else {
        copy_words(&script->words, &words);
    }
    word_list_clear(&words);
    return r;
}

static int read_lines(struct job_script *script, struct slurm_wants *wants, const char *name,
                      const char *text, size_t size, bool *ret_any, struct edl_error *error)
{
    bool past = false;
    unsigned number = 0;

    for (const char *line = text; line < text + size;) {
        const char *end = memchr(line, '\n', (size_t)(text + size - line));
        size_t n = (size_t)((end != NULL ? end : text + size) - line);

        number++;
        past = past || is_command(line, n);
        if (is_of_options(line, n)) {
            int r = past ? 0 : read_line(script, wants, line, n, error);

            if (r < 0) {
                name_line(error, name, number);
                return r;
            }
            *ret_any = *ret_any || !past;
            if (past && script->late_line == 0)
                script->late_line = number;
        }
        line += n + 1;
    }
    return 0;
}

/* ---- how it is started ---- */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* interpreter_of - of "python3.11" that of "python3"; NULL: none that takes a text. The words of
 * the first line are in start: the program, and one more at most, as the kernel has it. */
static bool find_interpreter(const struct word_list *start, size_t *ret)
{
    const char *program = base_of(start->words[start->n - 1]);

    if (start->n > 1 && start->words[1][0] == '-' && !streq(base_of(start->words[0]), "env"))
        program = base_of(start->words[0]);
    program += strspn(program, "-");
    for (size_t i = 0; i < ELEMENTS(interpreters); i++) {
        size_t n = strlen(interpreters[i].name);

        if (strncmp(program, interpreters[i].name, n) == 0 &&
            program[n + strspn(program + n, "0123456789.")] == '\0') {
            *ret = i;
            return true;
        }
    }
    return false;
}

static void read_first_line(struct job_script *script, const char *text, size_t size)
{
    const char *end = memchr(text, '\n', size);
    size_t n = end != NULL ? (size_t)(end - text) : size, first, last = n;
    size_t at = 2;

    if (size < 2 || strncmp(text, "#!", 2) != 0) {
        word_list_take(&script->start, xstrdup("/bin/sh"));
        return;
    }
    while (at < n && (text[at] == ' ' || text[at] == '\t'))
        at++;
    for (first = at; at < n && text[at] != ' ' && text[at] != '\t';)
        at++;
    word_list_take(&script->start, text_format("%.*s", (int)(at - first), text + first));
    while (at < n && (text[at] == ' ' || text[at] == '\t'))
        at++;
    while (last > at && (text[last - 1] == ' ' || text[last - 1] == '\t'))
        last--;
    if (at < last)
        word_list_take(&script->start, text_format("%.*s", (int)(last - at), text + at));
}

static int make_start(struct job_script *script, const char *name, const char *text, size_t size,
                      struct edl_error *error)
{
    size_t i = 0;

    read_first_line(script, text, size);
    if (!find_interpreter(&script->start, &i)) {
        (void)edl_error_set(error, -EINVAL, "%s is a script of %.80s, which takes no text", name,
                            script->start.words[0]);
        return edl_error_remedy(error, "edl submit -- %.80s %s", script->start.words[0], name);
    }
    word_list_take(&script->start, xstrdup(interpreters[i].option));
    word_list_take(&script->start, xstrdup(script->text));
    if (interpreters[i].takes_name)
        word_list_take(&script->start, xstrdup(name));
    return 0;
}

static int check_text(const char *name, const char *text, size_t size, struct edl_error *error)
{
    if (size > SCRIPT_MAX_BYTES) {
        (void)edl_error_set(error, -E2BIG, "the script %s has more than %d bytes", name,
                            SCRIPT_MAX_BYTES);
        return edl_error_remedy(error, "edl submit [OPTION]... -- sh %s, in a folder that is sent",
                                name);
    }
    if (memchr(text, '\0', size) != NULL)
        return edl_error_set(error, -EINVAL, "the script %s holds a byte 0 and is no text", name);
    if (memchr(text, '\r', size) != NULL) {
        (void)edl_error_set(error, -EINVAL, "the script %s has line ends of DOS", name);
        return edl_error_remedy(error, "sed -i 's/\\r$//' %s", name);
    }
    return 0;
}

int job_script_parse(const char *name, const char *text, size_t size, bool always,
                     struct job_script *ret, struct edl_error *error)
{
    struct slurm_wants wants = { 0 };
    bool any = false;
    int r;

    *ret = (struct job_script){ 0 };
    word_list_take(&ret->words, text_format("--name-like=%s", base_of(name)));
    r = read_lines(ret, &wants, name, text, MIN_OF(size, (size_t)SCRIPT_MAX_BYTES), &any, error);
    if (r == 0 && (any || always)) {
        r = check_text(name, text, size, error);
        if (r == 0)
            r = slurm_wants_finish(&wants, error);
        if (r == 0) {
            copy_words(&ret->words, &wants.words);
            ret->text = text_format("%.*s", (int)size, text);
            ret->reads_slurm = strstr(ret->text, "SLURM_") != NULL;
            r = make_start(ret, name, text, size, error);
        }
        r = r == 0 ? 1 : r;
    }
    slurm_wants_clear(&wants);
    return r;
}

void job_script_clear(struct job_script *script)
{
    free(script->text);
    word_list_clear(&script->words);
    word_list_clear(&script->start);
    *script = (struct job_script){ 0 };
}
