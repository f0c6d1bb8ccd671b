/* SPDX-License-Identifier: Apache-2.0 */
/* command.c - whether a command starts mpirun itself */
#include "mpi/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/text_format.h"

#define MPIRUN "mpirun"
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
#define WORD_ENDS " \t\r\n;&|()<>{}'\"`$=,"

static const char *base_of(const char *word)
{
    const char *slash = strrchr(word, '/');

    return slash != NULL ? slash + 1 : word;
}

static bool is_launcher(const char *word)
{
    static const char *const names[] = { MPIRUN, "mpiexec", "orterun" };
    const char *base = base_of(word);

    for (size_t i = 0; i < ELEMENTS(names); i++) {
        size_t n = strlen(names[i]);

        if (strncmp(base, names[i], n) == 0 && (base[n] == '\0' || base[n] == '.'))
            return true;
    }
    return false;
}

static bool is_script(const char *word)
{
    size_t n = strlen(word);

    return n > 3 && streq(word + n - 3, ".sh");
}

/* Programs that start what stands behind them. */
static bool is_starter(const char *word)
{
    static const char *const names[] = { "sh",   "bash", "dash",   "ksh",    "zsh",
                                         "env",  "nice", "nohup",  "stdbuf", "timeout",
                                         "time", "exec", "taskset" };
    const char *base = base_of(word);

    for (size_t i = 0; i < ELEMENTS(names); i++)
        if (streq(base, names[i]))
            return true;
    return false;
}

/* A launcher tells more than a script: it can be looked for. NULL: the text has neither. */
static char *find_word(const char *text, bool scripts)
{
    _cleanup_free_ char *copy = xstrdup(text), *script = NULL;
    char *rest = copy, *word;

    while ((word = strsep(&rest, WORD_ENDS)) != NULL) {
        if (is_launcher(word))
            return xstrdup(word);
        if (scripts && script == NULL && is_script(word))
            script = xstrdup(word);
    }
    return TAKE_PTR(script);
}

bool mpi_text_launches(const char *text)
{
    _cleanup_free_ char *word = find_word(text, true);

    return word != NULL;
}

/* The launcher in the beginning of a script; NULL: it is no script, or has none. What a comment
 * says counts as well: one that is not started at all is told of at the end. */
static char *find_in_file(const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    _cleanup_free_ char *text = xcalloc(1, MPI_SCRIPT_BYTES_MAX + 1);
    struct stat st;
    ssize_t n;

    if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
        return NULL;
    n = read(fd, text, MPI_SCRIPT_BYTES_MAX);
    if (n < 2 || strncmp(text, "#!", 2) != 0)
        return NULL;
    for (ssize_t i = 0; i < n; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    return find_word(text, false);
}

/* A script is as good as a launcher; *ret: the launcher in it where one is seen. */
static bool take_script(const char *word, char **ret)
{
    _cleanup_free_ char *path = mpi_program_find(word, NULL);
    char *launcher = find_in_file(path != NULL ? path : word);

    if (launcher == NULL && !is_script(word))
        return false;
    *ret = launcher != NULL ? launcher : xstrdup(MPIRUN);
    return true;
}

static bool take_text(const char *text, char **ret)
{
    char *word = find_word(text, true);

    if (word == NULL)
        return false;
    if (is_launcher(word)) {
        *ret = word;
        return true;
    }
    (void)take_script(word, ret);
    free(word);
    return true;
}

bool mpi_command_launches(char *const *argv, char **ret_word)
{
    if (is_launcher(argv[0])) {
        *ret_word = xstrdup(argv[0]);
        return true;
    }
    if (take_script(argv[0], ret_word))
        return true;
    for (size_t i = 1; is_starter(argv[0]) && argv[i] != NULL; i++)
        if (take_text(argv[i], ret_word) || take_script(argv[i], ret_word))
            return true;
    *ret_word = xstrdup(MPIRUN);
    return false;
}

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *mpi_program_find(const char *name, const char *path)
{
    const char *folders = path != NULL ? path : getenv("PATH");
    _cleanup_free_ char *copy = xstrdup(folders != NULL ? folders : DEFAULT_PATH);
    char *rest = copy, *folder;

    if (strchr(name, '/') != NULL)
        return is_program(name) ? xstrdup(name) : NULL;
    while ((folder = strsep(&rest, ":")) != NULL) {
        _cleanup_free_ char *file = text_format("%s/%s", *folder != '\0' ? folder : ".", name);

        if (is_program(file))
            return TAKE_PTR(file);
    }
    return NULL;
}

char **mpi_command_wrap(char *const *argv, char *count)
{
    static char mpirun[] = MPIRUN, option[] = "-n";
    size_t n = 0;
    char **words;

    while (argv[n] != NULL)
        n++;
    words = xcalloc(n + 4, sizeof *words);
    words[0] = mpirun;
    words[1] = option;
    words[2] = count;
    memcpy(words + 3, argv, n * sizeof *words);
    return words;
}
