/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_list.c - the files of a folder that would be sent, and those that would not: `edl
 * workspace add --list` */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/json_read.h"
#include "client/report.h"
#include "client/text.h"
#include "client/verb.h"
#include "client/workspace_program.h"
#include "client/workspace_send.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/printable.h"

/* What edl-workspace tells of one path: "+" and its bytes, "-" ("-/": a folder) and by what. */
struct told {
    char *kind, *what, *path; /* owned */
};

/* json_name - a name may hold bytes that are no UTF-8: these become "?" */
static json_t *json_name(const char *name)
{
    _cleanup_free_ char *plain = NULL;
    json_t *json = json_string(name);

    if (json != NULL)
        return json;
    plain = xstrdup(name);
    for (char *c = plain; *c != '\0'; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    return json_string(plain);
}

static void print_path(const struct told *told)
{
    bool out = told->kind[0] == '-';
    char size[32];

    (void)printf("%10s  ",
                 out ? "left out" : text_bytes(strtoull(told->what, NULL, 10), size, sizeof size));
    printable_write(stdout, told->path, strlen(told->path), "");
    if (out) {
        (void)fputs(streq(told->kind, "-/") ? "/  by " : "  by ", stdout);
        printable_write(stdout, told->what, strlen(told->what), "");
    }
    (void)fputc('\n', stdout);
}

static void add_path(json_t *all, const struct told *told)
{
    json_t *one = json_pack("{s:o}", "path", json_name(told->path));

    if (told->kind[0] == '+') {
        (void)json_object_set_new(one, "bytes", json_integer(strtoll(told->what, NULL, 10)));
        (void)json_array_append_new(json_object_get(all, "sent"), one);
        return;
    }
    (void)json_object_set_new(one, "folder", json_boolean(streq(told->kind, "-/")));
    (void)json_object_set_new(one, "by", json_name(told->what));
    (void)json_array_append_new(json_object_get(all, "left_out"), one);
}

static void add_sums(json_t *all, const char *sums)
{
    uint64_t files = 0, bytes = 0, out_files = 0, out_bytes = 0;

    (void)sscanf(sums, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &files, &bytes, &out_files,
                 &out_bytes);
    (void)json_object_update_new(all, json_pack("{s:I, s:I, s:I, s:I}", "files", (json_int_t)files,
                                                "bytes", (json_int_t)bytes, "left_out_files",
                                                (json_int_t)out_files, "left_out_bytes",
                                                (json_int_t)out_bytes));
}

/* read_text - up to a zero byte; false: there is none */
static bool read_text(FILE *file, char **ret)
{
    size_t room = 0;

    return getdelim(ret, &room, '\0', file) > 0 || (*ret != NULL && feof(file) == 0);
}

/* read_one - false: it has told everything */
static bool read_one(FILE *file, struct told *ret)
{
    return read_text(file, &ret->kind) && read_text(file, &ret->what) &&
           read_text(file, &ret->path);
}

static void read_all(FILE *file, json_t *all)
{
    for (bool more = true; more;) {
        struct told told = { 0 };

        more = read_one(file, &told);
        if (more && streq(told.kind, "=") && all != NULL)
            add_sums(all, told.what);
        else if (more && all != NULL)
            add_path(all, &told);
        else if (more && !streq(told.kind, "="))
            print_path(&told);
        free(told.kind);
        free(told.what);
        free(told.path);
    }
}

int workspace_list(const char *folder, bool json)
{
    _cleanup_free_ char *path = workspace_folder(folder);
    const char *argv[] = { "edl-workspace", "list", path, NULL };
    _cleanup_json_ json_t *all = json ? json_pack("{s:[], s:[]}", "sent", "left_out") : NULL;
    struct workspace_program program;
    struct edl_error error = { 0 };
    int r = workspace_program_start(argv, -1, &program, &error);

    if (r < 0)
        return report_error(&error);
    read_all(program.told, all);
    r = workspace_program_end(&program, &error);
    if (r < 0)
        return report_error(&error);
    if (r == 0 && json)
        json_print(all);
    return r == 0 ? STATUS_OK : STATUS_FAILED;
}
