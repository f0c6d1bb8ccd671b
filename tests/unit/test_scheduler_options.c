/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler_options.c - the scheduler's command line and files: where it listens, defaults,
 * refusals, options that can change while it runs */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/options.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

TEST(test_listen_addresses)
{
    static const struct {
        const char *text, *address; /* NULL: refused */
        uint16_t port, mode;
        bool tls;
    } cases[] = {
        { "127.0.0.1:7010", "127.0.0.1", 7010, 0, false },
        { "127.8.8.8:0", "127.8.8.8", 0, 0, false },
        { "localhost:1", "127.0.0.1", 1, 0, false },
        { "[::1]:65535", "::1", 65535, 0, false },
        { "http://127.0.0.1:80", "127.0.0.1", 80, 0, false },
        /* beyond loopback: TLS, whatever is said */
        { "0.0.0.0:7010", "0.0.0.0", 7010, 0, true },
        { "10.0.0.1:7010", "10.0.0.1", 7010, 0, true },
        { "[::]:7010", "::", 7010, 0, true },
        { "[::ffff:127.0.0.1]:7010", "::ffff:127.0.0.1", 7010, 0, true },
        { "https://127.0.0.1:7010", "127.0.0.1", 7010, 0, true },
        { "http://0.0.0.0:7010", NULL, 0, 0, false },
        { "http://10.0.0.1:7010", NULL, 0, 0, false },
        { "unix:/run/s", "/run/s", 0, 0660, false },
        { "unix:/run/s,mode=0666", "/run/s", 0, 0666, false },
        { "unix:/run/s,mode=9", NULL, 0, 0, false },
        { "unix:/run/s,mode=7777", NULL, 0, 0, false },
        { "unix:/run/s,owner=me", NULL, 0, 0, false },
        { "unix:run/s", NULL, 0, 0, false },
        { "127.0.0.1", NULL, 0, 0, false },
        { "127.0.0.1:65536", NULL, 0, 0, false },
        { "127.0.0.1:-1", NULL, 0, 0, false },
        { "example.org:80", NULL, 0, 0, false },
        { "", NULL, 0, 0, false },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct listen_spec spec = { 0 };
        struct edl_error error = { 0 };
        int r = listen_spec_parse(cases[i].text, &spec, &error);

        if (cases[i].address == NULL) {
            assert_int_equal(r, -EINVAL);
            assert_true(error.remedy[0] != '\0');
            continue;
        }
        assert_int_equal(r, 0);
        assert_string_equal(spec.address, cases[i].address);
        assert_int_equal(spec.port, cases[i].port);
        assert_int_equal(spec.mode, cases[i].mode);
        assert_int_equal(spec.tls, cases[i].tls);
    }
}

#define ARGUMENTS_MAX 16

/* A state directory and no files of this machine, then these. */
static int parse(const char *const *more, struct scheduler_options *ret, struct edl_error *error)
{
    static const char *argv[ARGUMENTS_MAX]; /* which the options borrow */
    int argc = 0;
    bool done;

    argv[argc++] = "edl-scheduler";
    argv[argc++] = "--conf";
    argv[argc++] = "";
    for (; *more != NULL; more++)
        argv[argc++] = *more;
    argv[argc] = NULL;
    *error = (struct edl_error){ 0 };
    return options_parse(argc, (char **)(uintptr_t)argv, ret, &done, error);
}

#define PARSE(ret, error, ...) parse((const char *const[]){ __VA_ARGS__, NULL }, ret, error)

TEST(test_options_defaults)
{
    struct scheduler_options options;
    struct edl_error error;

    assert_int_equal(PARSE(&options, &error, "--state-dir", "/s", "--max-load", "0.9", "--lease",
                           "5s"),
                     0);
    assert_string_equal(options.port_file, "/s/address");
    assert_int_equal(options.max_load_permille, 900);
    assert_int_equal(options.lease_us, 5000000);
    assert_int_equal(options.n_listen, 1);
    assert_int_equal(options.listen[0].port, 7010);
    assert_false(options.listen[0].tls);
    assert_int_equal(options.socket_role, USER_USER);
    assert_int_equal(options.log_role, USER_OPERATOR);
    assert_int_equal(options.limits.user[HOLDING_INSTANCES], 1000000);
    assert_int_equal(options.limits.all[HOLDING_INSTANCES], 4000000);
    assert_int_equal(PARSE(&options, &error, "--state-dir=/s", "--socket-role", "viewer",
                           "--log-role=user", "--max-user-jobs=7", "--max-jobs=0", "--keep-days=3"),
                     0);
    assert_int_equal(options.socket_role, USER_VIEWER);
    assert_int_equal(options.log_role, USER_USER);
    assert_int_equal(options.limits.user[HOLDING_JOBS], 7);
    assert_int_equal(options.limits.all[HOLDING_JOBS], 0);
    assert_int_equal(options.keep_us, UINT64_C(3) * 24 * 3600 * USEC_PER_SEC);
}

TEST(test_refused)
{
    static const struct {
        const char *option, *text, *remedy;
    } rows[] = {
        { "--max-load=1.5", "--max-load: 1.5 is not a fraction", "--max-load 0.97" },
        { "--lease=1s", "--lease: 1s is not a time from 2s", "--lease 5s" },
        { "--policy=luck", "--policy: there is no policy \"luck\"", "known: " },
        { "--socket-role=operator", "--socket-role: operator is not one of", "edl user add" },
        { "--log-role=none", "--log-role: none is not one of", "--log-role viewer" },
        { "--max-jobs=many", "--max-jobs: many is not a whole number", "0: any number" },
        { "--keep-jobs=-1", "--keep-jobs: -1 is not a whole number", "0 keeps all of it" },
        { "--keep-days=x", "--keep-days: x is not a whole number", "0 keeps all of it" },
        { "--keep-logs=4Q", "--keep-logs: 4Q is not a number of bytes", "4Gi" },
        { "--listen=here", "--listen: here is not ADDRESS:PORT", "127.0.0.1:7010" },
        { "--name=a_b", "--name: a_b is not a host name", "cluster.example.org" },
        { "--port-file=", "--port-file: the path is empty", "" },
        { "--colour", "there is no option --colour", "--help" },
        { "--lease", "--lease needs a value: TIME", "--help" },
        { "more", "unexpected argument \"more\"", "--help" },
        { NULL, "--state-dir is missing", "--state-dir /var/lib/edl/scheduler" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        const char *const arguments[] = { rows[i].option != NULL ? "--state-dir=/s" : NULL,
                                          rows[i].option, NULL };
        struct scheduler_options options;
        struct edl_error error;

        assert_int_equal(parse(arguments, &options, &error), -EINVAL);
        if (strstr(error.text, rows[i].text) != error.text ||
            strstr(error.remedy, rows[i].remedy) == NULL)
            fail_msg("%s (%s), not: %s (%s)", error.text, error.remedy, rows[i].text,
                     rows[i].remedy);
    }
}

__attribute__((format(printf, 1, 0))) static char *make_text(const char *format, const char *text)
{
    char *made = NULL;

    assert_true(asprintf(&made, format, text) >= 0);
    return made;
}

static void write_file(const char *path, const char *text)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
}

struct files {
    char dir[64];
    char *conf, *folder, *first, *second;
};

static struct files make_files(void)
{
    struct files f = { .dir = "/tmp/edl-test-conf-XXXXXX" };

    assert_non_null(mkdtemp(f.dir));
    f.conf = make_text("%s/scheduler.conf", f.dir);
    f.folder = make_text("%s.d", f.conf);
    f.first = make_text("%s/10-a.conf", f.folder);
    f.second = make_text("%s/20-b.conf", f.folder);
    assert_int_equal(mkdir(f.folder, 0700), 0);
    return f;
}

static void remove_files(struct files *f)
{
    char *const paths[] = { f->conf, f->first, f->second, f->folder };

    for (size_t i = 0; i < ELEMENTS(paths); i++) {
        (void)remove(paths[i]);
        free(paths[i]);
    }
    (void)rmdir(f->dir);
}

TEST(test_files)
{
    struct files f = make_files();
    struct scheduler_options options;
    struct edl_error error;

    write_file(f.conf, "# comment\nstate-dir: /s\nlisten: [127.0.0.1:1, \"unix:/run/s\"]\n"
                       "name: [a.example.org, b.example.org]\nkeep-jobs: 10\nmax-jobs: 5\n"
                       "keep-free: 1Gi\n");
    write_file(f.first, "name: c.example.org\nkeep-jobs: 20\nmax-jobs: 6\n");
    write_file(f.second, "lease: 30s\nmax-jobs: 7\n");
    assert_int_equal(PARSE(&options, &error, "--conf", f.conf, "--max-jobs=8"), 0);
    assert_string_equal(options.state_dir, "/s");
    assert_int_equal(options.n_listen, 2);
    assert_true(options.listen[1].is_unix);
    assert_int_equal(options.n_names, 1); /* a list of a later file is the whole list */
    assert_string_equal(options.names[0], "c.example.org");
    assert_string_equal(options.names[1], "");
    assert_int_equal(options.keep_jobs, 20);
    assert_int_equal(options.limits.all[HOLDING_JOBS], 8); /* of the command line */
    assert_int_equal(options.workspaces.reserve_bytes, 1 << 30);
    assert_int_equal(options.lease_us, 30 * USEC_PER_SEC);
    assert_int_equal(PARSE(&options, &error, "--conf", f.conf, "--listen=[::1]:9", "--name=d.org",
                           "--name=e.org", "--state-dir=/t"),
                     0);
    assert_int_equal(options.n_listen, 1);
    assert_string_equal(options.listen[0].address, "::1");
    assert_int_equal(options.n_names, 2);
    assert_string_equal(options.names[1], "e.org");
    assert_string_equal(options.state_dir, "/t");
    remove_files(&f);
}

TEST(test_files_refused)
{
    static const struct {
        const char *text, *expected, *remedy;
    } rows[] = {
        { "state-dir: /s\nmax-jbos: 1\n", ":2: max-jbos: there is no such key", "max-jobs" },
        { "restore: /b\n", ":1: restore: there is no such key", "edl-scheduler(8)" },
        { "lease-keepr: /b\n", ":1: lease-keepr: there is no such key", "leave it out" },
        { "conf: /b\n", ":1: conf: there is no such key", "edl-scheduler(8)" },
        { "version: true\n", ":1: version: there is no such key", "edl-scheduler(8)" },
        { "keep-jobs: some\n", ":1: keep-jobs: some is not a whole number", "0 keeps all of it" },
        { "listen:\n - 127.0.0.1:1\n - here\n", ":3: listen: here is not ADDRESS", "127.0.0.1" },
        { "lease: {a: b}\n", ":1: settings have one level", "key: value" },
        { "state-dir: /s\n lease: [\n", ":2: mapping values are not allowed", "" },
    };
    struct files f = make_files();
    struct scheduler_options options;
    struct edl_error error;

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        write_file(f.conf, rows[i].text);
        assert_int_equal(PARSE(&options, &error, "--conf", f.conf, "--state-dir=/s"), -EINVAL);
        if (strncmp(error.text, f.conf, strlen(f.conf)) != 0 ||
            strstr(error.text, rows[i].expected) == NULL ||
            strstr(error.remedy, rows[i].remedy) == NULL)
            fail_msg("row %zu: %s (%s), not: %s", i, error.text, error.remedy, rows[i].expected);
    }
    write_file(f.conf, "state-dir: /s\n");
    assert_int_equal(PARSE(&options, &error, "--conf", f.second), -ENOENT);
    assert_int_equal(PARSE(&options, &error, "--conf", f.folder), -EINVAL);
    assert_int_equal(chmod(f.conf, 0620), 0);
    assert_int_equal(PARSE(&options, &error, "--conf", f.conf), -EPERM);
    assert_non_null(strstr(error.text, "others may write to"));
    assert_non_null(strstr(error.remedy, "chmod go-w"));
    remove_files(&f);
}

TEST(test_example)
{
    _cleanup_free_ char *path = NULL;
    struct scheduler_options options;
    struct edl_error error;

    path = make_text("%s/conf/examples/scheduler.conf",
                     getenv("EDL_SOURCE_DIR") != NULL ? getenv("EDL_SOURCE_DIR") : ".");
    if (PARSE(&options, &error, "--conf", path) != 0)
        fail_msg("%s", error.text);
    assert_int_equal(options.n_listen, 2);
    assert_int_equal(options.n_names, 1);
}

/* What bounds is taken over, what the state was built with is only told, again each time. */
TEST(test_take)
{
    struct option_change changes[OPTIONS_MAX];
    struct scheduler_options options, newer;
    struct edl_error error;

    assert_int_equal(PARSE(&options, &error, "--state-dir=/s", "--keep-days=9", "--name=a"), 0);
    assert_int_equal(options_take(&options, &options, changes), 0);
    assert_int_equal(PARSE(&newer, &error, "--state-dir=/s", "--lease=9s", "--max-user-jobs=3",
                           "--name=a", "--name=b"),
                     0);
    assert_int_equal(options_take(&options, &newer, changes), 4);
    assert_string_equal(changes[0].name, "name");
    assert_false(changes[0].taken);
    assert_string_equal(changes[1].name, "lease");
    assert_string_equal(changes[1].text, "9s");
    assert_false(changes[1].taken);
    assert_string_equal(changes[2].name, "keep-days");
    assert_string_equal(changes[2].text, ""); /* its default again */
    assert_true(changes[2].taken);
    assert_string_equal(changes[3].name, "max-user-jobs");
    assert_int_equal(options.limits.user[HOLDING_JOBS], 3);
    assert_int_equal(options.lease_us, 5 * USEC_PER_SEC);
    assert_int_equal(options.n_names, 1);
    assert_int_equal(options_take(&options, &newer, changes), 2);
}

/* Of the version before: it starts, is told of, and a reload finds no change in it. */
TEST(test_an_option_of_before_is_accepted)
{
    struct option_change changes[OPTIONS_MAX];
    struct files f = make_files();
    struct scheduler_options options, newer;
    struct edl_error error;

    assert_int_equal(PARSE(&options, &error, "--state-dir=/s"), 0);
    assert_null(options_gone(&options));
    assert_int_equal(PARSE(&newer, &error, "--state-dir=/s", "--lease-keeper=/run/k"), 0);
    assert_string_equal(options_gone(&newer), "lease-keeper");
    assert_int_equal(options_take(&options, &newer, changes), 0);
    write_file(f.conf, "state-dir: /s\nlease-keeper: /run/k\n");
    assert_int_equal(PARSE(&newer, &error, "--conf", f.conf), 0);
    assert_string_equal(options_gone(&newer), "lease-keeper");
    remove_files(&f);
}
