/* SPDX-License-Identifier: Apache-2.0 */
/* test_rendezvous_notes.c - what the members of a generation bring for each other to read */

#include <errno.h>
#include <string.h>

#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/rendezvous.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

/* A job that runs; one process a node. */
static struct job *job_of(struct world *w, uint32_t min, uint32_t max)
{
    struct job *job = world_submit(w, world_spec("job", min, max, 1000, 0, 0));

    world_run(w, 3);
    assert_int_equal(job->state, JOB_RUNNING);
    return job;
}

static void assert_together(const struct job *job, uint64_t generation, uint32_t n)
{
    assert_int_equal(rendezvous_of(job, 0)->generation, generation);
    assert_int_equal(rendezvous_of(job, 0)->n_members, n);
}

static enum rendezvous_result bring(struct world *w, const struct job *job, uint32_t index,
                                    uint64_t after, const char *note)
{
    enum rendezvous_result result;

    assert_int_equal(cluster_arrive(w->cluster, world_live(job, "trainer", index), after, note,
                                    w->now, &result, NULL),
                     0);
    world_plan(w);
    return result;
}

static const char *note_of(const struct job *job, uint32_t rank)
{
    const char *note = rendezvous_of(job, 0)->members[rank].note;

    return note != NULL ? note : "";
}

#define HOSTILE "\"},{\\\n\t\x1b[31m\xc3\xa9\xf0\x9f\x98\x80</script>\x7f"

TEST(test_notes_are_of_their_generation)
{
    struct world *w = world_new(3, 1000, GIB, 1000);
    struct job *job = job_of(w, 2, 3);
    struct cluster *loaded;

    assert_int_equal(bring(w, job, 2, 0, "first word"), RENDEZVOUS_WAIT);
    assert_int_equal(bring(w, job, 0, 0, HOSTILE), RENDEZVOUS_WAIT);
    assert_int_equal(bring(w, job, 2, 0, "last word"), RENDEZVOUS_WAIT); /* asks again */
    assert_int_equal(bring(w, job, 1, 0, NULL), RENDEZVOUS_AGREED);
    assert_together(job, 1, 3);
    assert_string_equal(note_of(job, 0), HOSTILE);
    assert_string_equal(note_of(job, 1), "");
    assert_string_equal(note_of(job, 2), "last word");
    /* too late: all members have been given the same, or will be */
    assert_int_equal(bring(w, job, 1, 0, "an afterthought"), RENDEZVOUS_AGREED);
    assert_string_equal(note_of(job, 1), "");
    world_restart(w);
    job = cluster_find_job(w->cluster, "job");
    assert_together(job, 1, 3);
    assert_string_equal(note_of(job, 0), HOSTILE);
    assert_string_equal(note_of(job, 2), "last word");
    assert_int_equal(bring(w, job, 0, 0, "anew"), RENDEZVOUS_AGREED); /* an answer was lost */
    assert_string_equal(note_of(job, 0), HOSTILE);
    /* and every check of what is remembered would see it otherwise */
    loaded = world_load(w);
    assert_int_equal(cluster_compare(w->cluster, loaded, NULL), 0);
    rendezvous_of(cluster_find_job(loaded, "job"), 0)->members[2].note[0] = 'L';
    assert_int_not_equal(cluster_compare(w->cluster, loaded, NULL), 0);
    (void)cluster_free(loaded);
    /* the next one has what was brought to it, and nothing of before */
    assert_int_equal(bring(w, job, 0, 1, NULL), RENDEZVOUS_WAIT);
    assert_int_equal(bring(w, job, 1, 1, "second"), RENDEZVOUS_WAIT);
    assert_int_equal(bring(w, job, 2, 1, ""), RENDEZVOUS_AGREED);
    assert_together(job, 2, 3);
    assert_string_equal(note_of(job, 0), "");
    assert_string_equal(note_of(job, 1), "second");
    assert_string_equal(note_of(job, 2), "");
    world_free(w);
}

/* Who goes before the others are there takes its note along. */
TEST(test_note_of_one_that_goes)
{
    struct world *w = world_new(3, 1000, GIB, 1000);
    struct job *job = job_of(w, 2, 3);

    for (uint32_t i = 0; i < 3; i++)
        (void)bring(w, job, i, 0, "before");
    assert_int_equal(bring(w, job, 0, 1, "zero"), RENDEZVOUS_WAIT);
    assert_int_equal(bring(w, job, 1, 1, "one"), RENDEZVOUS_WAIT);
    world_exit(w, world_live(job, "trainer", 1), 0, 9);
    world_run(w, 1);
    assert_int_equal(bring(w, job, 2, 1, "two"), RENDEZVOUS_AGREED);
    assert_together(job, 2, 2);
    assert_string_equal(note_of(job, 0), "zero");
    assert_string_equal(note_of(job, 1), "two");
    world_free(w);
}

TEST(test_note_that_is_too_long)
{
    struct world *w = world_new(3, 1000, GIB, 1000);
    struct job *job = job_of(w, 2, 2);
    char note[RENDEZVOUS_NOTE_MAX + 2];
    struct edl_error error = { 0 };
    enum rendezvous_result result;

    memset(note, 'x', sizeof note - 1);
    note[sizeof note - 1] = '\0';
    assert_int_equal(cluster_arrive(w->cluster, world_live(job, "trainer", 0), 0, note, w->now,
                                    &result, &error),
                     -E2BIG);
    assert_string_equal(error.pointer, "/note");
    assert_non_null(strstr(error.text, "1025 bytes, 1024 at most"));
    assert_int_equal(bring(w, job, 1, 0, "short"), RENDEZVOUS_WAIT); /* the other has not arrived */
    note[RENDEZVOUS_NOTE_MAX] = '\0';
    assert_int_equal(bring(w, job, 0, 0, note), RENDEZVOUS_AGREED);
    assert_string_equal(note_of(job, 0), note);
    world_free(w);
}
