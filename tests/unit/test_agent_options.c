/* SPDX-License-Identifier: Apache-2.0 */
/* test_agent_options.c - the options of edl-agent about its node, and the machine's own figures */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/machine/inventory.h"
#include "agent/layout.h"
#include "agent/options.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define ARGUMENTS_MAX 32

/* The options that are needed, then these. */
static int parse(const char *const *more, struct agent_options *ret, struct edl_error *error)
{
    const char *argv[ARGUMENTS_MAX] = {
        "edl-agent", "--node",      "n1", "--scheduler", "unix:/s", "--join-token-file",
        "/t",        "--state-dir", "/d", "--conf",      ""
    }; /* not this machine's */
    int argc = 11;

    for (; *more != NULL; more++)
        argv[argc++] = *more;
    *error = (struct edl_error){ 0 };
    return options_parse(argc, (char **)(uintptr_t)argv, ret, error);
}

#define PARSE(ret, error, ...) parse((const char *const[]){ __VA_ARGS__, NULL }, ret, error)

static int without_labels(void **state)
{
    (void)state;
    return unsetenv("EDL_LABELS");
}

TEST_EACH(without_labels, NULL);

static void assert_labels(const struct agent_options *options, const char *expected)
{
    char text[256];

    assert_string_equal(labels_describe(&options->labels, text, sizeof text), expected);
}

TEST(test_labels)
{
    struct agent_options options;
    struct edl_error error;

    assert_int_equal(PARSE(&options, &error, "--label", "rack=r1", "--label=gpu=a100"), 0);
    assert_labels(&options, "gpu=a100,rack=r1");
    options_done(&options);
    assert_int_equal(setenv("EDL_LABELS", "zone=z,rack=r9,", 1), 0);
    assert_int_equal(PARSE(&options, &error, "--label", "rack=r1"), 0);
    assert_labels(&options, "rack=r1,zone=z"); /* the command line wins */
    options_done(&options);
}

TEST(test_gpus)
{
    struct agent_options options;
    struct edl_error error;

    assert_int_equal(PARSE(&options, &error, "--gpu-numa", "0,0,1,254", "--gpus", "4"), 0);
    assert_int_equal(options.gpus, 4);
    assert_memory_equal(options.gpu_numa, ((uint8_t[]){ 0, 0, 1, 254 }), 4);
    options_done(&options);
    assert_int_equal(PARSE(&options, &error, "--gpus", "64"), 0);
    assert_int_equal(options.gpus, 64);
    assert_true(options.gpus_given);
    options_done(&options);
}

TEST(test_runtime)
{
    struct agent_options options;
    struct edl_error error;

    assert_int_equal(PARSE(&options, &error, NULL), 0);
    assert_int_equal(options.runtime, AGENT_RUNTIME_AUTO);
    options_done(&options);
    assert_int_equal(PARSE(&options, &error, "--runtime", "systemd", "--runtime-dir", "/r"), 0);
    assert_int_equal(options.runtime, AGENT_RUNTIME_SYSTEMD);
    assert_string_equal(options.runtime_dir, "/r");
    options_done(&options);
    assert_int_equal(PARSE(&options, &error, "--runtime=direct"), 0);
    assert_int_equal(options.runtime, AGENT_RUNTIME_DIRECT);
    options_done(&options);
}

TEST(test_refused)
{
    static const struct {
        const char *environment, *arguments[4], *expected;
    } rows[] = {
        { NULL, { "--label", "Rack=1" }, "--label: \"Rack\" cannot be a label's name" },
        { NULL, { "--label", "rack" }, "--label: \"rack\" is not a label: name=value" },
        { "a=1,b", { NULL }, "EDL_LABELS: \"b\" is not a label" },
        { "a=,b=,c=,d=,e=,f=,g=,h=", { "--label", "i=" }, "EDL_LABELS: more than 8 labels" },
        { NULL, { "--runtime", "docker" }, "--runtime: 'docker' is not a valid value" },
        { NULL, { "--gpus", "65" }, "--gpus: a node has at most 64 devices" },
        { NULL, { "--gpus", "-1" }, "--gpus: '-1' is not a valid value" },
        { NULL,
          { "--gpus", "4", "--gpu-numa", "0,1" },
          "--gpu-numa places 2 devices, --gpus offers 4" },
        { NULL, { "--log-max", "255Ki" }, "--log-max: '255Ki' is too little: 256Ki at least" },
        { NULL, { "--map-user", "ann=" }, "--map-user: " },
        { NULL, { "--map-user", "=ann" }, "--map-user: " },
        { NULL, { "--map-user", "a:b" }, "--map-user: " },
        { NULL, { "--map-user", "a=b=c" }, "--map-user: " },
        { NULL, { "--user-range", "1000-1999" }, "--user-range: '1000-1999' does not lie between" },
        { NULL,
          { "--user-range", "70000-2147483648" },
          "--user-range: '70000-2147483648' does not lie between" },
        { NULL,
          { "--user-range", "70001-70000" },
          "--user-range: '70001-70000' does not lie between" },
        { NULL, { "--user-range", "70000" }, "--user-range: '70000' is not a valid value" },
        { NULL,
          { "--user-range", "70000-70009x" },
          "--user-range: '70000-70009x' is not a valid value" },
        { NULL, { "--tasks-max", "15" }, "--tasks-max: '15' does not lie between 16 and" },
        { NULL, { "--tasks-max", "many" }, "--tasks-max: 'many' is not a number" },
        { NULL, { "--log-max", "0" }, "--log-max: '0' is too little" },
        { NULL, { "--join-only" }, "--join-only without --join" },
        { NULL, { "--gpu-numa", "0" }, "--gpu-numa places 1 device, --gpus offers 0" },
        { NULL, { "--gpu-numa", "0," }, "--gpu-numa: '0,' is not a valid value" },
        { NULL, { "--gpu-numa", "255" }, "--gpu-numa: '255' is not" },
        { NULL, { "--gpu-numa", "0;1" }, "--gpu-numa: '0;1' is not" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        const char *arguments[5] = { NULL };
        struct agent_options options;
        struct edl_error error;

        memcpy(arguments, rows[i].arguments, sizeof rows[i].arguments);
        if (rows[i].environment != NULL)
            (void)setenv("EDL_LABELS", rows[i].environment, 1);
        else
            (void)unsetenv("EDL_LABELS");
        if (parse(arguments, &options, &error) >= 0)
            fail_msg("row %zu is accepted, not: %s", i, rows[i].expected);
        if (strstr(error.text, rows[i].expected) != error.text)
            fail_msg("row %zu: %s, not: %s", i, error.text, rows[i].expected);
    }
}

static void write_file(const char *path, const char *text)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
}

struct files {
    char dir[64];
    char *conf, *folder, *first, *second, *other;
};

static struct files make_files(void)
{
    struct files f = { .dir = "/tmp/edl-test-conf-XXXXXX" };

    assert_non_null(mkdtemp(f.dir));
    f.conf = text_format("%s/agent.conf", f.dir);
    f.folder = text_format("%s.d", f.conf);
    f.first = text_format("%s/10-a.conf", f.folder);
    f.second = text_format("%s/20-b.conf", f.folder);
    f.other = text_format("%s/30-c.conf.bak", f.folder);
    assert_int_equal(mkdir(f.folder, 0700), 0);
    return f;
}

static void remove_files(struct files *f)
{
    char *const paths[] = { f->conf, f->first, f->second, f->other, f->folder };

    for (size_t i = 0; i < ELEMENTS(paths); i++) {
        (void)remove(paths[i]);
        free(paths[i]);
    }
    (void)rmdir(f->dir);
}

TEST(test_files)
{
    struct files f = make_files();
    struct agent_options options;
    struct edl_error error;

    write_file(f.conf, "# comment\nnode: a\nreserve-cpu: 500m\nallow-user: [ann, bob]\n"
                       "allow-group: staff\nlabel: [rack=r1, gpu=no]\nno-foreign: true\n"
                       "ports: 21000-21010\ndefault-user: \"nobody\"\nuser-range: 70000-79999\n");
    write_file(f.first, "allow-user: [eve]\nno-foreign: false\n");
    write_file(f.second, "reserve-cpu: 1\nlabel: gpu=a100\n");
    write_file(f.other, "no-such-key: 1\n");
    assert_int_equal(PARSE(&options, &error, "--conf", f.conf, "--ports=22000-22001"), 0);
    assert_string_equal(options.node, "n1"); /* of the command line */
    assert_int_equal(options.port_first, 22000);
    assert_int_equal(options.reserve_cpu_millicores, 1000);
    assert_int_equal(options.allow_users.n, 1); /* a list of a later file is the whole list */
    assert_string_equal(options.allow_users.list[0], "eve");
    assert_null(options.allow_users.list[1]);
    assert_int_equal(options.allow_groups.n, 1);
    assert_string_equal(options.default_user, "nobody");
    assert_int_equal(options.user_range.first, 70000);
    assert_int_equal(options.user_range.last, 79999);
    assert_false(options.no_foreign);
    assert_labels(&options, "gpu=a100,rack=r1");
    options_done(&options);
    assert_int_equal(PARSE(&options, &error, "--conf", f.conf, "--allow-user", "carl",
                           "--allow-user", "dora", "--no-foreign"),
                     0);
    assert_int_equal(options.allow_users.n, 2);
    assert_string_equal(options.allow_users.list[0], "carl");
    assert_true(options.no_foreign);
    options_done(&options);
    remove_files(&f);
}

/* A file says where it was joined, the command line where the scheduler is now; the other way round
 * the service, which reads the files alone, would go elsewhere than it was joined. */
TEST(test_moved)
{
    struct files f = make_files();
    struct agent_options options;
    struct edl_error error;

    write_file(f.conf, "join: https://old:7010\n");
    assert_int_equal(PARSE(&options, &error, "--conf", f.conf), 0);
    assert_null(options.join);
    assert_string_equal(options.scheduler, "unix:/s");
    options_done(&options);
    assert_int_equal(PARSE(&options, &error, "--join", "https://new:7010"), -EINVAL);
    assert_non_null(strstr(error.text, "both say where it is"));
    assert_non_null(strstr(error.remedy, "leave join out"));
    remove_files(&f);
}

TEST(test_files_refused)
{
    static const struct {
        const char *text, *expected, *remedy;
    } rows[] = {
        { "node: a\nallow-usr: x\n", ":2: allow-usr: there is no such key", "allow-user" },
        { "token: x\n", ":1: token: there is no such key", "" },
        { "join-only: true\n", ":1: join-only: there is no such key", "" },
        { "memory: 8Q\n", ":1: memory: '8Q' is not a valid value", "edl-agent(8)" },
        { "allow-user:\n - ann\n - B/ob\n", ":3: allow-user: 'B/ob' cannot be the name", "" },
        { "label: [a=1, B=2]\n", ":1: label: \"B\" cannot be a label's name", "" },
        { "no-foreign: yes\n", ":1: no-foreign: 'yes' is not a valid value", "" },
        { "node: {a: b}\n", ":1: settings have one level", "key: value" },
        { "node: [[a]]\n", ":1: settings have one level", "" },
        { "just text\n", ":1: this is not a setting", "" },
        { "node: [a\n", ":2: did not find expected", "" },
        { "node: \"a\\0b\"\n", ":1: this is not a setting", "" },
    };
    struct files f = make_files();
    struct agent_options options;
    struct edl_error error;

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        write_file(f.conf, rows[i].text);
        assert_int_equal(PARSE(&options, &error, "--conf", f.conf), -EINVAL);
        if (strncmp(error.text, f.conf, strlen(f.conf)) != 0 ||
            strstr(error.text, rows[i].expected) == NULL ||
            strstr(error.remedy, rows[i].remedy) == NULL)
            fail_msg("row %zu: %s (%s), not: %s", i, error.text, error.remedy, rows[i].expected);
    }
    write_file(f.conf, "node: a\n");
    assert_int_equal(chmod(f.conf, 0620), 0);
    assert_int_equal(PARSE(&options, &error, "--conf", f.conf), -EPERM);
    assert_non_null(strstr(error.text, "others may write to"));
    assert_int_equal(PARSE(&options, &error, "--conf", f.other), -ENOENT);
    remove_files(&f);
}

TEST(test_example)
{
    _cleanup_free_ char *path = NULL;
    struct agent_options options;
    struct edl_error error;

    path = text_format("%s/conf/examples/agent.conf",
                       getenv("EDL_SOURCE_DIR") != NULL ? getenv("EDL_SOURCE_DIR") : ".");
    if (PARSE(&options, &error, "--conf", path) != 0)
        fail_msg("%s", error.text);
    assert_int_equal(options.allow_users.n, 2);
    options_done(&options);
}

/* change_of - NULL: it is as it was */
static const struct option_change *change_of(const struct option_change *changes, size_t n,
                                             const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (streq(changes[i].name, name))
            return &changes[i];
    return NULL;
}

/* How a setting is written again, and whether an agent that runs takes it. */
TEST(test_read_again)
{
    static const struct {
        const char *text, *name, *expected;
        bool taken;
    } rows[] = {
        { "cpu: 2\n", "cpu", "2", true },
        { "reserve-memory: 1Gi\n", "reserve-memory", "1Gi", true },
        { "label: [rack=r1, gpu=a100]\n", "label", "rack=r1, gpu=a100", true },
        { "allow-user: [ann, bob]\n", "allow-user", "ann, bob", true },
        { "allow-root: true\n", "allow-root", "true", true },
        { "log-max: 1Mi\n", "log-max", "1Mi", true },
        { "ports: 30000-30100\n", "ports", "30000-30100", true },
        { "heartbeat: 5s\n", "heartbeat", "5s", false },
        { "pin-cores: true\n", "pin-cores", "true", false },
        { "cpu-idle: true\n", "cpu-idle", "true", false },
        { "gpus: 2\n", "gpus", "2", false },
        { "runtime: direct\n", "runtime", "direct", false },
        { "address: 10.0.0.1\n", "address", "10.0.0.1", false },
    };
    struct files f = make_files();
    char token[] = "secret", conf[80];
    char *argv[] = { (char *)(uintptr_t) "edl-agent",
                     (char *)(uintptr_t) "--conf",
                     conf,
                     (char *)(uintptr_t) "--state-dir",
                     (char *)(uintptr_t) "/d",
                     NULL,
                     NULL };
    struct option_change changes[OPTIONS_MAX];
    const struct option_change *change;
    struct agent_options started, newer, back;
    struct edl_error error = { 0 };
    int argc = 5;

    (void)snprintf(conf, sizeof conf, "%s", f.conf);
    argv[argc++] = (char *)(uintptr_t) "--token";
    argv[argc++] = token;
    write_file(f.conf, "cpu: 1\n");
    assert_int_equal(options_parse(argc, argv, &started, &error), 0);
    assert_string_equal(started.token, "secret");
    assert_string_equal(token, "");
    assert_int_equal(options_reread(&started, &newer, &error), 0); /* though the token is wiped */
    assert_int_equal(options_changes(&started, &started, &newer, changes), 0);
    options_done(&newer);
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        write_file(f.conf, rows[i].text);
        assert_int_equal(options_reread(&started, &newer, &error), 0);
        change =
            change_of(changes, options_changes(&started, &started, &newer, changes), rows[i].name);
        assert_non_null(change);
        assert_string_equal(change->text, rows[i].expected);
        assert_int_equal(change->taken, rows[i].taken);
        /* what was taken is no news then, what was not still is */
        assert_int_equal(options_changes(&started, &newer, &newer, changes), !rows[i].taken);
        write_file(f.conf, "cpu: 1\n");
        assert_int_equal(options_reread(&started, &back, &error), 0);
        change =
            change_of(changes, options_changes(&started, &newer, &back, changes), rows[i].name);
        assert_int_equal(change != NULL, rows[i].taken);
        if (change != NULL && i > 0)
            assert_null(change->text);
        options_done(&back);
        options_done(&newer);
    }
    write_file(f.conf, "cpu: much\n");
    assert_int_equal(options_reread(&started, &newer, &error), -EINVAL);
    options_done(&started);
    remove_files(&f);
}

/* What the service manager passes is there for who says nothing else. */
TEST(test_passed_token)
{
    struct files f = make_files();
    _cleanup_free_ char *path = text_format("%s/edl.join-token", f.dir);
    char token[] = "secret";
    char *argv[] = { (char *)(uintptr_t) "edl-agent",
                     (char *)(uintptr_t) "--conf",
                     (char *)(uintptr_t) "",
                     (char *)(uintptr_t) "--state-dir",
                     (char *)(uintptr_t) "/d",
                     (char *)(uintptr_t) "--token",
                     token };
    struct agent_options options;
    struct edl_error error = { 0 };

    assert_int_equal(setenv("CREDENTIALS_DIRECTORY", f.dir, 1), 0);
    assert_int_equal(options_parse(5, argv, &options, &error), 0);
    assert_null(options.join_token_file); /* there is none among them */
    options_done(&options);
    write_file(path, "secret\n");
    assert_int_equal(options_parse(5, argv, &options, &error), 0);
    assert_string_equal(options.join_token_file, path);
    assert_true(options.join_token_passed);
    options_done(&options);
    assert_int_equal(options_parse(7, argv, &options, &error), 0);
    assert_null(options.join_token_file);
    options_done(&options);
    assert_int_equal(PARSE(&options, &error, "--cpu", "1"), 0);
    assert_string_equal(options.join_token_file, "/t");
    assert_false(options.join_token_passed);
    options_done(&options);
    assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
    (void)unlink(path);
    remove_files(&f);
}

/* A part that the machine does not have leaves the one before. */
TEST_PLAIN(test_another_offer)
{
    struct inventory inventory;
    struct edl_error error = { 0 };
    uint64_t cpu, memory;

    assert_int_equal(inventory_init(&inventory, &(struct inventory_offer){ 0 }, true, &error), 0);
    cpu = inventory.cpu_millicores;
    memory = inventory.memory_bytes;
    assert_int_equal(inventory_offer(&inventory,
                                     &(struct inventory_offer){ .cpu_millicores = 100,
                                                                .memory_bytes = 4096 },
                                     &error),
                     0);
    assert_int_equal(inventory.cpu_millicores, 100);
    assert_int_equal(inventory.memory_bytes, 4096);
    assert_int_equal(inventory_offer(&inventory,
                                     &(struct inventory_offer){ .cpu_millicores = 200,
                                                                .reserve_memory_bytes =
                                                                    2 * memory },
                                     &error),
                     EDL_ECONFIG);
    assert_int_equal(inventory.cpu_millicores, 100);
    assert_int_equal(inventory_offer(&inventory, &(struct inventory_offer){ 0 }, &error), 0);
    assert_int_equal(inventory.cpu_millicores, cpu);
    assert_int_equal(inventory_offer(&inventory,
                                     &(struct inventory_offer){ .cpu_millicores = cpu + 500,
                                                                .memory_bytes = 2 * memory,
                                                                .overcommit = true },
                                     &error),
                     0);
    assert_int_equal(inventory.cpu_millicores, cpu + 500);
    assert_int_equal(inventory.memory_bytes, 2 * memory);
}

TEST_PLAIN(test_reserve)
{
    struct inventory all, some;
    struct edl_error error = { 0 };

    assert_int_equal(inventory_init(&all, &(struct inventory_offer){ 0 }, true, &error), 0);
    assert_int_equal(inventory_init(&some,
                                    &(struct inventory_offer){ .reserve_cpu_millicores = 300,
                                                               .reserve_memory_bytes = 4096 },
                                    true, &error),
                     0);
    assert_int_equal(some.cpu_millicores, all.cpu_millicores - 300);
    assert_int_equal(some.memory_bytes, all.memory_bytes - 4096);
    assert_int_equal(inventory_init(&some,
                                    &(struct inventory_offer){ .cpu_millicores = all.cpu_millicores,
                                                               .reserve_cpu_millicores = 1 },
                                    true, &error),
                     EDL_ECONFIG);
    assert_non_null(strstr(error.text, "--cpu offers"));
    assert_non_null(strstr(error.text, "and keeps 1"));
    assert_int_equal(
        inventory_init(&some, &(struct inventory_offer){ .reserve_memory_bytes = all.memory_bytes },
                       true, &error),
        EDL_ECONFIG);
    assert_non_null(strstr(error.text, "--reserve-memory keeps"));
}

TEST_PLAIN(test_labels_of_the_machine)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        { "NAME=\"Debian\"\nVERSION_ID=\"12\"\nID=debian\n", "debian-12" },
        { "ID='rocky'\nVERSION_ID='9.3'", "rocky-9.3" },
        { "MY_ID=x\nID=arch\nID_LIKE=debian\n", "arch" },
        { "# nothing\n", "linux" },
        { "ID=\"two words\"\n", NULL },
    };
    char dir[] = "/tmp/edl-test-os-XXXXXX";
    _cleanup_free_ char *etc = NULL, *path = NULL;
    struct labels labels = { 0 };
    struct utsname machine;

    assert_non_null(mkdtemp(dir));
    etc = text_format("%s/etc", dir);
    path = text_format("%s/os-release", etc);
    assert_int_equal(uname(&machine), 0);
    inventory_labels(dir, &labels);
    assert_int_equal(labels.n, 1); /* no os-release */
    assert_string_equal(labels_get(&labels, "arch"), machine.machine);
    assert_int_equal(mkdir(etc, 0700), 0);
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        const char *os;

        labels = (struct labels){ 0 };
        write_file(path, rows[i].text);
        inventory_labels(dir, &labels);
        os = labels_get(&labels, "os");
        if (!streq(os != NULL ? os : "(none)",
                   rows[i].expected != NULL ? rows[i].expected : "(none)"))
            fail_msg("%s: %s", rows[i].text, os != NULL ? os : "(none)");
    }
    (void)unlink(path);
    (void)rmdir(etc);
    (void)rmdir(dir);
}
