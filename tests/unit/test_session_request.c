/* SPDX-License-Identifier: Apache-2.0 */
/* test_session_request.c - entries of "sessions" in orders: whole, bounded, or not at all */
#include "tests/unit/test.h"

#include <errno.h>

#include "agent/session/session_command.h"
#include "agent/session/session_request.h"
#include "agent/session/session_target.h"
#include "shared/error.h"
#include "shared/macro.h"

#define ID "0123456789abcdef0123456789abcdef"

static json_t *entry_of(const char *kind)
{
    return json_pack("{s:s, s:I, s:s, s:s, s:i, s:I, s:s, s:s}", "session", ID, "job_id",
                     (json_int_t)12, "job", "mnist", "role", "trainer", "index", 1, "incarnation",
                     (json_int_t)3, "kind", kind, "user", "ann");
}

static int parse(json_t *take_entry, struct session_request *ret, struct edl_error *error)
{
    int r;

    *error = (struct edl_error){ 0 };
    r = session_request_parse(take_entry, ret, error);
    json_decref(take_entry);
    return r;
}

static void refused(json_t *take_entry, const char *text)
{
    struct session_request request;
    struct edl_error error;

    assert_int_equal(parse(take_entry, &request, &error), -EINVAL);
    assert_non_null(strstr(error.text, text));
    session_request_clear(&request);
}

TEST(test_an_exec_has_its_words)
{
    json_t *entry = entry_of("exec");
    struct session_request request;
    struct edl_error error;

    (void)json_object_set_new(entry, "command", json_pack("[s, s, s]", "sh", "-c", ""));
    assert_int_equal(parse(entry, &request, &error), 0);
    assert_string_equal(request.id, ID);
    assert_int_equal(request.kind, SESSION_KIND_EXEC);
    assert_string_equal(request.job, "mnist");
    assert_string_equal(request.process.role, "trainer");
    assert_int_equal(request.process.index, 1);
    assert_string_equal(request.words[1], "-c");
    assert_string_equal(request.words[2], "");
    assert_null(request.words[3]);
    assert_false(request.has_pty);
    session_request_clear(&request);
}

TEST(test_a_terminal_without_columns_has_eighty)
{
    json_t *entry = entry_of("shell");
    struct session_request request;
    struct edl_error error;

    (void)json_object_set_new(entry, "pty",
                              json_pack("{s:i, s:i, s:s}", "rows", 40, "columns", 0, "term", ""));
    assert_int_equal(parse(entry, &request, &error), 0);
    assert_true(request.has_pty);
    assert_int_equal(request.size.rows, 24);
    assert_int_equal(request.size.columns, 80);
    assert_string_equal(request.term, "dumb");
    session_request_clear(&request);
}

TEST(test_a_terminal_is_at_most_what_the_kernel_can_say)
{
    json_t *entry = entry_of("shell");
    struct session_request request;
    struct edl_error error;

    (void)json_object_set_new(entry, "pty",
                              json_pack("{s:i, s:i, s:s}", "rows", 100000, "columns", 1, "term",
                                        "xterm"));
    assert_int_equal(parse(entry, &request, &error), 0);
    assert_int_equal(request.size.rows, UINT16_MAX);
    session_request_clear(&request);
}

TEST(test_what_cannot_be_is_refused_with_its_key)
{
    json_t *entry = entry_of("exec");

    refused(entry, "'command' names no program");
    entry = entry_of("exec");
    (void)json_object_set_new(entry, "command", json_pack("[s, i]", "sh", 1));
    refused(entry, "word 1 of 'command'");
    refused(entry_of("fly"), "no session of kind 'fly'");
    entry = entry_of("attach");
    (void)json_object_set_new(entry, "session", json_string("../../etc"));
    refused(entry, "'session'");
    entry = entry_of("attach");
    (void)json_object_set_new(entry, "role", json_string("../x"));
    refused(entry, "'role'");
    entry = entry_of("shell");
    (void)json_object_set_new(entry, "pty", json_pack("{s:s}", "term", "../../tmp/evil"));
    refused(entry, "'pty.term'");
}

TEST(test_a_key_is_one_line)
{
    json_t *entry = entry_of("ssh");
    struct session_request request;
    struct edl_error error;

    refused(json_deep_copy(entry), "'key'");
    (void)json_object_set_new(entry, "key",
                              json_string("ssh-ed25519 AAAA\ncommand=\"x\" ssh-rsa B"));
    refused(json_deep_copy(entry), "'key'");
    (void)json_object_set_new(entry, "key", json_string("ssh-ed25519 AAAA ann"));
    assert_int_equal(parse(entry, &request, &error), 0);
    assert_string_equal(request.key, "ssh-ed25519 AAAA ann");
    session_request_clear(&request);
}

TEST(test_who_is_not_understood_can_still_be_answered)
{
    json_t *document = json_pack("{s:s, s:s, s:s, s:o}", "server", "http://h:1", "credential", "c",
                                 "node", "n1", "session", entry_of("fly"));
    struct edl_error error = { 0 };
    struct session_config config;

    assert_int_equal(session_config_parse(document, &config, &error), -EINVAL);
    assert_string_equal(config.server, "http://h:1");
    assert_string_equal(config.request.id, ID);
    assert_null(config.ca);
    session_config_clear(&config);
    json_decref(document);
}

/* ---- limits ---- */

TEST(test_limits_are_the_kernels_lines_in_their_order)
{
    struct rlimit limits[RLIM_NLIMITS], expected;
    char text[8192] = "";
    FILE *file = fopen("/proc/self/limits", "re");

    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    assert_int_equal(session_target_limits(text, limits), 0);
    for (int i = 0; i < (int)RLIM_NLIMITS; i++) {
        assert_int_equal(getrlimit((__rlimit_resource_t)i, &expected), 0);
        assert_int_equal(limits[i].rlim_cur, expected.rlim_cur);
        assert_int_equal(limits[i].rlim_max, expected.rlim_max);
    }
    text[strlen(text) / 2] = '\0';
    assert_int_equal(session_target_limits(text, limits), -EINVAL);
    assert_int_equal(session_target_limits("", limits), -EINVAL);
}

/* ---- which program ---- */

static void choose(const char *kind, const char *shell, bool with_terminal,
                   struct session_config *config, struct session_command *ret)
{
    char a[] = "A=1", term[] = "TERM=old", pid[] = "EDL_PID=1", b[] = "B=2";
    char *environment[] = { a, term, pid, b, NULL };
    struct session_target target = SESSION_TARGET_NONE;
    struct edl_error error = { 0 };
    json_t *entry = entry_of(kind);

    if (with_terminal)
        (void)json_object_set_new(entry, "pty", json_pack("{s:s}", "term", "xterm"));
    *config = (struct session_config){ .program_dir = xstrdup("/usr/bin") };
    assert_int_equal(session_request_parse(entry, &config->request, &error), 0);
    target.environment = environment;
    target.record.child_pid = 4711;
    target.account.shell = (char *)(uintptr_t)shell;
    session_command_choose(config, &target, ret);
    json_decref(entry);
}

TEST(test_a_shell_is_the_accounts_as_one_that_logs_in)
{
    struct session_command command;
    struct session_config config;

    choose("shell", "/bin/sh", true, &config, &command);
    assert_string_equal(command.program, "/bin/sh");
    assert_string_equal(command.argv[0], "-sh");
    assert_null(command.argv[1]);
    assert_string_equal(command.environment[0], "A=1");
    assert_string_equal(command.environment[1], "B=2");
    assert_string_equal(command.environment[2], "EDL_PID=4711"); /* the job's own one is gone */
    assert_string_equal(command.environment[3], "TERM=xterm");
    assert_null(command.environment[4]);
    session_command_clear(&command);
    session_config_clear(&config);
}

TEST(test_an_account_that_does_not_log_in_has_a_shell_all_the_same)
{
    static const char *const shells[] = { "/usr/sbin/nologin", "/bin/false", "/no/such/shell", "" };
    struct session_command command;
    struct session_config config;

    for (size_t i = 0; i < ELEMENTS(shells); i++) {
        choose("shell", shells[i], false, &config, &command);
        assert_string_equal(command.program, "/bin/sh");
        assert_string_equal(command.environment[1], "TERM=old"); /* nobody has a terminal */
        session_command_clear(&command);
        session_config_clear(&config);
    }
}
