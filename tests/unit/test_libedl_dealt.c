/* SPDX-License-Identifier: Apache-2.0 */
/* test_libedl_dealt.c - records as an agent deals them out: the news of their tasks, and to which
 * of several readers they come */
#include "tests/unit/records_fixture.h"

#include <sys/wait.h>

#include "libedl/client.h"
#include "tests/unit/edl_agent.h"
#include "tests/unit/test.h"

#define TASK(id, pass, path, records)                                                              \
    SAYS("{\"task\":{\"id\":" id ",\"pass\":" pass ",\"lease\":9,\"chunks\":[{\"path\":\"" path    \
         "\",\"offset\":0,\"records\":" records "}]}}")
#define CHUNK(name, records, size)                                                                 \
    "{\"path\":\"" name "\",\"offset\":0,\"records\":" records ",\"size\":" size                   \
    ",\"mtime_us\":" TIME_TEXT "}"
#define WAIT SAYS("{\"wait\":true}")
#define LEASE "POST /jobs/self/tasks/lease "
#define FINISH "POST /jobs/self/tasks/finish "

static void open_dealt(struct fixture *f, struct agent *agent, const char *const *answers)
{
    edl_agent_begin(agent, answers);
    assert_int_equal(edl_records_open(agent->client, "text*", EDL_RECORD_AUTO, 99, &f->records), 0);
}

TEST_EACH(setup, teardown);

TEST(test_dealt_out)
{
    static const char *const answers[] = {
        REFUSES("404 Not Found", "no dataset"),
        SAYS("{\"tasks\":1}"),
        SAYS("{\"task\":{\"id\":5,\"pass\":0,\"lease\":9,\"chunks\":[{\"path\":\"text\",\"offset\":"
             "0,"
             "\"records\":2},{\"path\":\"text\",\"offset\":4,\"records\":2}]}}"),
        TASK("6", "0", "text2", "1"), /* asked for when half of its last chunk is given */
        REFUSES("503 Service Unavailable", "restarting"),
        SAYS("{}"), /* asked again, with the patience that the client has */
        WAIT,       /* nothing ahead */
        REFUSES("409 Conflict", "lease 9 is not the current one"),
        TASK("5", "1", "text", "4"),
        WAIT,
        SAYS("{}"),
        SAYS("{\"finished\":true,\"save_model\":true}"),
        NULL,
    };
    static const char *const wanted[] = {
        "GET /jobs/self/dataset ",
        NULL, /* PUT, below */
        LEASE "{\"known\":[],\"wait\":20}",
        LEASE "{\"known\":[5],\"wait\":0}",
        FINISH "{\"task\":5,\"pass\":0,\"lease\":9}",
        FINISH "{\"task\":5,\"pass\":0,\"lease\":9}",
        LEASE "{\"known\":[6],\"wait\":0}",
        FINISH "{\"task\":6,\"pass\":0,\"lease\":9}",
        LEASE "{\"known\":[],\"wait\":20}",
        LEASE "{\"known\":[5],\"wait\":0}",
        FINISH "{\"task\":5,\"pass\":1,\"lease\":9}",
        LEASE "{\"known\":[],\"wait\":20}",
    };
    struct fixture *f = *state;
    struct agent agent;

    put_file("text", "a\nb\nc\nd\n");
    put_file("text2", "e\n");
    open_dealt(f, &agent, answers);
    assert_next(f, "a");
    assert_next(f, "b");
    assert_int_equal(edl_agent_asked(&agent), 3);
    assert_next(f, "c");
    assert_int_equal(edl_agent_asked(&agent), 4);
    assert_next(f, "d");
    assert_int_equal(edl_agent_asked(&agent), 4); /* d is not done with */
    assert_next(f, "e");
    assert_int_equal(edl_agent_asked(&agent), 7);
    assert_no_record(f, EDL_RECORD_PASS_END); /* although e does not count */
    for (const char *c = "abcd"; *c != '\0'; c++)
        assert_next(f, (char[]){ *c, '\0' });
    assert_no_record(f, EDL_RECORD_PASS_END);
    assert_no_record(f, EDL_RECORD_SAVE_MODEL);
    assert_no_record(f, EDL_RECORD_END);
    for (unsigned i = 0; i < ELEMENTS(wanted); i++)
        if (wanted[i] != NULL)
            assert_string_equal(agent.asked->text[i], wanted[i]);
    assert_non_null(strstr(agent.asked->text[1], "\"passes\":99"));
    assert_non_null(
        strstr(agent.asked->text[1],
               "\"tasks\":[{\"chunks\":[" CHUNK("text", "4",
                                                "8") "]},{\"chunks\":[" CHUNK("text2", "1",
                                                                              "2") "]}]"));
    f->records = edl_records_close(f->records);
    edl_agent_end(&agent);
}

/* What damaged chunks of a task lose is told with its end, and of the next task nothing. */
TEST(test_lost_is_told)
{
    static const char *const answers[] = {
        SAYS("{}"), /* the data set is there */
        SAYS("{\"task\":{\"id\":5,\"pass\":0,\"lease\":9,\"chunks\":["
             "{\"path\":\"data\",\"offset\":0,\"records\":3},"
             "{\"path\":\"data\",\"offset\":35,\"records\":3},"
             "{\"path\":\"data\",\"offset\":70,\"records\":2}]}}"),
        REFUSES("503 Service Unavailable", "restarting"),
        SAYS("{}"),
        TASK("6", "0", "text", "1"),
        WAIT,
        SAYS("{}"),
        SAYS("{\"finished\":true,\"save_model\":false}"),
        NULL,
    };
    struct fixture *f = *state;
    _cleanup_close_ int fd = -1;
    struct agent agent;

    put_recordio("data", "abcdefgh", 3);
    put_file("text", "z\n");
    fd = open("data", O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "X", 1, 24), 1);
    assert_int_equal(pwrite(fd, "X", 1, 70 + 24), 1);
    open_dealt(f, &agent, answers);
    assert_next(f, "d");
    assert_next(f, "e");
    assert_next(f, "f");
    assert_next(f, "z");
    assert_int_equal(edl_records_lost(f->records), 5);
    assert_no_record(f, EDL_RECORD_PASS_END);
    assert_string_equal(agent.asked->text[3], FINISH "{\"task\":5,\"pass\":0,\"lease\":9,"
                                                     "\"lost\":5,\"lost_chunks\":2}");
    assert_string_equal(agent.asked->text[6], FINISH "{\"task\":6,\"pass\":0,\"lease\":9}");
    f->records = edl_records_close(f->records);
    edl_agent_end(&agent);
}

TEST_PLAIN(test_no_more_is_lost_than_a_task_has)
{
    static const char *const answers[] = { TASK("5", "0", "text", "4"), SAYS("{}"), NULL };
    struct edl_task *task = NULL;
    struct agent agent;

    edl_agent_begin(&agent, answers);
    assert_int_equal(edl_task_next(agent.client, EDL_FOREVER, &task), EDL_NEXT_TASK);
    assert_int_equal(edl_task_lost(agent.client, task, 5, 1), -EINVAL);
    assert_says(&agent, "than the task has left");
    assert_int_equal(edl_task_lost(agent.client, task, 1, 2), -EINVAL);
    assert_int_equal(edl_task_lost(agent.client, task, 1, 0), -EINVAL);
    assert_int_equal(edl_task_lost(agent.client, task, 3, 1), 0);
    assert_int_equal(edl_task_lost(agent.client, task, 1, 1), -EINVAL); /* no chunk is left */
    assert_int_equal(edl_task_done(agent.client, task), 0);
    assert_string_equal(agent.asked->text[1], FINISH "{\"task\":5,\"pass\":0,\"lease\":9,"
                                                     "\"lost\":3,\"lost_chunks\":1}");
    (void)edl_task_free(task);
    edl_agent_end(&agent);
}

/* Of 2,050 files three are a task, and no more than two of large ones. */
TEST(test_few_files_a_task)
{
    static const char *const answers[] = { REFUSES("404 Not Found", "no dataset"),
                                           REFUSES("413 Too Large", "no"), NULL };
    struct fixture *f = *state;
    struct agent agent;
    char *large;

    for (int i = 0; i < 2050; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "text%04d", i);
        put_file(name, i == 0 ? "a\nb" : "c");
    }
    large = xcalloc((1 << 20) + 1, 1);
    memset(large, 'c', 1 << 20);
    put_file("text0004", large);
    free(large);
    set_time("text0004", 250000);
    open_dealt(f, &agent, answers);
    assert_no_record(f, -E2BIG);
    assert_non_null(strstr(
        agent.asked->text[1],
        "\"tasks\":[{\"chunks\":[" CHUNK("text0000", "2", "3") "," CHUNK(
            "text0001", "1",
            "1") "," CHUNK("text0002", "1",
                           "1") "]},{\"chunks\":[" CHUNK("text0003", "1",
                                                         "1") "," CHUNK("text0004", "1",
                                                                        "1048576") "]},{\"chunks\":"
                                                                                   "[" CHUNK("text0"
                                                                                             "005",
                                                                                             "1",
                                                                                             "1")));
    f->records = edl_records_close(f->records);
    edl_agent_end(&agent);
}

/* A task that cannot be read is told of, and others are taken; four in a row are too many. */
TEST(test_unreadable)
{
    static const char *const answers[] = {
        SAYS("{}"),
        TASK("1", "0", "gone1", "1"),
        SAYS("{}"),
        TASK("2", "0", "text", "1"), /* as said: one line, which it has no more */
        WAIT,
        SAYS("{}"),
        TASK("3", "0", "text", "5"),
        SAYS("{}"), /* fail */
        TASK("4", "0", "gone4", "1"),
        SAYS("{}"),
        TASK("5", "0", "gone5", "1"),
        SAYS("{}"),
        TASK("6", "0", "gone6", "1"),
        SAYS("{}"),
        NULL,
    };
    struct fixture *f = *state;
    struct agent agent;

    put_file("text", "a\n");
    open_dealt(f, &agent, answers);
    assert_next(f, "a");
    assert_string_equal(agent.asked->text[2],
                        "POST /jobs/self/tasks/fail {\"task\":1,\"pass\":0,\"lease\":9,"
                        "\"returned\":false,\"reason\":\"gone1 cannot be read: No such file or "
                        "directory: look at: ls -l gone1\"}");
    assert_next(f, "a"); /* of the task that says five */
    assert_fails(f, "gone6 cannot be read");
    assert_non_null(strstr(agent.asked->text[7], "text has changed: it has fewer lines"));
    f->records = edl_records_close(f->records);
    edl_agent_end(&agent);
}

/* What is held goes back at once: the task under way, and the one that was asked for ahead. */
TEST(test_closed)
{
    static const char *const answers[] = {
        SAYS("{}"),
        TASK("1", "0", "text", "1"),
        TASK("2", "0", "text", "1"),
        SAYS("{}"),
        SAYS("{}"),
        NULL,
    };
    struct fixture *f = *state;
    struct agent agent;

    put_file("text", "a\n");
    open_dealt(f, &agent, answers);
    assert_next(f, "a");
    f->records = edl_records_close(f->records);
    assert_string_equal(agent.asked->text[3],
                        "POST /jobs/self/tasks/fail {\"task\":1,\"pass\":0,\"lease\":9,"
                        "\"returned\":true,\"reason\":\"its reader was closed\"}");
    assert_string_equal(agent.asked->text[4],
                        "POST /jobs/self/tasks/fail {\"task\":2,\"pass\":0,\"lease\":9,"
                        "\"returned\":true,\"reason\":\"its reader was closed\"}");
    edl_agent_end(&agent);
}

/* The program cannot use a record: its task fails, the one that was asked for ahead goes on. */
TEST(test_fail)
{
    static const char *const answers[] = {
        SAYS("{}"),
        TASK("1", "0", "text", "2"),
        TASK("2", "0", "text2", "1"),
        SAYS("{}"), /* fail */
        WAIT,
        REFUSES("409 Conflict", "lease 9 is not the current one"),
        SAYS("{\"finished\":true,\"save_model\":false}"),
        NULL,
    };
    struct fixture *f = *state;
    struct agent agent;

    put_file("text", "a\nb\n");
    put_file("text2", "c\n");
    open_dealt(f, &agent, answers);
    assert_int_equal(edl_records_fail(f->records, "none yet"), -EINVAL);
    assert_next(f, "a");
    assert_int_equal(edl_records_fail(f->records, "a is no number"), 0);
    assert_string_equal(agent.asked->text[3],
                        "POST /jobs/self/tasks/fail {\"task\":1,\"pass\":0,\"lease\":9,"
                        "\"returned\":false,\"reason\":\"a is no number\"}");
    assert_int_equal(edl_records_fail(f->records, "again"), -EINVAL);
    assert_next(f, "c");
    assert_int_equal(edl_records_fail(f->records, "c"), 0); /* somebody else's by now */
    assert_no_record(f, EDL_RECORD_PASS_END);
    f->records = edl_records_close(f->records);
    edl_agent_end(&agent);
}

static int next_of(struct edl_records *records)
{
    const void *data;
    size_t size;

    return edl_records_next(records, &data, &size);
}

/* It was forked while its parent had a record, and gets none: its parent works that task off. */
static _Noreturn void be_a_child(struct edl_records *records)
{
    bool is_refused = next_of(records) == -EBUSY && next_of(records) == -EBUSY &&
                      strstr(edl_records_error(records), "was forked from") != NULL;

    _exit(is_refused ? 0 : 1);
}

/* A second client of the process is refused, a process that is forked from it, and no client of
 * another index. */
TEST(test_one_reader)
{
    static const char *const answers[] = { SAYS("{}"), TASK("1", "0", "text", "2"), WAIT,
                                           SAYS("{}"), NULL };
    static const char *const others[] = { SAYS("{}"), SAYS("{}"), TASK("1", "0", "text", "2"),
                                          WAIT,       SAYS("{}"), NULL };
    struct fixture *f = *state;
    struct agent agent, other_agent;
    struct edl_records *other = NULL;
    int status = -1;
    pid_t child;

    assert_int_equal(setenv("EDL_OUTPUT_DIR", f->folder, 1), 0);
    put_file("text", "a\nb\n");
    open_dealt(f, &agent, answers);
    assert_next(f, "a");
    edl_agent_begin(&other_agent, others);
    assert_int_equal(edl_records_open(other_agent.client, "text", EDL_RECORD_AUTO, 1, &other), 0);
    assert_int_equal(next_of(other), -EBUSY);
    assert_non_null(strstr(edl_records_error(other), "another client of this one"));
    assert_non_null(strstr(edl_records_error(other), "one client of one process"));
    other = edl_records_close(other);
    child = fork();
    if (child == 0)
        be_a_child(f->records);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(setenv("EDL_INDEX", "1", 1), 0);
    assert_int_equal(edl_records_open(other_agent.client, "text", EDL_RECORD_AUTO, 1, &other), 0);
    assert_int_equal(next_of(other), EDL_RECORD);
    assert_int_equal(unsetenv("EDL_INDEX"), 0);
    assert_int_equal(unsetenv("EDL_OUTPUT_DIR"), 0);
    other = edl_records_close(other);
    f->records = edl_records_close(f->records);
    edl_agent_end(&other_agent);
    edl_agent_end(&agent);
}
