/* SPDX-License-Identifier: Apache-2.0 */
/* conf.c - see conf.h
 *
 * libyaml reads the grammar; its events are taken as they come, so that the line of each value is
 * known when it is refused. */
#include "shared/conf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"

struct parse {
    const char *path;
    const struct conf_reader *reader;
    yaml_parser_t yaml;
    char *key;    /* of the value that comes next; NULL: a key comes next */
    bool in_list; /* of values of that key */
    bool in_map;  /* the one that the file is */
    struct edl_error *error;
};

static int refuse_at(struct parse *parse, size_t line, const char *what)
{
    (void)edl_error_set(parse->error, -EINVAL, "%s:%zu: %s", parse->path, line + 1, what);
    (void)edl_error_remedy(parse->error, "write \"key: value\" or \"key: [value, value]\"");
    return -EINVAL;
}

static int take_value(struct parse *parse, const char *value, size_t line)
{
    struct edl_error why = { 0 };
    int r = parse->reader->setting(parse->key, value, parse->reader->userdata, &why);

    if (r >= 0)
        return 0;
    (void)edl_error_set(parse->error, r, "%s:%zu: %.80s: %s", parse->path, line + 1, parse->key,
                        why.text);
    (void)edl_error_remedy(parse->error, "%s", why.remedy);
    return r;
}

static int take_scalar(struct parse *parse, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    int r;

    if (!parse->in_map || strlen(text) != event->data.scalar.length)
        return refuse_at(parse, event->start_mark.line, "this is not a setting");
    if (parse->key == NULL) {
        parse->key = xstrdup(text);
        return 0;
    }
    r = take_value(parse, text, event->start_mark.line);
    if (!parse->in_list) {
        free(parse->key);
        parse->key = NULL;
    }
    return r;
}

/* take_event - 1: that was the last */
static int take_event(struct parse *parse, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(parse, event);
    case YAML_MAPPING_START_EVENT:
        if (parse->in_map)
            break;
        parse->in_map = true;
        return 0;
    case YAML_SEQUENCE_START_EVENT:
        if (parse->key == NULL || parse->in_list)
            break;
        parse->in_list = true;
        return 0;
    case YAML_SEQUENCE_END_EVENT:
        parse->in_list = false;
        free(parse->key);
        parse->key = NULL;
        return 0;
    case YAML_ALIAS_EVENT:
        break;
    case YAML_STREAM_END_EVENT:
        return 1;
    default:
        return 0;
    }
    return refuse_at(parse, event->start_mark.line, "settings have one level, and no aliases");
}

static int parse_all(struct parse *parse)
{
    int r = 0;

    while (r == 0) {
        yaml_event_t event;

        if (yaml_parser_parse(&parse->yaml, &event) == 0)
            return refuse_at(parse, parse->yaml.problem_mark.line,
                             parse->yaml.problem != NULL ? parse->yaml.problem : "cannot be read");
        r = take_event(parse, &event);
        yaml_event_delete(&event);
    }
    return r < 0 ? r : 0;
}

/* Who may write to it decides what this program does. */
static int check_owner(const char *path, int fd, struct edl_error *error)
{
    struct stat st;

    if (fstat(fd, &st) == -1)
        return edl_error_errno(error, -errno, "cannot look at %s", path);
    if (!S_ISREG(st.st_mode))
        return edl_error_set(error, -EINVAL, "%s is not a file", path);
    if ((st.st_uid == 0 || st.st_uid == geteuid()) && (st.st_mode & 022) == 0)
        return 0;
    (void)edl_error_set(error, -EPERM, "others may write to %s", path);
    return edl_error_remedy(error, "chown %lu %s; chmod go-w %s", (unsigned long)geteuid(), path,
                            path);
}

int conf_read(const char *path, const struct conf_reader *reader, struct edl_error *error)
{
    struct parse parse = { .path = path, .reader = reader, .error = error };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    _cleanup_fclose_ FILE *file = fd != -1 ? fdopen(fd, "r") : NULL;
    int r;

    if (file == NULL)
        return edl_error_errno(error, -errno, "cannot open %s", path);
    r = check_owner(path, fd, error);
    if (r < 0)
        return r;
    if (yaml_parser_initialize(&parse.yaml) == 0)
        return edl_error_set(error, -ENOMEM, "cannot read %s: no memory", path);
    yaml_parser_set_input_file(&parse.yaml, file);
    if (reader->begin_file != NULL)
        reader->begin_file(reader->userdata);
    r = parse_all(&parse);
    free(parse.key);
    yaml_parser_delete(&parse.yaml);
    return r;
}

static int is_conf(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);

    return entry->d_name[0] != '.' && n > 5 && streq(entry->d_name + n - 5, ".conf");
}

int conf_read_folder(const char *path, const struct conf_reader *reader, struct edl_error *error)
{
    char folder[512];
    struct dirent **entries = NULL;
    int n, r = 0;

    if (snprintf(folder, sizeof folder, "%s.d", path) >= (int)sizeof folder)
        return edl_error_set(error, -ENAMETOOLONG, "the path %s is too long", path);
    n = scandir(folder, &entries, is_conf, alphasort);
    if (n == -1)
        return errno == ENOENT ? 0 : edl_error_errno(error, -errno, "cannot read %s", folder);
    for (int i = 0; i < n; i++) {
        char file[sizeof folder + 256];

        (void)snprintf(file, sizeof file, "%s/%s", folder, entries[i]->d_name);
        if (r == 0)
            r = conf_read(file, reader, error);
        free(entries[i]);
    }
    free(entries);
    return r;
}

int conf_read_all(const char *given, const char *fallback, const struct conf_reader *reader,
                  struct edl_error *error)
{
    const char *path = given != NULL ? given : fallback;
    int r;

    if (path == NULL || *path == '\0')
        return 0;
    r = conf_read(path, reader, error);
    if (r == -ENOENT && given == NULL)
        r = 0;
    return r < 0 ? r : conf_read_folder(path, reader, error);
}

const char *conf_argument(int argc, char **argv, const struct option *long_options, int key)
{
    const char *found = NULL;
    int c;

    optind = 1;
    opterr = 0;
    while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1)
        if (c == key)
            found = optarg;
    return found;
}

int conf_refuse_key(const char *key, const char *const *known, size_t n_known, const char *page,
                    struct edl_error *error)
{
    const char *nearest = nearest_word(key, known, n_known);

    (void)edl_error_set(error, -EINVAL, "there is no such key in this file");
    return edl_error_remedy(error, "%s%s; %s lists all", nearest != NULL ? "write " : "",
                            nearest != NULL ? nearest : "leave it out", page);
}
