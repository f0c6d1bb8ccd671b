/* SPDX-License-Identifier: Apache-2.0 */
/* test_client.c - the pure parts of the command `edl`, and those of `edl dev` that need no daemon
 */
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/dev_file.h"
#include "client/dev_ports.h"
#include "client/dev_reap.h"
#include "client/dev_state.h"
#include "client/job_build.h"
#include "client/job_view.h"
#include "client/json_read.h"
#include "client/log_lines.h"
#include "client/options.h"
#include "client/server.h"
#include "client/text.h"
#include "client/top_line.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

/* ---- options ---- */

struct sample_options {
    struct common_options common;
    bool follow;
    const char *name;
    uint64_t count, cpu, bytes, us, limit_us;
    double load;
    struct option_list env;
};

#define AT(member) OPTION_FIELD(struct sample_options, member)

static const struct option_row sample_rows[] = {
    { "follow", NULL, "", option_flag, AT(follow), .letter = 'f' },
    { "name", "NAME", "", option_text, AT(name), .letter = 'n' },
    { "count", "N", "", option_number, AT(count), .letter = 'c' },
    { "cpu", "C", "", option_cores, AT(cpu) },
    { "bytes", "B", "", option_amount, AT(bytes) },
    { "time", "S", "", option_period, AT(us) },
    { "limit", "S", "", option_limit, AT(limit_us) },
    { "load", "L", "", option_share, AT(load) },
    { "env", "E", "", option_list, AT(env) },
};

static const struct options_table sample_table = OPTION_ROWS(sample_rows);

static int parse(struct sample_options *values, struct option_words *arguments,
                 struct edl_error *error, const char *const *argv)
{
    struct verb_options read;
    int argc = 0;

    while (argv[argc] != NULL)
        argc++;
    *values = (struct sample_options){ 0 };
    *arguments = (struct option_words){ 0 };
    return options_parse(&sample_table, values, argc, (char **)argv, &read, arguments, error);
}

#define PARSE(...)                                                                                 \
    parse(&values, &arguments, &error, (const char *const[]){ "sample", __VA_ARGS__, NULL })

TEST(test_options_parse_mixed_order_finds_everything)
{
    struct sample_options values;
    struct option_words arguments;
    struct edl_error error = { 0 };

    assert_int_equal(PARSE("job", "-f", "--name=x", "--count", "3", "-", "--cpu", "200m", "--bytes",
                           "64Mi", "--time", "500ms", "--load", "0.9", "--env", "A=1", "--env=B=2",
                           "--json", "--", "--name", "y"),
                     0);
    assert_true(values.follow);
    assert_true(values.common.json);
    assert_string_equal(values.name, "x");
    assert_int_equal(values.count, 3);
    assert_int_equal(values.cpu, 200);
    assert_int_equal(values.bytes, 64 << 20);
    assert_int_equal(values.us, 500000);
    assert_true(values.load > 0.89 && values.load < 0.91);
    assert_int_equal(values.env.n, 2);
    assert_string_equal(values.env.values[1], "B=2");
    assert_int_equal(arguments.n_args, 2);
    assert_string_equal(arguments.args[1], "-");
    assert_int_equal(arguments.n_rest, 2);
    assert_string_equal(arguments.rest[0], "--name");
    option_words_clear(&arguments);

    assert_int_equal(PARSE("-fc7", "-n", "z"), 0);
    assert_int_equal(values.count, 7);
    assert_string_equal(values.name, "z");
    option_words_clear(&arguments);

    assert_int_equal(PARSE("--name", "--", "a"), 0);
    assert_string_equal(values.name, "--");
    assert_false(arguments.has_rest);
    assert_int_equal(arguments.n_args, 1);
    option_words_clear(&arguments);
    assert_int_equal(PARSE("a", "--"), 0);
    assert_true(arguments.has_rest);
    assert_int_equal(arguments.n_rest, 0);
    option_words_clear(&arguments);
    assert_int_equal(PARSE("a", "-h", "--count", "x"), OPTIONS_HELP);
    option_words_clear(&arguments);

    assert_int_equal(PARSE("--limit", "2m"), 0);
    assert_int_equal(values.limit_us, 120 * USEC_PER_SEC);
    option_words_clear(&arguments);
    assert_int_equal(PARSE("--limit", "0"), 0);
    assert_int_equal(values.limit_us, 0);
    option_words_clear(&arguments);
}

TEST(test_options_parse_wrong_value_is_refused)
{
    struct sample_options values;
    struct option_words arguments;
    struct edl_error error = { 0 };

    static const struct {
        const char *option, *value, *text, *remedy;
    } rows[] = {
        { "--count", "x", "--count: \"x\" does not fit", "a whole number such as 4" },
        { "--count", NULL, "--count needs a value: N", "see edl sample --help" },
        { "-c", NULL, "--count needs a value: N", "see edl sample --help" },
        { "--follow=yes", NULL, "--follow takes no value", "see edl sample --help" },
        { "--help=yes", NULL, "--help takes no value", "see edl sample --help" },
        { "--cpu", "0", "--cpu: \"0\" does not fit",
          "cores such as 2, 0.5 or 200m, more than none; without the option there is a default" },
        { "--time", "0", "--time: \"0\" does not fit",
          "a time such as 500ms, 30s or 2m, more than none" },
        { "--limit", "x", "--limit: \"x\" does not fit",
          "a time such as 500ms, 30s or 2m; 0: no limit" },
        { "--load", "1.5", "--load: \"1.5\" does not fit", "a share such as 0.9" },
        { "--load", "nan", "--load: \"nan\" does not fit", "a share such as 0.9" },
        { "--folow", NULL, "there is no option --folow", "--follow" },
        { "--jsn=1", NULL, "there is no option --jsn", "--json" },
        { "--version", NULL, "there is no option --version", "see edl sample --help" },
        { "-fx", NULL, "there is no option -x", "see edl sample --help" },
        { "--json", "-xf", "there is no option -x", "see edl sample --help" },
        { "--l", "1", "--l is short for --limit and for --load", "write the whole name: --limit" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        assert_int_equal(PARSE(rows[i].option, rows[i].value), -EINVAL);
        assert_string_equal(error.text, rows[i].text);
        assert_string_equal(error.remedy, rows[i].remedy);
        assert_null(arguments.args);
    }
}

TEST(test_options_parse_a_list_has_an_end)
{
    const char *argv[OPTION_LIST_MAX + 3] = { "sample" };
    struct sample_options values;
    struct option_words arguments;
    struct edl_error error = { 0 };

    for (size_t i = 1; i <= OPTION_LIST_MAX; i++)
        argv[i] = "--env=A=1";
    assert_int_equal(parse(&values, &arguments, &error, argv), OPTIONS_RUN);
    assert_int_equal(values.env.n, OPTION_LIST_MAX);
    option_words_clear(&arguments);
    argv[OPTION_LIST_MAX + 1] = "--env=A=1";
    assert_int_equal(parse(&values, &arguments, &error, argv), -EINVAL);
    assert_string_equal(error.text, "--env: given more than 64 times");
}

/* ---- job_view ---- */

TEST(test_job_reason_is_news_when_it_is_another)
{
    static const struct {
        const char *told_code, *told, *code, *text;
        uint64_t passed_us;
        bool news;
    } rows[] = {
        { "queued", "", "queued", "behind 2", 0, true }, /* nothing was told yet */
        { "queued", "behind 2", "queued", "behind 2", NEVER_US, false },
        { "queued", "behind 2", "queued", "behind 1", 0, false },
        { "queued", "behind 2", "queued", "behind 1", 10 * USEC_PER_SEC - 1, false },
        { "queued", "behind 2", "queued", "behind 1", 10 * USEC_PER_SEC, true },
        { "queued", "behind 2", "no-node", "no node", 0, true },
        { "queued", "behind 2", "no-node", "", NEVER_US, false },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        _cleanup_json_ json_t *told =
            json_pack("{s:s,s:s}", "reason_code", rows[i].told_code, "reason", rows[i].told);
        _cleanup_json_ json_t *job =
            json_pack("{s:s,s:s}", "reason_code", rows[i].code, "reason", rows[i].text);

        assert_int_equal(job_reason_is_news(told, job, rows[i].passed_us), rows[i].news);
    }
}

/* ---- text ---- */

TEST(test_text_range_forms)
{
    uint64_t min = 0;
    uint64_t max = 0;

    assert_int_equal(text_range("2:6", &min, &max), 0);
    assert_int_equal(min, 2);
    assert_int_equal(max, 6);
    assert_int_equal(text_range("3-4", &min, &max), 0);
    assert_int_equal(max, 4);
    assert_int_equal(text_range("5", &min, &max), 0);
    assert_int_equal(min, 5);
    assert_int_equal(max, 5);
    assert_int_equal(text_range("6:2", &min, &max), -ERANGE);
    assert_int_equal(text_range("", &min, &max), -EINVAL);
    assert_int_equal(text_range("2:", &min, &max), -EINVAL);
    assert_int_equal(text_range(":2", &min, &max), -EINVAL);
    assert_int_equal(text_range("2:3:4", &min, &max), -EINVAL);
}

TEST(test_text_url_segment_encodes)
{
    static const char *const cases[][2] = {
        { "example-1", "example-1" },
        { "a/b?c", "a%2Fb%3Fc" },
        { "..", "%2E%2E" },
        { "a.b", "a.b" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        _cleanup_free_ char *encoded = text_url_segment(cases[i][0]);

        assert_string_equal(encoded, cases[i][1]);
    }
}

TEST(test_text_human_forms)
{
    char text[40];

    assert_string_equal(text_cpu(2000, text, sizeof(text)), "2");
    assert_string_equal(text_cpu(1500, text, sizeof(text)), "1.5");
    assert_string_equal(text_cpu(250, text, sizeof(text)), "0.25");
    assert_string_equal(text_bytes(64 << 20, text, sizeof(text)), "64Mi");
    assert_string_equal(text_bytes(1536, text, sizeof(text)), "1.5Ki");
    assert_string_equal(text_bytes(100, text, sizeof(text)), "100");
    assert_string_equal(text_duration(UINT64_C(185000000), text, sizeof(text)), "3m05s");
    assert_string_equal(text_duration(UINT64_C(7620000000), text, sizeof(text)), "2h07m");
    assert_string_equal(text_time(0, text, sizeof(text)), "-");
}

/* ---- logs, monitor ---- */

static void add_text(struct log_lines *lines, uint64_t index, uint64_t incarnation,
                     const char *text)
{
    const struct log_who who = { .role = "trainer", .index = index, .incarnation = incarnation };

    log_lines_add(lines, &who, &(struct log_piece){ .data = text, .size = strlen(text) });
}

TEST(test_log_lines_pieces_become_whole_lines)
{
    _cleanup_free_ char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct log_lines *lines = log_lines_new(out, &(struct log_look){ 0 });

    add_text(lines, 0, 1, "one\ntw");
    add_text(lines, 1, 1, "uno\n");
    add_text(lines, 0, 1, "o\nthr");
    add_text(lines, 0, 2, "again\nend");
    assert_null(log_lines_free(lines));
    (void)fclose(out);
    assert_string_equal(text, "[trainer-0] one\n[trainer-1] uno\n[trainer-0] two\n[trainer-0] thr\n"
                              "[trainer-0] again\n[trainer-0] end\n");
}

TEST(test_log_lines_steer_no_terminal)
{
    static const struct {
        const char *pieces[3], *shown;
    } cases[] = {
        { { "\033[2J", "a\tb\302\233c\n" }, "\\x1b[2Ja\tb\\u009bc" },
        { { "right \342\200\256left\342\200\254\n" }, "right \\u202eleft\\u202c" },
        { { "no\342\200\213where\357\273\277 \303\274 \342\202\254\n" },
          "no\\u200bwhere\\ufeff \303\274 \342\202\254" },
        { { "10%\r50%", "\r100%", "\n" }, "100%" }, /* a bar, piece by piece */
        { { "10%\r100%\r\n" }, "100%" },
        { { "dos\r\n" }, "dos" },
        { { "\r\r\n" }, "" },
        { { "hidden\rshown\010x" }, "shown\\x08x" }, /* the last one has no end */
        { { "plain\n" }, "plain" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++)
        for (int terminal = 0; terminal < 2; terminal++) {
            _cleanup_free_ char *text = NULL, *wanted = NULL;
            size_t size = 0;
            FILE *out = open_memstream(&text, &size);
            struct log_lines *lines =
                log_lines_new(out, &(struct log_look){ .terminal = terminal });
            size_t raw_size = 0;
            char raw[100] = "";

            for (size_t k = 0; k < 3 && cases[i].pieces[k] != NULL; k++) {
                add_text(lines, 0, 1, cases[i].pieces[k]);
                raw_size += (size_t)snprintf(raw + raw_size, sizeof raw - raw_size, "%s",
                                             cases[i].pieces[k]);
            }
            raw[strcspn(raw, "\n")] = '\0';
            assert_null(log_lines_free(lines));
            (void)fclose(out);
            wanted = text_format("[trainer-0] %s\n", terminal ? cases[i].shown : raw);
            assert_string_equal(text, wanted);
        }
}

TEST(test_top_line_as_in_the_tutorial)
{
    _cleanup_json_ json_t *cluster =
        json_loads("{\"submitted_jobs\":3,\"pending_jobs\":1,\"utilisation\":0.684,\"jobs\":["
                   "{\"name\":\"example2\",\"running_trainers\":0},{\"name\":\"example\",\"running_"
                   "trainers\":5},"
                   "{\"name\":\"example1\",\"running_trainers\":4}]}",
                   0, NULL);
    _cleanup_json_ json_t *idle =
        json_loads("{\"submitted_jobs\":0,\"jobs\":[],\"utilisation\":0}", 0, NULL);
    _cleanup_free_ char *line = top_line(cluster);
    _cleanup_free_ char *idle_line = top_line(idle);

    assert_string_equal(line, "3    1    example2:0|example:5|example1:4    68.40%");
    assert_string_equal(idle_line, "0    0    -    0.00%");
}

/* ---- a job from a command ---- */

TEST(test_job_build_name_is_a_label)
{
    static const struct {
        const char *argv[3];
        const char *stem;
    } cases[] = {
        { { "python3", "/a/train.py", NULL }, "train-" },
        { { "./My_Tool.sh", NULL }, "my-tool-" },
        { { "9to5", NULL }, "to5-" },
        { { "???", NULL }, "job-" },
        { { "python3", "-c", NULL }, "python3-" },
        { { "/usr/bin/edl-trainer", NULL }, "edl-trainer-" },
    };
    static const unsigned char random[5] = { 0, 1, 2, 255, 26 };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        size_t argc = cases[i].argv[1] != NULL ? 2 : 1;
        _cleanup_free_ char *name = job_build_name((char **)cases[i].argv, argc, random);

        assert_int_equal(strncmp(name, cases[i].stem, strlen(cases[i].stem)), 0);
        assert_int_equal(strlen(name), strlen(cases[i].stem) + 5);
    }
}

/* The scheduler's own reader must take what we make. */
TEST(test_job_build_document_is_accepted)
{
    const char *const argv[] = { "python3", "train.py", "--lr", "0.1" };
    struct option_list env = { .values = { "A=1=2" }, .n = 1 };
    struct job_build build = { .workspace = "/srv/work",
                               .dataset = "/data/*.recordio",
                               .min = 2,
                               .max = 5,
                               .cpu_millicores = 100,
                               .memory_bytes = 64 << 20,
                               .passes = 3,
                               .takes_input = true,
                               .env = &env,
                               .umask = 0002,
                               .argv = (char **)argv,
                               .argc = ELEMENTS(argv) };
    _cleanup_json_ json_t *document = NULL;
    struct job_spec *spec = NULL;
    struct edl_error error = { 0 };

    assert_int_equal(job_build_document(&build, &document, &error), 0);
    assert_int_equal(job_spec_from_document(document, &spec, NULL, &error), 0);
    assert_int_equal(spec->n_roles, 1);
    assert_string_equal(spec->roles[0].name, "trainer");
    assert_string_equal(spec->roles[0].argv[3], "0.1");
    assert_null(spec->roles[0].argv[4]);
    assert_int_equal(spec->roles[0].min, 2);
    assert_int_equal(spec->roles[0].max, 5);
    assert_int_equal(spec->roles[0].cpu_millicores, 100);
    assert_int_equal(spec->roles[0].memory_bytes, 64 << 20);
    assert_string_equal(spec->roles[0].workspace, "/srv/work");
    assert_int_equal(spec->mode, JOB_MODE_COLLECTIVE);
    assert_int_equal(spec->passes, 3);
    assert_string_equal(spec->env[0].value, "1=2");
    assert_int_equal(job_spec_umask(spec), 0002);
    assert_true(spec->roles[0].takes_input);
    (void)job_spec_free(spec);
}

static void assert_dataset(const struct job_build *build, const char *wanted)
{
    _cleanup_json_ json_t *document = NULL;
    _cleanup_free_ char *found = NULL;

    assert_int_equal(job_build_document(build, &document, NULL), 0);
    found = json_dumps(json_object_get(json_object_get(document, "spec"), "dataset"),
                       JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(found, wanted);
}

TEST(test_job_build_document_shuffle)
{
    static const char *const wrong[] = { "", "-1", "7.5", "seven", "9223372036854775808" };
    const char *const argv[] = { "true" };
    struct job_build build = { .workspace = "", .shuffle = "0", .argv = (char **)argv, .argc = 1 };
    struct edl_error error = { 0 };
    json_t *document = NULL;

    assert_dataset(&build, "{\"shuffle\":0}");
    build.shuffle = "9223372036854775807";
    build.dataset = "data/train-*";
    assert_dataset(&build, "{\"files\":\"data/train-*\",\"shuffle\":9223372036854775807}");
    for (size_t i = 0; i < ELEMENTS(wrong); i++) {
        build.shuffle = wrong[i];
        assert_int_equal(job_build_document(&build, &document, &error), -EINVAL);
        assert_non_null(strstr(error.text, "--shuffle is"));
        assert_non_null(strstr(error.remedy, "--shuffle 7"));
    }
}

TEST(test_job_build_document_tasks)
{
    const char *const argv[] = { "true" };
    struct job_build build = {
        .workspace = "", .task_records = 100, .argv = (char **)argv, .argc = 1
    };
    struct edl_error error = { 0 };
    json_t *document = NULL;

    assert_dataset(&build, "{\"task_records\":100}");
    build.dataset = "data/train-*";
    build.task_tries = 7;
    assert_dataset(&build, "{\"files\":\"data/train-*\",\"task_records\":100,\"tries\":7}");
    build.task_tries = 1001;
    assert_int_equal(job_build_document(&build, &document, &error), -EINVAL);
    assert_non_null(strstr(error.text, "--task-tries is 1001, the most is 1000"));
}

TEST(test_job_build_document_wrong_bounds_and_env)
{
    const char *const argv[] = { "true" };
    struct option_list env = { .values = { "novalue" }, .n = 1 };
    struct job_build build = {
        .workspace = "", .min = 3, .max = 2, .argv = (char **)argv, .argc = 1
    };
    json_t *document = NULL;

    assert_int_equal(job_build_document(&build, &document, NULL), -EINVAL);
    build.max = 0;
    build.env = &env;
    assert_int_equal(job_build_document(&build, &document, NULL), -EINVAL);
    assert_null(document);
}

/* ---- edl dev's parts ---- */

TEST(test_dev_ports_block_avoids_others)
{
    uint16_t first = 0;
    size_t n = 0;

    for (; dev_ports_block(n, 32768, 60999, &first) == 0; n++) {
        uint32_t last = first + DEV_PORTS_PER_NODE - 1;

        assert_true(last < 32768 || first > 60999);
        assert_true(last < 20000 || first > 20999);
    }
    assert_true(n >= 32);
    assert_int_equal(dev_ports_block(0, 1024, 65535, &first), 0); /* no room: disregarded */
}

TEST(test_dev_ports_claim_is_exclusive)
{
    struct dev_ports a = { .fd = -1 };
    struct dev_ports b = { .fd = -1 };
    struct edl_error error = { 0 };

    assert_int_equal(dev_ports_claim(&a, &error), 0);
    assert_int_equal(dev_ports_claim(&b, &error), 0);
    assert_int_not_equal(a.first, b.first);
    a.fd = safe_close(a.fd);
    b.fd = safe_close(b.fd);
}

static char *make_folder(void)
{
    char *path = xstrdup("/tmp/edl-test-client-XXXXXX");

    assert_non_null(mkdtemp(path));
    return path;
}

TEST(test_dev_file_is_read_back_and_must_be_private)
{
    _cleanup_free_ char *runtime = make_folder();
    _cleanup_free_ char *folder = text_format("%s/edl", runtime);
    _cleanup_json_ json_t *document = json_pack("{s:s}", "server", "http://127.0.0.1:1");
    _cleanup_json_ json_t *found = NULL;
    struct edl_error error = { 0 };
    int lock = -1;
    int second = -1;

    assert_int_equal(setenv("XDG_RUNTIME_DIR", runtime, 1), 0);
    assert_int_equal(dev_file_read(&found, &error), -ENOENT);
    assert_int_equal(dev_file_claim(&lock, &error), 0);
    assert_int_equal(dev_file_claim(&second, &error), -EBUSY);
    assert_int_equal(dev_file_write(document, &error), 0);
    assert_int_equal(dev_file_read(&found, &error), 0);
    assert_string_equal(json_text(found, "server"), "http://127.0.0.1:1");
    json_decref(found);
    found = NULL;
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(dev_file_read(&found, &error), -EPERM);
    assert_int_equal(chmod(folder, 0700), 0);
    dev_file_remove();
    assert_int_equal(dev_file_read(&found, &error), -ENOENT);
    lock = safe_close(lock);
    assert_int_equal(dev_state_remove_tree(runtime), 0);
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
}

TEST(test_server_locate_keeps_the_dev_token_to_the_dev_server)
{
    _cleanup_free_ char *runtime = make_folder();
    _cleanup_free_ char *token_file = text_format("%s/token", runtime);
    _cleanup_json_ json_t *document =
        json_pack("{s:s, s:s}", "server", "http://127.0.0.1:9", "token_file", token_file);
    struct common_options options = { .server = "http://127.0.0.1:8" };
    struct server server = { 0 };
    struct edl_error error = { 0 };
    FILE *file = fopen(token_file, "we");
    int lock = -1;

    assert_int_equal(setenv("XDG_RUNTIME_DIR", runtime, 1), 0);
    (void)fputs("dev-token\n", file);
    (void)fclose(file);
    (void)unsetenv("EDL_SERVER");
    (void)unsetenv("EDL_TOKEN");
    (void)unsetenv("EDL_TOKEN_FILE");
    assert_int_equal(dev_file_claim(&lock, &error), 0);
    assert_int_equal(dev_file_write(document, &error), 0);
    assert_int_equal(server_locate(&options, &server, &error), 0);
    assert_null(server.token);
    server_clear(&server);
    options.server = NULL;
    assert_int_equal(server_locate(&options, &server, &error), 0);
    assert_string_equal(server.base, "http://127.0.0.1:9");
    assert_string_equal(server.token, "dev-token");
    server_clear(&server);
    lock = safe_close(lock);
    assert_int_equal(dev_state_remove_tree(runtime), 0);
}

TEST(test_dev_state_temporary_is_removed)
{
    struct dev_state opened = { .lock_fd = -1 };
    struct dev_state second = { .lock_fd = -1 };
    struct edl_error error = { 0 };
    _cleanup_free_ char *path = NULL;

    assert_int_equal(dev_state_open(NULL, &opened, &error), 0);
    path = xstrdup(opened.path);
    assert_int_equal(dev_state_open(path, &second, &error), -EBUSY);
    assert_int_equal(access(path, F_OK), 0);
    dev_state_close(&opened, false);
    assert_int_equal(access(path, F_OK), -1);
}

/* In a child of the test: makes a grandchild in its own session whose parent ends, spares an old
 * child. */
static _Noreturn void reaper_child(int alive_fd)
{
    struct dev_reaper reaper;
    sigset_t set;
    char byte;
    int ready[2];

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    if (pipe2(ready, O_CLOEXEC) == -1)
        _exit(9);
    pid_t spared = fork();

    if (spared == 0) {
        (void)safe_close(alive_fd);
        (void)pause();
    }
    if (dev_reaper_init(&reaper) < 0 || reaper.n_spared != 1)
        _exit(10);
    pid_t middle = fork();

    if (middle == 0) {
        if (fork() == 0) {
            (void)setsid();
            (void)signal(SIGTERM, SIG_IGN);
            (void)!write(ready[1], "x", 1);
            (void)pause(); /* alive_fd stays open as long as this one lives */
        }
        _exit(0);
    }
    if (read(ready[0], &byte, 1) != 1)
        _exit(11);
    int killed = dev_reaper_kill_all(&reaper, 5 * USEC_PER_SEC);
    bool ok = killed >= 1 && kill(spared, 0) == 0;

    (void)kill(spared, SIGKILL);
    (void)waitpid(spared, NULL, 0);
    _exit(ok ? 0 : 12);
}

TEST(test_dev_reaper_kills_what_got_away_and_spares_what_was_there)
{
    int alive[2];
    int status = -1;
    char byte;

    assert_int_equal(pipe2(alive, O_CLOEXEC), 0);
    pid_t pid = fork();

    if (pid == 0) {
        (void)safe_close(alive[0]);
        reaper_child(alive[1]);
    }
    alive[1] = safe_close(alive[1]);
    assert_int_equal(read(alive[0], &byte, 1), 0); /* end of file: nobody holds the other end */
    alive[0] = safe_close(alive[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}
