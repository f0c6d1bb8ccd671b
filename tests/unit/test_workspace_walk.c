/* SPDX-License-Identifier: Apache-2.0 */
/* test_workspace_walk.c - which files of a folder are its workspace, beside git's own opinion
 *
 * A folder that no node would take is refused before it is packed. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/workspace/workspace_sweep.h"
#include "agent/workspace/workspace_tell.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/ignore_rules.h"
#include "shared/macro.h"
#include "shared/workspace_pack.h"
#include "shared/workspace_scan.h"
#include "shared/workspace_path.h"
#include "shared/workspace_unpack.h"
#include "shared/workspace_walk.h"
#include "tests/unit/test.h"

#define ROUNDS 40
#define LIST_BYTES ((size_t)1 << 16)

struct fixture {
    char root[64], in[80];
    struct edl_error error;
    struct workspace_scan scan;
    struct unpack_limits limits;
};

/* put - a file or, for "x/", a folder; text with its folders made */
static void put(const struct fixture *f, const char *path, const char *text)
{
    _cleanup_free_ char *whole = text_format("%s/%s", f->in, path);
    _cleanup_fclose_ FILE *file = NULL;

    for (char *slash = strchr(whole + strlen(f->in) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(whole, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    if (path[strlen(path) - 1] == '/')
        return;
    file = fopen(whole, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)snprintf(f->root, sizeof f->root, "/tmp/edl-test-walk-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    (void)snprintf(f->in, sizeof f->in, "%s/in", f->root);
    assert_int_equal(mkdir(f->in, 0700), 0);
    f->limits = unpack_limits_default;
    *state = f;
    return 0;
}

/* empty - the folder, as it was after setup */
static void empty(const struct fixture *f)
{
    _cleanup_free_ char *none = text_format("%s.none", f->root);
    size_t removed;

    assert_int_equal(mkdir(none, 0700), 0);
    assert_int_equal(workspace_sweep(f->root, none, &removed, NULL), 0);
    assert_int_equal(rmdir(none), 0);
    assert_int_equal(mkdir(f->in, 0700), 0);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    empty(f);
    assert_int_equal(rmdir(f->in), 0);
    assert_int_equal(rmdir(f->root), 0);
    free(f);
    return 0;
}

TEST_EACH(setup, teardown);

/* ---- what is taken ---- */

struct list {
    char text[LIST_BYTES]; /* paths of files and links, a line each, in the order of the bytes */
    char out[1024];
};

static void append(char *text, size_t size, const char *line)
{
    size_t used = strlen(text);

    assert_true(used + strlen(line) + 2 < size);
    (void)snprintf(text + used, size - used, "%s\n", line);
}

static int take(void *userdata, const struct walk_entry *entry, struct edl_error *error)
{
    struct list *list = userdata;

    (void)error;
    if (!S_ISDIR(entry->st->st_mode))
        append(list->text, sizeof list->text, entry->path);
    return 0;
}

static int leave(void *userdata, const struct walk_entry *entry, const struct walk_reason *reason,
                 struct edl_error *error)
{
    struct list *list = userdata;
    _cleanup_free_ char *line = text_format("%s by %s%s:%zu", entry->path, reason->folder,
                                            walk_rule_name(reason->rule), reason->line);

    (void)error;
    append(list->out, sizeof list->out, line);
    return 0;
}

static struct list *walk(struct fixture *f)
{
    struct list *list = xcalloc(1, sizeof *list);
    const struct walk_visitor visitor = { .take = take, .leave = leave, .userdata = list };

    if (workspace_walk(f->in, &visitor, &f->error) < 0)
        fail_msg("%s", f->error.text);
    return list;
}

TEST(files_of_rules_count_for_what_is_below_them)
{
    struct fixture *f = *state;
    _cleanup_free_ struct list *list = NULL;

    put(f, ".gitignore", "*.o\n/build/\n");
    put(f, "a.o", "");
    put(f, "b.c", "");
    put(f, "build/x", "");
    put(f, "src/build/x", "");
    put(f, "src/.gitignore", "!keep.o\n/*.c\n");
    put(f, "src/keep.o", "");
    put(f, "src/d.c", "");
    put(f, "src/e/d.c", "");
    list = walk(f);
    assert_string_equal(list->text, ".gitignore\nb.c\nsrc/.gitignore\nsrc/build/x\nsrc/e/d.c\n"
                                    "src/keep.o\n");
    assert_string_equal(list->out, "a.o by .gitignore:1\nbuild by .gitignore:2\n"
                                   "src/d.c by src/.gitignore:2\n");
}

TEST(edlignore_has_the_last_word)
{
    struct fixture *f = *state;
    _cleanup_free_ struct list *list = NULL;

    put(f, ".edlignore", "!/weights.bin\n!/venv/\nnotes.txt\n");
    put(f, ".gitignore", "*.bin\nvenv/\n");
    put(f, "weights.bin", "");
    put(f, "other.bin", "");
    put(f, "venv/x", "");
    put(f, "notes.txt", "");
    put(f, "deep/.gitignore", "!notes.txt\n");
    put(f, "deep/notes.txt", "");
    list = walk(f);
    assert_string_equal(list->text,
                        ".edlignore\n.gitignore\ndeep/.gitignore\nvenv/x\nweights.bin\n");
    assert_non_null(strstr(list->out, "deep/notes.txt by .edlignore:3\n"));
}

TEST(git_itself_stays_unless_edlignore_brings_it_back)
{
    struct fixture *f = *state;
    _cleanup_free_ struct list *list = NULL, *back = NULL;

    put(f, ".git/config", "");
    put(f, "sub/.git", "gitdir: elsewhere");
    put(f, "x", "");
    put(f, ".gitignore", "!.git\n");
    list = walk(f);
    assert_string_equal(list->text, ".gitignore\nx\n");
    assert_string_equal(list->out, ".git by .git:0\nsub/.git by .git:0\n");
    put(f, ".edlignore", "!/.git/\n");
    back = walk(f);
    assert_non_null(strstr(back->text, ".git/config\n"));
}

TEST(a_file_of_rules_that_is_a_link_has_none)
{
    struct fixture *f = *state;
    _cleanup_free_ char *link = text_format("%s/.gitignore", f->in);
    _cleanup_free_ struct list *list = NULL;

    put(f, "rules", "*\n");
    assert_int_equal(symlink("rules", link), 0);
    list = walk(f);
    assert_string_equal(list->text, ".gitignore\nrules\n");
}

TEST(rules_that_cannot_be_followed_are_named)
{
    struct fixture *f = *state;
    _cleanup_free_ char *text = xcalloc(1, 5002);
    const struct walk_visitor visitor = { .take = NULL };

    memset(text, 'x', 5000);
    put(f, "d/.edlignore", text);
    assert_int_equal(workspace_walk(f->in, &visitor, &f->error), -EINVAL);
    assert_string_equal(f->error.text, "d/.edlignore: line 1 is longer than 4096 bytes");
}

/* ---- beside git ---- */

/* pick - one of n, from a seed that goes on */
static size_t pick(uint64_t *seed, size_t n)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (size_t)(*seed >> 33) % n;
}

static const char *const names[] = { "a", "b", "ab", "c d", "[a]", "a.o", "!x", "-", "e\\f", "A1" };

static void put_tree(const struct fixture *f, uint64_t *seed)
{
    for (int i = 0; i < 25; i++) {
        char path[200] = "";

        for (size_t depth = 1 + pick(seed, 4); depth > 0; depth--) {
            size_t used = strlen(path);

            (void)snprintf(path + used, sizeof path - used, "%s%s%s", used > 0 ? "/" : "",
                           depth > 1 ? "d" : "", names[pick(seed, ELEMENTS(names))]);
        }
        put(f, path, "");
    }
}

static void put_rules(const struct fixture *f, uint64_t *seed, const char *path)
{
    static const char *const pieces[] = { "a",     "b",   "d",   "/",  "/",           "*",
                                          "*",     "**",  "**/", "?",  "[ab]",        "[!a]",
                                          "\\",    "!",   "#",   " ",  ".o",          "/*",
                                          "[a-c]", "c d", "da/", "\n", "[[:upper:]]", "[^a-d]" };
    char text[1024] = "";

    for (size_t lines = 1 + pick(seed, 6); lines > 0; lines--) {
        if (pick(seed, 4) == 0)
            append(text, sizeof text, "!*a*");
        for (size_t n = 1 + pick(seed, 5); n > 0; n--) {
            size_t used = strlen(text);

            (void)snprintf(text + used, sizeof text - used, "%s",
                           pieces[pick(seed, ELEMENTS(pieces))]);
        }
        append(text, sizeof text, "");
    }
    put(f, path, text);
}

/* git - in the folder, its output to list; -1: it is not there */
static int git(const struct fixture *f, const char *const arguments[], char *list, size_t size)
{
    const char *argv[12] = { "git", "-C", f->in };
    const char *env[] = { "HOME=/nonexistent",     "XDG_CONFIG_HOME=/nonexistent",
                          "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
                          "PATH=/usr/bin:/bin",    NULL };
    posix_spawn_file_actions_t actions;
    int both[2], status = -1, r;
    size_t used = 0;
    ssize_t n;
    pid_t pid;

    for (size_t i = 0; arguments[i] != NULL; i++)
        argv[i + 3] = arguments[i];
    assert_int_equal(pipe2(both, O_CLOEXEC), 0);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, both[1], STDOUT_FILENO);
    /* why the casts: it writes to none of them */
    r = posix_spawnp(&pid, "git", &actions, NULL, (char *const *)(uintptr_t)argv,
                     (char *const *)(uintptr_t)env);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)safe_close(both[1]);
    while (r == 0 && used + 1 < size && (n = read(both[0], list + used, size - 1 - used)) > 0)
        used += (size_t)n;
    (void)safe_close(both[0]);
    if (r != 0)
        return -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    list[used] = '\0';
    for (size_t i = 0; i < used; i++)
        if (list[i] == '\0')
            list[i] = '\n';
    return status == 0 ? 0 : -1;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* sorted - the lines of a text in the order of their bytes; new string */
static char *sorted(char *text)
{
    char *lines[2000], *rest = text, *all = xcalloc(1, LIST_BYTES);
    size_t n = 0;

    for (char *end; (end = strchr(rest, '\n')) != NULL && n < ELEMENTS(lines); rest = end + 1) {
        *end = '\0';
        lines[n++] = rest;
    }
    qsort(lines, n, sizeof lines[0], by_bytes);
    for (size_t i = 0; i < n; i++)
        append(all, LIST_BYTES, lines[i]);
    return all;
}

TEST(git_takes_the_same_files)
{
    static const char *const init[] = { "init", "-q", NULL };
    static const char *const files[] = { "ls-files", "--others", "--exclude-standard", "-z", NULL };
    static const char *const rules[] = { ".gitignore", "da/.gitignore", "db/da/.gitignore",
                                         "dab/.gitignore" };
    const char *given = getenv("EDL_SEED");
    uint64_t first = given != NULL ? strtoull(given, NULL, 10) : 1;
    struct fixture *f = *state;
    size_t taken = 0;

    for (uint64_t round = first; round < first + ROUNDS; round++) {
        _cleanup_free_ char *theirs = xcalloc(1, LIST_BYTES), *wanted = NULL, *got = NULL;
        _cleanup_free_ struct list *list = NULL;
        uint64_t seed = round * 7919;

        empty(f);
        put_tree(f, &seed);
        for (size_t i = 0; i < ELEMENTS(rules); i++)
            put_rules(f, &seed, rules[i]);
        if (git(f, init, theirs, LIST_BYTES) < 0)
            skip();
        assert_int_equal(git(f, files, theirs, LIST_BYTES), 0);
        list = walk(f);
        wanted = sorted(theirs);
        got = sorted(list->text);
        taken += strlen(got);
        if (!streq(wanted, got))
            fail_msg("EDL_SEED=%llu: git takes\n%snot\n%s", (unsigned long long)round, wanted, got);
    }
    assert_true(taken >
                ROUNDS * (size_t)20); /* rules that leave out everything would test little */
}

/* ---- what no node takes ---- */

static int scan(struct fixture *f)
{
    f->error = (struct edl_error){ 0 };
    return workspace_scan(f->in, &f->limits, NULL, &f->scan, &f->error);
}

/* assert_told - the text, and that a line in .edlignore is offered */
static void assert_told(const struct fixture *f, const char *text, const char *line)
{
    if (strstr(f->error.text, text) == NULL)
        fail_msg("\"%s\" says nothing of \"%s\"", f->error.text, text);
    if (strstr(f->error.remedy, ".edlignore: ") == NULL || strstr(f->error.remedy, line) == NULL)
        fail_msg("\"%s\" does not offer %s", f->error.remedy, line);
}

TEST(more_than_a_node_unpacks_is_refused)
{
    struct fixture *f = *state;

    put(f, "few/a", "x");
    put(f, "many/a", "");
    put(f, "many/b", "");
    put(f, "zlarge.bin", "0123456789");
    f->limits.entries = 6;
    assert_int_equal(scan(f), 0);
    f->limits.entries = 5;
    assert_int_equal(scan(f), -E2BIG);
    assert_told(f, "more than 5 files and folders", "/many/");
    assert_non_null(strstr(f->error.text, "3 of them are in many"));
    f->limits = (struct unpack_limits){ .entries = 100, .bytes = 11, .ratio = 200 };
    assert_int_equal(scan(f), 0);
    f->limits.bytes = 10;
    assert_int_equal(scan(f), -E2BIG);
    assert_told(f, "more than 10 bytes", "/zlarge.bin");
    put(f, ".edlignore", "/zlarge.bin\n");
    f->limits.bytes = 20;
    assert_int_equal(scan(f), 0);
    assert_int_equal(f->scan.out_files, 1);
    assert_int_equal(f->scan.out_bytes, 10);
}

TEST(what_is_packed_very_small_is_refused)
{
    struct fixture *f = *state;
    _cleanup_free_ char *path = text_format("%s/zeros", f->in);
    _cleanup_close_ int fd = memfd_create("archive", MFD_CLOEXEC);
    struct packed packed;

    put(f, "zeros", "");
    assert_int_equal(truncate(path, (off_t)72 << 20), 0);
    assert_int_equal(workspace_pack(f->in, fd, &f->limits, NULL, &packed, &f->error), -E2BIG);
    assert_told(f, "zeros: up to here the folder packs to less than 1/200", "/zeros");
    assert_int_equal(truncate(path, (off_t)60 << 20), 0);
    assert_int_equal(workspace_pack(f->in, fd, &f->limits, NULL, &packed, &f->error), 0);
}

/* scan_as_somebody - who may not read everything, as root may */
static int scan_as_somebody(struct fixture *f)
{
    uid_t own = geteuid();
    int r;

    if (own == 0)
        assert_int_equal(seteuid(65534), 0);
    r = scan(f);
    assert_int_equal(seteuid(own), 0);
    return r;
}

TEST(what_cannot_be_read_is_named)
{
    struct fixture *f = *state;
    _cleanup_free_ char *file = text_format("%s/secret", f->in);
    _cleanup_free_ char *folder = text_format("%s/shut", f->in);

    put(f, "secret", "");
    put(f, "shut/", NULL);
    assert_int_equal(chmod(f->root, 0755), 0);
    assert_int_equal(chmod(f->in, 0755), 0);
    assert_int_equal(chmod(file, 0), 0);
    assert_int_equal(scan_as_somebody(f), -EACCES);
    assert_told(f, "cannot read secret: Permission denied", "/secret");
    assert_int_equal(chmod(file, 0644), 0);
    assert_int_equal(chmod(folder, 0), 0);
    assert_int_equal(scan_as_somebody(f), -EACCES);
    assert_told(f, "cannot open the folder shut: Permission denied", "/shut/");
    put(f, ".edlignore", "/shut/\n");
    assert_int_equal(scan_as_somebody(f), 0);
    assert_int_equal(chmod(folder, 0700), 0);
}

TEST(what_lies_too_deep_is_named)
{
    struct fixture *f = *state;
    char path[1000] = "";

    for (int i = 0; i < 201; i++)
        strncat(path, "d/", sizeof path - strlen(path) - 1);
    put(f, path, NULL);
    assert_int_equal(scan(f), -ELOOP);
    assert_told(f, "is more than 200 folders deep", "/d/d/");
}

TEST(a_link_that_leads_out_is_named)
{
    struct fixture *f = *state;
    _cleanup_free_ char *link = text_format("%s/data", f->in);

    assert_int_equal(symlink("/mnt/data", link), 0);
    assert_int_equal(scan(f), -EPERM);
    assert_told(f, "data is a link to /mnt/data, which is outside", "/data;");
}

/* remove_next - as a program that works in the folder meanwhile; userdata: the folder */
static int remove_next(void *userdata, const struct walk_entry *entry, struct edl_error *error)
{
    const char *in = userdata;
    _cleanup_free_ char *file = text_format("%s/b", in);
    _cleanup_free_ char *rules = text_format("%s/c/.gitignore", in);

    (void)error;
    assert_false(streq(entry->name, "b"));
    if (streq(entry->name, "a"))
        assert_int_equal(unlink(file), 0);
    if (streq(entry->name, "c")) {
        assert_int_equal(unlink(rules), 0);
        *strrchr(rules, '/') = '\0';
        assert_int_equal(rmdir(rules), 0);
    }
    return 0;
}

TEST(what_goes_away_meanwhile_was_never_there)
{
    struct fixture *f = *state;
    const struct walk_visitor visitor = { .take = remove_next, .userdata = f->in };

    put(f, "a", "");
    put(f, "b", "");
    put(f, "c/.gitignore", "");
    put(f, "d", "");
    if (workspace_walk(f->in, &visitor, &f->error) < 0)
        fail_msg("%s", f->error.text);
}

/* ---- a virtual environment ---- */

TEST(interpreters_have_several_names)
{
    static const struct {
        const char *path, *target;
        bool is;
    } rows[] = {
        { "venv/bin/python", "/usr/bin/python3", true },
        { "venv/bin/python3.13t", "/usr/bin/python3.13t", true },
        { "venv/bin/python3-dbg", "/usr/bin/python3.11-dbg", true },
        { "venv/bin/python", "/opt/pypy/bin/pypy3.10", true },
        { "venv/bin/pypy3", "/usr/bin/pypy3", true },
        { "venv/bin/python", "/usr/bin/Python", false },
        { "venv/bin/python", "/usr/bin/perl", false },
        { "venv/bin/python", "/usr/bin/python3 x", false },
        { "venv/lib/python3", "/usr/bin/python3", false },
        { "venv/bin/python", "/usr/../python3", false },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        if (workspace_link_is_interpreter(rows[i].path, rows[i].target) != rows[i].is)
            fail_msg("%s -> %s", rows[i].path, rows[i].target);
}

TEST(a_virtual_environment_is_sent)
{
    struct fixture *f = *state;
    _cleanup_free_ char *python = text_format("%s/.venv/bin/python3", f->in);
    _cleanup_free_ char *again = text_format("%s/.venv/bin/python", f->in);
    _cleanup_free_ char *out = text_format("%s/out", f->root);
    _cleanup_free_ char *there = text_format("%s/.venv/bin/python3", out);
    _cleanup_close_ int fd = memfd_create("archive", MFD_CLOEXEC), dir_fd = -1;
    struct packed packed;
    char target[64] = "";

    put(f, ".venv/pyvenv.cfg", "home = /usr/bin\n");
    put(f, ".venv/bin/activate", "");
    assert_int_equal(symlink("/usr/bin/python3.11", python), 0);
    assert_int_equal(symlink("python3", again), 0);
    if (workspace_pack(f->in, fd, &f->limits, NULL, &packed, &f->error) < 0)
        fail_msg("%s", f->error.text);
    assert_string_equal(packed.scan.venv, ".venv/");
    assert_string_equal(packed.scan.interpreter, "/usr/bin/python3.11");
    assert_int_equal(mkdir(out, 0700), 0);
    dir_fd = open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    if (workspace_unpack(fd, dir_fd, packed.sha256, &f->limits, &f->error) < 0)
        fail_msg("%s", f->error.text);
    assert_int_equal(readlink(there, target, sizeof target - 1), 19);
    assert_string_equal(target, "/usr/bin/python3.11");
    assert_int_equal(chdir("/"), 0);
}

/* ---- what is told ---- */

TEST(what_was_left_out_is_told_in_one_line)
{
    struct workspace_scan told = { .out_files = 1204,
                                   .out_bytes = UINT64_C(310) << 20,
                                   .out_by = { [WALK_GITIGNORE] = true } };
    char line[256];

    assert_string_equal(workspace_tell_out(&told, line, sizeof line),
                        "left out 1,204 files, 310 MiB, by .gitignore");
    told = (struct workspace_scan){
        .out_files = 1, .out_bytes = 1536, .out_more = true, .out_by = { true, true, true }
    };
    assert_string_equal(
        workspace_tell_out(&told, line, sizeof line),
        "left out more than 1 file, 1.5 KiB, by .edlignore, .gitignore and .git (always)");
    told = (struct workspace_scan){ .files = 3 };
    assert_string_equal(workspace_tell_out(&told, line, sizeof line), "");
    told = (struct workspace_scan){ .out_by = { [WALK_GIT] = true } }; /* an empty folder */
    assert_string_equal(workspace_tell_out(&told, line, sizeof line), "");
}
