/* SPDX-License-Identifier: Apache-2.0 */
/* test_verb_words.c - words of other systems, and options in front of the verb */
#include "client/verb_words.h"
#include "tests/unit/client_fixture.h"
#include "tests/unit/test.h"

TEST_EACH(set_up, tear_down);

/* The word, and the verb that the answer has to name; NULL: the word is a verb itself. */
static const struct {
    const char *word, *verb;
} words[] = {
    { "status", "edl show" },    { "squeue", "edl ps" },      { "queue", "edl ps" },
    { "cancel", "edl kill" },    { "scancel", "edl kill" },   { "delete", "edl kill" },
    { "rm", "edl kill" },        { "describe", "edl show" },  { "get", "edl show" },
    { "jobs", "edl ps" },        { "list", "edl ps" },        { "info", "edl show" },
    { "sinfo", "edl nodes" },    { "ssh", "edl shell" },      { "output", "edl logs" },
    { "login", NULL },           { "web", "edl token" },      { "sbatch", "edl submit" },
    { "salloc", "edl submit" },  { "sacct", "edl ps --all" }, { "hold", "edl scale" },
    { "requeue", "edl submit" }, { "stop", "edl kill" },      { "SQUEUE", "edl ps" },
};

TEST(test_each_word_names_its_verb)
{
    const struct fixture *fixture = *state;

    for (size_t i = 0; i < ELEMENTS(words); i++) {
        _cleanup_free_ char *err = NULL;

        if (verb_find(words[i].word) != NULL) /* a later version has it */
            continue;
        assert_non_null(words[i].verb);
        assert_int_equal(EDL(NULL, &err, words[i].word, "7", "-x"), STATUS_BAD_INPUT);
        if (strstr(err, words[i].verb) == NULL)
            fail_msg("%s: %s", words[i].word, err);
    }
}

TEST(test_stop_is_not_taken_for_top)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *err = NULL;

    assert_string_equal(verb_nearest("stop")->name, "top");
    assert_int_equal(EDL(NULL, &err, "stop", "7"), STATUS_BAD_INPUT);
    assert_string_equal(err, "edl: there is no verb \"stop\"\ntry: edl kill JOB\n");
}

TEST(test_options_go_before_the_verb)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *out = NULL, *whole = NULL, *of_verb = NULL;

    assert_int_equal(EDL(&out, NULL, "--json", "ps", "--all"), STATUS_OK);
    assert_non_null(strstr(out, "\"jobs\": []"));
    /* an option of the verb alone, whose value is the name of a verb */
    assert_int_equal(EDL(NULL, NULL, "--reason", "ps", "kill", "example"), STATUS_OK);
    assert_int_equal(EDL(NULL, NULL, "--no-upload", "--name=wait", "submit", "--", "true"),
                     STATUS_OK);
    assert_int_equal(EDL(NULL, NULL, "--token-file", "/dev/null", "--array", "sweep", "ps"),
                     STATUS_BAD_INPUT); /* a token file without a token */
    whole = asked(fixture);
    assert_non_null(strstr(whole, "GET /jobs "));
    assert_non_null(strstr(whole, "{\"reason\":\"ps\"}"));
    assert_non_null(strstr(whole, "wait"));
    assert_int_equal(EDL(&of_verb, NULL, "--json", "--help", "wait"), STATUS_OK);
    assert_non_null(strstr(of_verb, "usage: edl wait"));
}

TEST(test_wrong_options_before_a_verb_are_named)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *unknown = NULL, *word = NULL, *none = NULL, *help = NULL;

    assert_int_equal(EDL(NULL, &unknown, "--jsn", "ps"), STATUS_BAD_INPUT);
    assert_string_equal(unknown, "edl: there is no option --jsn\ntry: --json\n");
    assert_int_equal(EDL(NULL, &word, "--server", "x:1", "squeue"), STATUS_BAD_INPUT);
    assert_non_null(strstr(word, "no verb \"squeue\""));
    assert_int_equal(EDL(NULL, &none, "--json", "--server", "x:1", "--", "ps"), STATUS_BAD_INPUT);
    assert_string_equal(none,
                        "edl: a verb is missing behind --json\ntry: edl --help lists the verbs\n");
    assert_int_equal(EDL(&help, NULL, "--json", "help", "ps"), STATUS_OK);
}
