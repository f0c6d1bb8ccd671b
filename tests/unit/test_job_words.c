/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_words.c - options of a job by the words of Slurm, and those of its document */
#include "client/job_words.h"
#include "client/job_input.h"
#include "shared/clock.h"
#include "tests/unit/client_fixture.h"
#include "tests/unit/test.h"

TEST_EACH(set_up, tear_down);

TEST(test_times_of_slurm)
{
    static const struct {
        const char *text;
        uint64_t seconds;
    } good[] = { { "90", 5400 },     { "1:30", 90 },        { "1:30:05", 5405 },
                 { "2-12", 216000 }, { "2-12:30", 217800 }, { "2-0:0:1", 172801 },
                 { "0-0:0:0", 0 } };
    static const char *const bad[] = { "",   ":",   "1:",        "1:2:3:4", "-1",
                                       "1-", "90m", "1-2:3:4:5", "x",       "99999999999" };
    uint64_t us = 7;

    for (size_t i = 0; i < ELEMENTS(good); i++) {
        assert_int_equal(slurm_time(good[i].text, &us), 0);
        assert_int_equal(us, good[i].seconds * USEC_PER_SEC);
    }
    for (size_t i = 0; i < ELEMENTS(bad); i++)
        if (slurm_time(bad[i], &us) != -EINVAL)
            fail_msg("%s", bad[i]);
}

TEST(test_memory_of_slurm)
{
    uint64_t bytes = 0;

    assert_int_equal(slurm_memory("4G", &bytes), 0);
    assert_int_equal(bytes, UINT64_C(4) << 30);
    assert_int_equal(slurm_memory("800", &bytes), 0);
    assert_int_equal(bytes, 800 << 20);
    assert_int_equal(slurm_memory("512k", &bytes), 0);
    assert_int_equal(bytes, 512 << 10);
    assert_int_equal(slurm_memory("2T", &bytes), 0);
    assert_int_equal(bytes, UINT64_C(2) << 40);
    assert_int_equal(slurm_memory("4Gi", &bytes), -EINVAL);
    assert_int_equal(slurm_memory("G", &bytes), -EINVAL);
    assert_int_equal(slurm_memory("", &bytes), -EINVAL);
    assert_int_equal(slurm_memory("1.5G", &bytes), -EINVAL);
    assert_int_equal(slurm_memory("99999999999999999999", &bytes), -EINVAL);
}

static char *nodes_of(const char *list)
{
    struct edl_error error = { 0 };
    json_t *nodes = NULL;
    char *text = xcalloc(1, 65536);

    if (slurm_nodes(list, &nodes, &error) < 0) {
        assert_null(nodes);
        (void)snprintf(text, 65536, "refused");
        return text;
    }
    for (size_t i = 0; i < json_array_size(nodes); i++)
        (void)snprintf(text + strlen(text), 64, "%s ", json_string_value(json_array_get(nodes, i)));
    json_decref(nodes);
    return text;
}

TEST(test_lists_of_nodes)
{
    static const struct {
        const char *list, *nodes;
    } cases[] = {
        { "n1", "n1 " },           { "n1,n2", "n1 n2 " },
        { "n[1-3]", "n1 n2 n3 " }, { "n[08-10,3]x,m", "n08 n09 n10 n3x m " },
        { "a,n[1],b", "a n1 b " }, { "n[1-9999]", "refused" },
        { "n[3-1]", "refused" },   { "n[1-2", "refused" },
        { "n[]", "refused" },      { "n[1-]", "refused" },
        { "n[-1]", "refused" },    { "n[1]m[2]", "refused" },
        { "n1,,n2", "refused" },   { "", "refused" },
        { "n1,", "refused" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        _cleanup_free_ char *nodes = nodes_of(cases[i].list);

        if (i == 3)
            assert_string_equal(nodes, "n08x n09x n10x n3x m ");
        else if (!streq(nodes, cases[i].nodes))
            fail_msg("%s: %s", cases[i].list, nodes);
    }
}

TEST(test_each_foreign_option_names_ours)
{
    static const char *const words[] = { "--partition", "--partition=x", "-p", "-N", "--account",
                                         "--open-mode", "--qos",         "-A", "-x", "--begin",
                                         "--wrap",      "--image",       "-C", "-G" };

    for (size_t i = 0; i < ELEMENTS(words); i++)
        assert_non_null(job_words_ours(words[i]));
    assert_null(job_words_ours("--part"));
    assert_null(job_words_ours("-"));
    assert_null(job_words_ours("--"));
    assert_null(job_words_ours("p"));
}

/* What `edl submit OPTION... -- true` sent. */
static char *sent(const struct fixture *fixture)
{
    char *text = asked(fixture);

    assert_non_null(strstr(text, "POST /jobs"));
    return text;
}

TEST(test_submit_takes_what_is_clear)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *first = NULL, *second = NULL;

    (void)setenv("WORDS_HERE", "seen", 1);
    assert_int_equal(EDL(NULL, NULL, "submit", "--no-upload", "-n", "2", "-c", "4", "--gres=gpu:1",
                         "-J", "mine", "-d", "afterok:7:8,afterany:9", "--nodelist", "n[1-2]",
                         "--priority", "-5", "-t", "1:30:00", "--selector", "rack=r1", "--env",
                         "WORDS_HERE", "--", "true"),
                     STATUS_OK);
    first = sent(fixture);
    assert_non_null(strstr(first, "\"name\":\"mine\""));
    assert_non_null(strstr(first, "\"min\":2,\"max\":2"));
    assert_non_null(strstr(first, "\"cpu\":\"4000m\""));
    assert_non_null(strstr(first, "\"gpus\":1"));
    assert_non_null(strstr(first, "\"after\":[\"7\",\"8\",\"any:9\"]"));
    assert_non_null(strstr(first, "\"nodes\":[\"n1\",\"n2\"]"));
    assert_non_null(strstr(first, "\"priority\":-5"));
    assert_non_null(strstr(first, "\"time_limit\":\"5400s\""));
    assert_non_null(strstr(first, "\"node-selector\":{\"rack\":\"r1\"}"));
    assert_non_null(strstr(first, "\"WORDS_HERE\":\"seen\""));
    assert_int_equal(EDL(NULL, NULL, "submit", "--no-upload", "-n", "named", "--nodelist", "a,b",
                         "--export", "ALL,X=1", "--after", "9", "--", "true"),
                     STATUS_OK);
    second = sent(fixture);
    assert_non_null(strstr(second, "\"name\":\"named\""));
    assert_non_null(strstr(second, "\"min\":2,\"max\":2"));
    assert_non_null(strstr(second, "\"WORDS_HERE\":\"seen\""));
    assert_non_null(strstr(second, "\"X\":\"1\""));
    assert_null(strstr(second, "EDL_TOKEN"));
    (void)unsetenv("WORDS_HERE");
}

/* What `notify` says for the words of a command line; "": there is none. */
TEST(test_words_about_notices)
{
    const struct fixture *fixture = *state;
    static const struct {
        const char *types, *users, *webhook, *notify;
    } cases[] = {
        { "END,fail", "ann@a,bob", NULL,
          "\"notify\":{\"on\":[\"end\",\"fail\"],\"mail\":[\"ann@a\",\"bob\"]}" },
        { "ALL,END", "a@b", NULL,
          "\"notify\":{\"on\":[\"begin\",\"end\",\"fail\",\"requeue\"],\"mail\":[\"a@b\"]}" },
        { "ARRAY_TASKS", "a@b", "https://h/x",
          "\"notify\":{\"each\":true,\"mail\":[\"a@b\"],\"webhook\":\"https://h/x\"}" },
        { NULL, NULL, "https://h/x", "\"notify\":{\"webhook\":\"https://h/x\"}" },
        { "NONE", "a@b", "https://h/x", "" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        _cleanup_free_ char *types = text_format("--mail-type=%s", cases[i].types);
        _cleanup_free_ char *users = text_format("--mail-user=%s", cases[i].users);
        _cleanup_free_ char *webhook = text_format("--webhook=%s", cases[i].webhook);
        _cleanup_free_ char *seen = NULL;

        assert_int_equal(EDL(NULL, NULL, "submit", "--no-upload",
                             cases[i].types != NULL ? types : "--no-upload",
                             cases[i].users != NULL ? users : "--no-upload",
                             cases[i].webhook != NULL ? webhook : "--no-upload", "--", "true"),
                         STATUS_OK);
        seen = sent(fixture);
        if (*cases[i].notify == '\0')
            assert_null(strstr(seen, "\"notify\""));
        else if (strstr(seen, cases[i].notify) == NULL)
            fail_msg("%s is not in %s", cases[i].notify, seen);
    }
}

TEST(test_submit_names_ours_for_the_rest)
{
    const struct fixture *fixture = *state;
    static const struct {
        const char *option, *value, *said;
    } cases[] = {
        { "--partition", "gpu", "--selector KEY=VALUE" },
        { "-p", "gpu", "--selector KEY=VALUE" },
        { "--mail-type", "STAGE_OUT", "burst buffer" },
        { "--mail-type", "TIME_LIMIT_80", "FAIL tells when" },
        { "--mail-type", "END,NONE", "goes with no other" },
        { "--mail-type", "FINISH", "none of NONE, BEGIN" },
        { "--mail-user", "ann@a,", "an address is missing" },
        { "--gres", "gpu:a100:2", "gpu-type=TYPE" },
        { "--gres", "fpga:1", "nothing that nodes offer" },
        { "--dependency", "afternotok:7", "--after JOB" },
        { "--dependency", "afterok:", "a job is missing" },
        { "--nodelist", "n[1", "no list of nodes" },
        { "--time", "60", "--time 60m" },
        { "--priority", "high", "not a whole number" },
        { "--selector", "rack", "not KEY=VALUE" },
        { "--env", "NO_SUCH_NAME_HERE", "no such variable" },
        { "--env", "a b", "not NAME=VALUE" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        _cleanup_free_ char *err = NULL, *seen = NULL;

        assert_int_equal(EDL(NULL, &err, "submit", "--no-upload", cases[i].option, cases[i].value,
                             "--", "true"),
                         STATUS_BAD_INPUT);
        if (strstr(err, cases[i].said) == NULL)
            fail_msg("%s %s: %s", cases[i].option, cases[i].value, err);
        seen = asked(fixture);
        assert_null(strstr(seen, "POST"));
    }
    assert_int_equal(EDL(NULL, NULL, "submit", "--no-upload", "-n", "2", "--min", "3", "--",
                         "true"),
                     STATUS_BAD_INPUT);
    assert_int_equal(EDL(NULL, NULL, "submit", "--no-upload", "-n", "a", "--name", "b", "--",
                         "true"),
                     STATUS_BAD_INPUT);
    assert_int_equal(EDL(NULL, NULL, "plan", "--partition", "x", "--", "true"), STATUS_BAD_INPUT);
}
