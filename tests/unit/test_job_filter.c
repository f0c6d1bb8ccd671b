/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_filter.c - which jobs a list shows, and what of each; verbs that take several jobs */
#include "client/job_columns.h"
#include "client/job_states.h"
#include "tests/unit/client_fixture.h"
#include "tests/unit/test.h"

TEST_EACH(set_up, tear_down);

TEST(test_states_by_our_words_and_by_those_of_slurm)
{
    struct edl_error error = { 0 };
    unsigned set = 0;

    assert_int_equal(job_states_read("running,PD", &set, &error), 0);
    assert_true(job_states_has(set, "running"));
    assert_true(job_states_has(set, "queued"));
    assert_false(job_states_has(set, "starting"));
    assert_true(job_states_are_active(set));
    assert_int_equal(job_states_read("R", &set, &error), 0);
    assert_true(job_states_has(set, "resizing"));
    assert_int_equal(job_states_read("CANCELLED", &set, &error), 0);
    assert_true(job_states_has(set, "killed"));
    assert_false(job_states_are_active(set));
    assert_int_equal(job_states_read("all", &set, &error), 0);
    assert_false(job_states_has(set, "no such"));
    assert_int_equal(job_states_read("runing", &set, &error), -EINVAL);
    assert_string_equal(error.remedy, "running");
    assert_int_equal(job_states_read("running,", &set, &error), -EINVAL);
    assert_string_equal(job_state_of_slurm("resizing").letters, "R");
    assert_string_equal(job_state_of_slurm("killed").word, "CANCELLED");
}

/* A table of two jobs as text. */
static char *shown(const char *list, bool header)
{
    _cleanup_json_ json_t *jobs =
        json_loads("[{\"id\":7,\"name\":\"a\",\"user\":\"ann\",\"state\":\"running\",\"roles\":[{"
                   "\"role\":\"trainer\",\"min\":1,\"max\":3,\"running\":2,\"live\":2,\"gpus\":4,"
                   "\"cpu_millicores\":1500,\"memory_bytes\":1048576}]},"
                   "{\"id\":12,\"name\":\"a\",\"user\":\"b\\u001bob\",\"state\":\"queued\"}]",
                   0, NULL);
    struct edl_error error = { 0 };
    struct job_columns columns;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(job_columns_read(list, &columns, &error), 0);
    job_columns_print(&columns, jobs, header, out);
    (void)fclose(out);
    return text;
}

TEST(test_columns_by_name)
{
    struct edl_error error = { 0 };
    struct job_columns columns;
    _cleanup_free_ char *named = shown("id,name, state", true);
    _cleanup_free_ char *sums = shown("job cpu memory gpus instances", false);

    assert_string_equal(named, "ID  NAME  STATE\n 7  a     running\n12  a     queued\n");
    assert_string_equal(sums, "ann/a   3  2Mi  8  trainer 2/1-3\nb?ob/a  0    0  0  \n");
    assert_int_equal(job_columns_read("id,nam", &columns, &error), -EINVAL);
    assert_string_equal(error.text, "there is no column \"nam\"");
    assert_string_equal(error.remedy, "name");
    assert_int_equal(job_columns_read("%i %j", &columns, &error), -EINVAL);
    assert_non_null(strstr(error.remedy, "id,job,name,user,state"));
    assert_int_equal(job_columns_read(" ,", &columns, &error), -EINVAL);
    assert_int_equal(job_columns_read("id,id,id,id,id,id,id,id,id,id,id,id,id,id,id,id,id",
                                      &columns, &error),
                     -EINVAL);
}

TEST(test_ps_shows_what_was_asked_for)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *failed = NULL, *of_user = NULL, *one = NULL, *err = NULL, *whose = NULL;

    assert_int_equal(EDL(&failed, NULL, "ps", "--array", "sweep", "-t", "failed", "--format",
                         "id,state", "--no-header"),
                     STATUS_OK);
    assert_string_equal(failed, "1  failed\n2  failed\n4  failed\n");
    assert_int_equal(EDL(&of_user, NULL, "ps", "--array", "sweep", "-u", "nobody", "-o", "id"),
                     STATUS_OK);
    assert_string_equal(of_user, "ID\n");
    assert_int_equal(EDL(&one, NULL, "ps", "--array", "sweep", "--state=CD", "--json"), STATUS_OK);
    assert_non_null(strstr(one, "\"id\": 3"));
    assert_null(strstr(one, "\"id\": 4"));
    assert_int_equal(EDL(NULL, &err, "ps", "--state", "pendin"), STATUS_BAD_INPUT);
    assert_string_equal(err, "edl: \"pendin\" is no state of a job\ntry: PENDING\n");
    assert_int_equal(EDL(NULL, &whose, "ps", "--me", "-u", "ann"), STATUS_BAD_INPUT);
    assert_non_null(strstr(whose, "both say whose"));
}

TEST(test_wait_takes_several_jobs)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *both = NULL, *bad = NULL;

    assert_int_equal(EDL(&both, NULL, "wait", "example", "example"), STATUS_OK);
    assert_string_equal(both, "job example (1) succeeded\njob example (1) succeeded\n");
    assert_int_equal(EDL(&bad, NULL, "wait", "broken", "example"), STATUS_FAILED);
    assert_string_equal(bad, "job broken (2) failed: exit 1\njob example (1) succeeded\n");
    assert_int_equal(EDL(NULL, NULL, "wait", "example", "none"), STATUS_FAILED);
}

TEST(test_scale_takes_an_array)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *seen = NULL;

    assert_int_equal(EDL(NULL, NULL, "scale", "sweep", "2:4"), STATUS_OK);
    seen = asked(fixture);
    /* those that are over are left alone, and those of an earlier array of that name */
    assert_null(strstr(seen, "PATCH /jobs/4"));
    assert_null(strstr(seen, "PATCH /jobs/1 "));
    assert_non_null(strstr(seen, "PATCH /jobs/5"));
    assert_non_null(strstr(seen, "PATCH /jobs/6"));
    assert_int_equal(EDL(NULL, NULL, "scale", "none", "2:4"), STATUS_FAILED);
}
