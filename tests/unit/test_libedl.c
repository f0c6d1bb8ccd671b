/* SPDX-License-Identifier: Apache-2.0 */
/* test_libedl.c - the library for programs, against an agent that says whatever the test wants
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libedl/edl/edl.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/edl_agent.h"
#include "tests/unit/test.h"

#define TASK(id)                                                                                   \
    "{\"task\":{\"id\":" id ",\"pass\":1,\"lease\":9,\"chunks\":[{\"path\":\"/data/a\","           \
    "\"offset\":4096,\"records\":10},{\"path\":\"b\",\"offset\":0,\"records\":0}]}}"
#define PEER(rank)                                                                                 \
    "{\"rank\":" rank ",\"index\":4,\"incarnation\":12,\"node\":\"n1\",\"address\":\"10.0.0.1\","  \
    "\"ports\":[7164,7165]}"
/* ---- what am I ---- */

TEST(test_self)
{
    static const char *const names[][2] = {
        { "EDL_JOB", "mnist" },        { "EDL_JOB_ID", "12" },       { "EDL_ROLE", "trainer" },
        { "EDL_INDEX", "3" },          { "EDL_INCARNATION", "40" },  { "EDL_NODE", "n1" },
        { "EDL_ADDRESS", "10.0.0.1" }, { "EDL_PORTS", "7164,7165" }, { "EDL_OUTPUT_DIR", "/out/x" },
        { "EDL_SOCKET", "/run/x" },
    };
    struct edl_client *client;
    struct edl_self *self = NULL;

    assert_int_equal(unsetenv("EDL_SOCKET"), 0);
    assert_int_equal(edl_client_new(NULL, &client), -ENOENT);
    assert_int_equal(edl_client_new("relative", &client), -EINVAL);
    for (size_t i = 0; i < ELEMENTS(names); i++)
        assert_int_equal(setenv(names[i][0], names[i][1], 1), 0);
    assert_int_equal(edl_client_new(NULL, &client), 0);
    assert_string_equal(edl_last_error(client), "");
    assert_int_equal(edl_self_read(client, &self), 0);
    assert_string_equal(self->job, "mnist");
    assert_string_equal(self->role, "trainer");
    assert_true(self->job_id == 12 && self->index == 3 && self->incarnation == 40);
    assert_string_equal(self->address, "10.0.0.1");
    assert_string_equal(self->output_dir, "/out/x");
    assert_string_equal(self->dataset, "");
    assert_true(self->n_ports == 2 && self->ports[1] == 7165);
    self = edl_self_free(self);

    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(unsetenv(names[i][0]), 0);
        assert_int_equal(edl_self_read(client, &self), -ENOENT);
        assert_non_null(strstr(edl_last_error(client), names[i][0]));
        assert_int_equal(setenv(names[i][0], names[i][1], 1), 0);
    }
    assert_int_equal(setenv("EDL_PORTS", "7164,70000", 1), 0);
    assert_int_equal(edl_self_read(client, &self), -ENOENT);
    assert_int_equal(setenv("EDL_INDEX", "-1", 1), 0);
    assert_int_equal(edl_self_read(client, &self), -ENOENT);
    assert_null(self);
    (void)edl_client_free(client);
}

/* ---- tasks ---- */

#define TASK_OF(id) "{\"id\":" id ",\"pass\":1,\"lease\":9,\"chunks\":[]}"
#define SAYS_OF_PASS(code, detail)                                                                 \
    "HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json\r\nConnection: "              \
    "close\r\n\r\n{\"status\":409,\"detail\":\"" detail "\",\"code\":\"" code "\"}"

TEST(test_several_tasks)
{
    static const char *const answers[] = {
        SAYS("{\"tasks\":[" TASK_OF("5") "," TASK_OF("6") "," TASK_OF("7") "]}"),
        SAYS("{\"pass_ended\":false,\"results\":[{\"task\":5,\"counted\":true},"
             "{\"task\":7,\"counted\":false}]}"),
        SAYS("{\"tasks\":[" TASK_OF("8") ",{}]}"),
        SAYS("{\"tasks\":[" TASK_OF("8") "," TASK_OF("9") "," TASK_OF("10") "]}"),
        SAYS("{\"pass_ended\":false,\"results\":[]}"),
        SAYS("{\"finished\":true,\"save_model\":false}"),
        NULL
    };
    struct edl_task *tasks[3] = { NULL };
    struct edl_task *two[2], *more[2] = { NULL };
    int counted[2] = { 7, 7 };
    struct agent agent;
    size_t n = 99;

    edl_agent_begin(&agent, answers);
    assert_int_equal(edl_tasks_next(agent.client, EDL_ANY_PASS, 0, 0, tasks, &n), -EINVAL);
    assert_int_equal(edl_tasks_next(agent.client, EDL_ANY_PASS, 257, 0, tasks, &n), -EINVAL);
    assert_int_equal(edl_tasks_next(agent.client, 1, 3, 0, tasks, &n), EDL_NEXT_TASK);
    assert_int_equal(n, 3);
    assert_int_equal(tasks[2]->id, 7);
    assert_string_equal(agent.asked->text[0],
                        "POST /jobs/self/tasks/lease {\"n\":3,\"pass\":1,\"known\":[],\"wait\":0}");
    two[0] = tasks[0];
    two[1] = tasks[2];
    assert_int_equal(edl_tasks_done(agent.client, two, 2, counted), 1);
    assert_true(counted[0] == 1 && counted[1] == 0);
    assert_string_equal(
        agent.asked->text[1],
        "POST /jobs/self/tasks/finish {\"tasks\":[{\"task\":5,\"pass\":1,\"lease\":9}"
        ",{\"task\":7,\"pass\":1,\"lease\":9}]}");
    /* an answer that is no answer, or too long, leaves nothing behind: 6 alone is held */
    n = 99;
    for (int i = 0; i < 2; i++)
        assert_int_equal(edl_tasks_next(agent.client, EDL_ANY_PASS, 2, 0, more, &n), -EPROTO);
    assert_true(n == 99 && more[0] == NULL);
    assert_string_equal(agent.asked->text[3],
                        "POST /jobs/self/tasks/lease {\"n\":2,\"known\":[6],\"wait\":0}");
    assert_int_equal(edl_tasks_done(agent.client, &tasks[1], 1, NULL), -EPROTO);
    assert_int_equal(edl_tasks_next(agent.client, 0, 2, 0, more, &n), EDL_NEXT_FINISHED);
    edl_agent_end(&agent);
}

TEST(test_what_is_said_of_a_pass)
{
    static const char *const answers[] = {
        SAYS_OF_PASS("pass-before", "pass number smaller than master"),
        SAYS_OF_PASS("pass-after", "pass number larger than master"),
        SAYS_OF_PASS("no-more-task", "no more available task"),
        SAYS_OF_PASS("all-tasks-failed", "all task finished"),
        SAYS_OF_PASS("pass-after", "pass number larger than master"),
        SAYS_OF_PASS("no-more-task", "no more available task"),
        SAYS("{\"tasks\":[" TASK_OF("5") "]}"),
        NULL
    };
    static const struct {
        int code;
        const char *text;
    } told[] = { { EDL_PASS_BEFORE, "pass number smaller than master" },
                 { EDL_PASS_AFTER, "pass number larger than master" },
                 { EDL_NO_MORE_TASK, "no more available task" },
                 { EDL_ALL_TASKS_FAILED, "all task finished" } };
    struct edl_task *task = NULL;
    struct agent agent;
    size_t n = 0;

    edl_agent_begin(&agent, answers);
    for (size_t i = 0; i < ELEMENTS(told); i++) {
        assert_int_equal(edl_tasks_next(agent.client, 1, 1, 0, &task, &n), told[i].code);
        assert_string_equal(edl_last_error(agent.client), told[i].text);
    }
    /* with time left they are no end */
    assert_int_equal(edl_tasks_next(agent.client, 1, 1, EDL_FOREVER, &task, &n), EDL_NEXT_TASK);
    assert_int_equal(task->id, 5);
    edl_agent_end(&agent);
}

TEST(test_tasks)
{
    static const char *const answers[] = { REFUSES("404 Not Found", "no dataset"),
                                           SAYS("{\"tasks\":2}"),
                                           SAYS("{\"wait\":true}"),
                                           SAYS(TASK("5")),
                                           SAYS(TASK("6")),
                                           SAYS("{\"pass_ended\":false}"),
                                           SAYS(TASK("7")),
                                           REFUSES("409 Conflict",
                                                   "lease 9 is not the current one"),
                                           SAYS("{}"),
                                           SAYS(TASK("8")),
                                           SAYS("{\"finished\":true,\"save_model\":true}"),
                                           SAYS("{}"),
                                           SAYS("{\"finished\":true,\"save_model\":false}"),
                                           SAYS("{\"finished\":true,\"save_model\":true}"),
                                           NULL };
    static const struct edl_chunk chunk = { .path = "/data/a", .offset_bytes = 7, .n_records = 8 };
    static const struct edl_piece piece = { .chunks = &chunk, .n_chunks = 1 };
    struct edl_task *five = NULL, *six = NULL, *seven = NULL, *eight = NULL;
    struct agent agent;
    const struct asked *asked;

    edl_agent_begin(&agent, answers);
    asked = agent.asked;
    assert_int_equal(edl_dataset_exists(agent.client), 0);
    assert_int_equal(edl_dataset_put(agent.client, "abc", &piece, 1), 0);
    assert_string_equal(asked->text[1],
                        "PUT /jobs/self/dataset {\"digest\":\"abc\",\"tasks\":[{\"chunks\":"
                        "[{\"path\":\"/data/a\",\"offset\":7,\"records\":8}]}]}");
    assert_int_equal(edl_task_next(agent.client, EDL_FOREVER, &five), EDL_NEXT_TASK);
    assert_true(five->id == 5 && five->pass == 1 && five->lease == 9 && five->n_chunks == 2);
    assert_string_equal(five->chunks[0].path, "/data/a");
    assert_true(five->chunks[0].offset_bytes == 4096 && five->chunks[0].n_records == 10);
    assert_string_equal(asked->text[3], "POST /jobs/self/tasks/lease {\"known\":[],\"wait\":20}");
    assert_int_equal(edl_task_next(agent.client, 0, &six), EDL_NEXT_TASK);
    assert_string_equal(asked->text[4], "POST /jobs/self/tasks/lease {\"known\":[5],\"wait\":0}");
    assert_int_equal(edl_task_done(agent.client, five), 0);
    assert_string_equal(asked->text[5],
                        "POST /jobs/self/tasks/finish {\"task\":5,\"pass\":1,\"lease\":9}");
    /* what is done is not held, although its struct is */
    assert_int_equal(edl_task_next(agent.client, 100000, &seven), EDL_NEXT_TASK);
    assert_string_equal(asked->text[6], "POST /jobs/self/tasks/lease {\"known\":[6],\"wait\":1}");
    assert_int_equal(edl_task_done(agent.client, six), -ESTALE);
    assert_says(&agent, "lease 9 is not the current one: do this");
    assert_int_equal(edl_task_failed(agent.client, seven, "cannot \"read\""), 0);
    assert_string_equal(asked->text[8],
                        "POST /jobs/self/tasks/fail {\"task\":7,\"pass\":1,\"lease\":9,"
                        "\"returned\":false,\"reason\":\"cannot \\\"read\\\"\"}");
    assert_int_equal(edl_task_next(agent.client, 0, &eight), EDL_NEXT_TASK);
    eight = edl_task_free(eight); /* without a word: it is to be given again */
    assert_int_equal(edl_task_next(agent.client, 0, &eight), EDL_NEXT_SAVE_MODEL);
    assert_string_equal(asked->text[10], "POST /jobs/self/tasks/lease {\"known\":[],\"wait\":0}");
    assert_null(eight);
    assert_int_equal(edl_model_saved(agent.client, "/out/model"), 0);
    assert_string_equal(asked->text[11],
                        "POST /jobs/self/save-model {\"saved\":true,\"path\":\"/out/model\"}");
    assert_int_equal(edl_task_next(agent.client, 0, &eight), EDL_NEXT_FINISHED);
    assert_int_equal(edl_task_next(agent.client, 0, &eight), EDL_NEXT_FINISHED); /* said before */
    five = edl_task_free(five); /* the others go with their client */
    edl_agent_end(&agent);
}

/* ---- ranks, hosts, services ---- */

TEST(test_world)
{
    static const char *const answers[] = {
        SAYS("{\"wait\":true,\"arrived\":1,\"missing\":[]}"),
        SAYS("{\"generation\":3,\"rank\":1,\"world_size\":2,\"master\":{\"address\":\"10.0.0.1\","
             "\"port\":7164},\"members\":[" PEER(
                 "0") ",{\"rank\":1,\"index\":4,"
                      "\"incarnation\":12,\"address\":\"a\",\"ports\":[7164,7165],"
                      "\"note\":\"\\u00e9\\n\"}]}"),
        SAYS("{\"generation\":3,\"over\":false}"),
        SAYS("{\"generation\":3,\"over\":true}"),
        SAYS("{\"generation\":4,\"rank\":0,\"world_size\":9000,\"master\":{\"address\":\"a\","
             "\"port\":0}}"),
        SAYS("{\"leaving\":true}"),
        SAYS("{\"wait\":true}"),
        NULL
    };
    struct edl_world *world = NULL;
    char note[EDL_NOTE_BYTES_MAX + 2];
    struct agent agent;

    edl_agent_begin(&agent, answers);
    assert_int_equal(edl_world_join(agent.client, 0, EDL_FOREVER, &world), 1);
    assert_true(world->generation == 3 && world->rank == 1 && world->size == 2);
    assert_true(world->n_members == 2 && world->members[1].rank == 1);
    assert_true(world->members[1].index == 4 && world->members[1].ports[1] == 7165);
    assert_string_equal(world->master_address, "10.0.0.1");
    assert_int_equal(world->master_port, 7164);
    assert_string_equal(world->members[0].note, "");
    assert_string_equal(world->members[1].note, "\xc3\xa9\n");
    world = edl_world_free(world);
    assert_int_equal(edl_world_over(agent.client, 3, 0), 0);
    assert_int_equal(edl_world_over(agent.client, 3, EDL_FOREVER), 1);
    assert_string_equal(agent.asked->text[3],
                        "POST /jobs/self/rendezvous {\"generation\":3,\"wait\":20}");
    assert_int_equal(edl_world_join(agent.client, 3, 0, &world), 1);
    assert_string_equal(agent.asked->text[4],
                        "POST /jobs/self/rendezvous {\"after\":3,\"wait\":0}");
    assert_true(world->n_members == 0 && world->size == 9000);
    world = edl_world_free(world);
    memset(note, 'x', sizeof note - 1);
    note[sizeof note - 1] = '\0';
    assert_int_equal(edl_world_note(agent.client, "here: \"\xc3\xa9\""), 0);
    assert_int_equal(edl_world_note(agent.client, note), -E2BIG);
    assert_int_equal(edl_world_note(agent.client, "\xff"), -EINVAL);
    assert_int_equal(edl_world_join(agent.client, 4, 0, &world), 0);
    assert_string_equal(agent.asked->text[5], "POST /jobs/self/rendezvous {\"after\":4,\"note\":"
                                              "\"here: \\\"\xc3\xa9\\\"\",\"wait\":0}");
    note[EDL_NOTE_BYTES_MAX] = '\0';
    assert_int_equal(edl_world_note(agent.client, note), 0);
    assert_int_equal(edl_world_note(agent.client, NULL), 0);
    assert_int_equal(edl_world_join(agent.client, 4, 0, &world), -ETIMEDOUT);
    assert_string_equal(agent.asked->text[6],
                        "POST /jobs/self/rendezvous {\"after\":4,\"wait\":0}");
    assert_int_equal(edl_world_over(agent.client, 0, 0), -EINVAL);
    assert_null(world);
    edl_agent_end(&agent);
}

TEST(test_hosts_and_services)
{
#define SERVICE(version)                                                                           \
    "{\"service\":\"teach.server\",\"job_id\":8,\"version\":" version                              \
    ",\"processes\":[{\"role\":\"server\",\"index\":0,\"incarnation\":2,\"node\":\"n1\","          \
    "\"address\":\"::1\",\"ports\":[],\"started_us\":5}]}"
    static const char *const answers[] = { SAYS("{\"role\":\"pserver\",\"want\":2,\"hosts\":["
                                                "{\"index\":1,\"incarnation\":2,\"address\":\"a\","
                                                "\"ports\":[1],\"state\":\"preparing\"}]}"),
                                           SAYS(SERVICE("7")),
                                           SAYS(SERVICE("7")),
                                           SAYS(SERVICE("8")),
                                           REFUSES("404 Not Found", "no service \\\"x\\\""),
                                           NULL };
    static const char *const no_names[] = { "", ".", "../jobs", "a/b", "a?b", "a b", "a\r\n" };
    struct edl_hosts *hosts = NULL;
    struct edl_service *first = NULL, *later = NULL;
    struct agent agent;

    edl_agent_begin(&agent, answers);
    assert_int_equal(edl_hosts_of(agent.client, "pserver", &hosts), 0);
    assert_true(hosts->want == 2 && hosts->n_peers == 1 && hosts->peers[0].index == 1);
    assert_string_equal(hosts->peers[0].state, "preparing");
    hosts = edl_hosts_free(hosts);
    assert_int_equal(edl_service_find(agent.client, "teach", NULL, 0, &first), 1);
    assert_string_equal(first->name, "teach.server");
    assert_string_equal(first->peers[0].address, "::1");
    assert_int_equal(edl_service_find(agent.client, "teach", first, 0, &later), 0);
    assert_null(later);
    assert_int_equal(edl_service_find(agent.client, "teach", first, EDL_FOREVER, &later), 1);
    assert_string_equal(agent.asked->text[3], "GET /services/teach?after=7&wait=20 ");
    assert_true(later->version == 8);
    first = edl_service_free(first);
    later = edl_service_free(later);
    for (size_t i = 0; i < ELEMENTS(no_names); i++) {
        assert_int_equal(edl_service_find(agent.client, no_names[i], NULL, 0, &first), -EINVAL);
        assert_int_equal(edl_hosts_of(agent.client, no_names[i], &hosts), -EINVAL);
    }
    assert_int_equal(edl_service_find(agent.client, "x", NULL, 0, &first), -ENOENT);
    assert_says(&agent, "no service \"x\"");
    assert_null(first);
    edl_agent_end(&agent);
}

TEST(test_what_is_told)
{
    static const char *const answers[] = { HEAD("204 No Content") "\r\n",
                                           REFUSES("400 Bad Request", "progress has 17 members"),
                                           SAYS("{}"),
                                           HEAD("204 No Content") "\r\n",
                                           SAYS("{\"stopping\":false}"),
                                           SAYS("{\"stopping\":true}"),
                                           REFUSES("403 Forbidden", "not one of this node's"),
                                           REFUSES("503 Service Unavailable", "it restarts"),
                                           REFUSES("504 Gateway Timeout", "nobody answers"),
                                           REFUSES("507 Insufficient Storage", "disk full"),
                                           REFUSES("500 Internal Server Error", "a fault"),
                                           REFUSES("405 Method Not Allowed", "not so"),
                                           NULL };
    static const int once[] = { -EAGAIN, -ETIMEDOUT, -ENOSPC, -EREMOTEIO, -EREMOTEIO };
    struct agent agent;

    edl_agent_begin(&agent, answers);
    assert_int_equal(edl_progress(agent.client, "{\"step\": 12}"), 0);
    assert_string_equal(agent.asked->text[0], "POST /processes/self/progress {\"step\":12}");
    assert_int_equal(edl_progress(agent.client, "{}"), -EINVAL);
    assert_says(&agent, "progress has 17 members");
    assert_int_equal(edl_progress(agent.client, "{\"step\": 12"), -EINVAL);
    assert_int_equal(edl_progress(agent.client, "[1]"), -EINVAL);
    assert_int_equal(edl_metrics(agent.client, "{\"loss\": 0.5}"), 0);
    assert_int_equal(edl_alive(agent.client, USEC_PER_SEC / 2), -EINVAL);
    assert_int_equal(edl_alive(agent.client, 3500000), 0);
    assert_string_equal(agent.asked->text[3], "POST /processes/self/alive {\"within_s\":3.5}");
    assert_int_equal(edl_checkpoint_done(agent.client), 0);
    assert_int_equal(edl_checkpoint_done(agent.client), 1);
    assert_int_equal(edl_checkpoint_done(agent.client), -EACCES);
    for (size_t i = 0; i < ELEMENTS(once); i++)
        assert_int_equal(edl_progress(agent.client, "{}"), once[i]);
    edl_agent_end(&agent);
}

/* ---- what no agent says ---- */

enum call { NEXT, JOIN, OVER, HOSTS, SERVICE, DONE, SECRET };

/* The call's result; nothing may be left in what it returns when that is an error. */
static int make(struct edl_client *client, enum call call)
{
    struct edl_task *task = NULL;
    struct edl_world *world = NULL;
    struct edl_hosts *hosts = NULL;
    struct edl_service *service = NULL;
    uint8_t secret[EDL_SECRET_BYTES] = { 0 };
    int r = -1;

    switch (call) {
    case NEXT:
        r = edl_task_next(client, 0, &task);
        break;
    case JOIN:
        r = edl_world_join(client, 0, 0, &world);
        break;
    case OVER:
        r = edl_world_over(client, 1, 0);
        break;
    case HOSTS:
        r = edl_hosts_of(client, "trainer", &hosts);
        break;
    case SERVICE:
        r = edl_service_find(client, "teach", NULL, 0, &service);
        break;
    case DONE:
        r = edl_checkpoint_done(client);
        break;
    case SECRET:
        r = edl_secret(client, secret);
        assert_true(secret[0] == 0 && secret[EDL_SECRET_BYTES - 1] == 0);
        break;
    }
    if (r < 0)
        assert_true(task == NULL && world == NULL && hosts == NULL && service == NULL);
    (void)edl_world_free(world);
    (void)edl_hosts_free(hosts);
    (void)edl_service_free(service);
    return r;
}

#define SECRET_30 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d"

TEST(test_secret)
{
    static const char *const answers[] = { SAYS("{\"secret\":\"" SECRET_30 "1e1f\"}"), NULL };
    uint8_t secret[EDL_SECRET_BYTES];
    struct agent agent;

    edl_agent_begin(&agent, answers);
    assert_int_equal(edl_secret(agent.client, secret), 0);
    assert_string_equal(agent.asked->text[0], "GET /jobs/self/secret ");
    for (size_t i = 0; i < sizeof secret; i++)
        assert_int_equal(secret[i], i);
    edl_agent_end(&agent);
}

TEST(test_bad_answers)
{
#define MASTER "\"master\":{\"address\":\"a\",\"port\":1}"
    static const struct {
        enum call call;
        const char *answer;
        int result;
    } cases[] = {
        { NEXT, SAYS("{}"), -EPROTO },
        { NEXT, SAYS("[]"), -EPROTO },
        { NEXT, SAYS("{"), -EPROTO },
        { NEXT, SAYS(""), -EPROTO },
        { NEXT, SAYS("{\"wait\":1}"), -EPROTO },
        { NEXT, "HTTP/1.1 200 OK\r\n\r\n{\"wait\":true}", -EPROTO }, /* it does not say JSON */
        { NEXT, SAYS("{\"task\":7}"), -EPROTO },
        { NEXT, SAYS("{\"task\":{\"id\":1,\"pass\":1,\"lease\":1}}"), -EPROTO },
        { NEXT, SAYS("{\"task\":{\"id\":-1,\"pass\":1,\"lease\":1,\"chunks\":[]}}"), -EPROTO },
        { NEXT, SAYS("{\"task\":{\"id\":1,\"pass\":1,\"lease\":1,\"chunks\":{}}}"), -EPROTO },
        { NEXT,
          SAYS("{\"task\":{\"id\":1,\"pass\":1,\"lease\":1,\"chunks\":[{\"path\":\"a\","
               "\"offset\":0,\"records\":4294967296}]}}"),
          -EPROTO },
        { NEXT,
          SAYS("{\"task\":{\"id\":1,\"pass\":1,\"lease\":1,\"chunks\":[{\"path\":\"a\","
               "\"offset\":0,\"records\":1},{\"path\":7}]}}"),
          -EPROTO },
        { JOIN, SAYS("{\"generation\":0,\"rank\":0,\"world_size\":1," MASTER "}"), -EPROTO },
        { JOIN, SAYS("{\"generation\":1,\"rank\":1,\"world_size\":1," MASTER "}"), -EPROTO },
        { JOIN, SAYS("{\"generation\":1,\"rank\":0,\"world_size\":1}"), -EPROTO },
        { JOIN,
          SAYS("{\"generation\":1,\"rank\":0,\"world_size\":1,\"master\":{\"address\":\"a\","
               "\"port\":65536}}"),
          -EPROTO },
        { JOIN,
          SAYS("{\"generation\":1,\"rank\":0,\"world_size\":2," MASTER
               ",\"members\":[" PEER("0") "]}"),
          -EPROTO },
        { JOIN,
          SAYS("{\"generation\":1,\"rank\":0,\"world_size\":1," MASTER
               ",\"members\":[" PEER("1") "]}"),
          -EPROTO },
        { OVER, SAYS("{\"generation\":1}"), -EPROTO },
        { HOSTS, SAYS("{\"want\":1,\"hosts\":[7]}"), -EPROTO },
        { HOSTS, SAYS("{\"want\":-1,\"hosts\":[]}"), -EPROTO },
        { HOSTS,
          SAYS("{\"want\":1,\"hosts\":[{\"index\":0,\"incarnation\":1,\"address\":\"a\","
               "\"ports\":[70000]}]}"),
          -EPROTO },
        { SERVICE, SAYS("{\"service\":\"a\",\"job_id\":1,\"processes\":[]}"), -EPROTO },
        { SERVICE, SAYS("{\"service\":\"a\",\"job_id\":1,\"version\":1}"), -EPROTO },
        { DONE, SAYS("{\"stopping\":1}"), -EPROTO },
        { SECRET, SAYS("{}"), -EPROTO },
        { SECRET, SAYS("{\"secret\":\"" SECRET_30 "0a\"}"), -EPROTO },
        { SECRET, SAYS("{\"secret\":\"" SECRET_30 "0a0A\"}"), -EPROTO },
        { SECRET, REFUSES("404 Not Found", "x"), -ENOENT },
        { NEXT, REFUSES("400 Bad Request", "x"), -EINVAL },
        { NEXT, REFUSES("422 Unprocessable", "x"), -EINVAL },
        { NEXT, REFUSES("401 Unauthorized", "x"), -EACCES },
        { NEXT, REFUSES("409 Conflict", "x"), -ESTALE },
        { NEXT, REFUSES("429 Too Many Requests", "x"), -EAGAIN },
        { NEXT, REFUSES("418 Teapot", "x"), -EREMOTEIO },
        { NEXT, REFUSES("500 Internal Server Error", "x"), -EREMOTEIO },
        { NEXT, REFUSES("302 Found", "x"), -EREMOTEIO },
        /* without patience these are the end of it */
        { NEXT, REFUSES("503 Service Unavailable", "x"), -EHOSTUNREACH },
        { NEXT, HEAD("200 OK") "Content-Length: 99999999999\r\n\r\n{", -E2BIG },
        { NEXT, HEAD("200 OK") "Content-Length: 40\r\n\r\n{\"finished\"", -EHOSTUNREACH },
        { NEXT, HEAD("200 OK") "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"a", -EHOSTUNREACH },
        { NEXT, "HTTP/1.1 200 O", -EHOSTUNREACH },
        { NEXT, "", -EHOSTUNREACH },
        { NEXT, "SSH-2.0-OpenSSH_9.2\r\n", -EHOSTUNREACH },
        { DONE, HELD, -EHOSTUNREACH },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        const char *const answers[] = { cases[i].answer, NULL };
        struct agent agent;
        int r;

        edl_agent_begin(&agent, answers);
        if (cases[i].result == -EHOSTUNREACH || cases[i].result == -EAGAIN)
            edl_client_set_patience(agent.client, 0);
        r = make(agent.client, cases[i].call);
        if (r != cases[i].result || edl_last_error(agent.client)[0] == '\0')
            fail_msg("case %zu, %s: %d, %s", i, cases[i].answer, r, edl_last_error(agent.client));
        edl_agent_end(&agent);
    }
}

/* ---- restarts ---- */

TEST(test_it_is_waited_for)
{
    static const char *const answers[] = { "",
                                           REFUSES("503 Service Unavailable", "not reached"),
                                           REFUSES("507 Insufficient Storage", "the disk is full"),
                                           REFUSES("429 Too Many Requests", "wait"),
                                           HEAD("200 OK") "Content-Length: 9\r\n\r\n{\"stop",
                                           SAYS("{\"stopping\":true}"),
                                           "",
                                           SAYS("{\"wait\":true}"),
                                           NULL };
    struct edl_task *task = NULL;
    struct agent agent;

    edl_agent_begin(&agent, answers);
    edl_client_set_patience(agent.client, EDL_FOREVER);
    assert_int_equal(edl_checkpoint_done(agent.client), 1);
    assert_int_equal(agent.asked->n, 6);
    for (unsigned i = 1; i < agent.asked->n; i++) /* the same call each time */
        assert_string_equal(agent.asked->text[i], agent.asked->text[0]);
    assert_int_equal(edl_task_next(agent.client, 0, &task), -ETIMEDOUT);
    edl_agent_end(&agent);
}

TEST(test_nobody_there)
{
    struct edl_client *client;
    struct edl_hosts *hosts = NULL;

    assert_int_equal(edl_client_new("/nonexistent/socket", &client), 0);
    edl_client_set_patience(client, 100 * USEC_PER_MSEC);
    assert_int_equal(edl_hosts_of(client, "trainer", &hosts), -EHOSTUNREACH);
    assert_non_null(strstr(edl_last_error(client), "/nonexistent/socket"));
    assert_int_equal(edl_progress(client, "{}"), -EHOSTUNREACH);
    (void)edl_client_free(client);
}

static volatile sig_atomic_t stop;

TEST(test_stop)
{
    static const char *const answers[] = { SAYS(TASK("5")), SAYS("{}"), NULL };
    struct edl_task *task = NULL, *none = NULL;
    struct agent agent;

    stop = 0;
    edl_agent_begin(&agent, answers);
    edl_client_set_patience(agent.client, EDL_FOREVER);
    edl_client_set_stop(agent.client, &stop);
    assert_int_equal(edl_task_next(agent.client, EDL_FOREVER, &task), EDL_NEXT_TASK);
    /* short waits, in which it is looked at */
    assert_string_equal(agent.asked->text[0],
                        "POST /jobs/self/tasks/lease {\"known\":[],\"wait\":2}");
    stop = 1;
    assert_int_equal(edl_task_next(agent.client, EDL_FOREVER, &none), -EINTR);
    assert_int_equal(edl_task_return(agent.client, task, "stopped"), 0);
    /* nobody is there any more: tried once */
    assert_int_equal(edl_task_done(agent.client, task), -EINTR);
    assert_null(none);
    edl_agent_end(&agent);
}

static const struct agent *held;

/* Not before it was asked: whoever is stopped earlier does not ask. */
static void on_alarm(int signal_number)
{
    (void)signal_number;
    stop = edl_agent_asked(held) > 0;
}

/* The agent holds the call, as it does while its scheduler is away. */
TEST(test_a_stop_ends_a_call_that_is_held)
{
    static const char *const answers[] = { HELD, NULL };
    const struct itimerval often = { .it_interval = { .tv_usec = 100000 },
                                     .it_value = { .tv_usec = 100000 } };
    const struct itimerval never = { .it_interval = { 0 } };
    struct edl_task *none = NULL;
    struct agent agent;

    stop = 0;
    edl_agent_begin(&agent, answers);
    held = &agent;
    edl_client_set_patience(agent.client, EDL_FOREVER);
    edl_client_set_stop(agent.client, &stop);
    assert_true(signal(SIGALRM, on_alarm) != SIG_ERR);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    assert_int_equal(edl_task_next(agent.client, EDL_FOREVER, &none), -EINTR);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_true(signal(SIGALRM, SIG_DFL) != SIG_ERR);
    edl_agent_end(&agent);
}

TEST(test_large_body)
{
    static const char *const answers[] = { UNREAD, SAYS("{\"tasks\":20000}"), NULL };
    static struct edl_piece pieces[20000];
    static const struct edl_chunk chunk = { .path = "/data/with/a/long/name/of/its/own",
                                            .n_records = 8 };
    struct agent agent;

    for (size_t i = 0; i < ELEMENTS(pieces); i++)
        pieces[i] = (struct edl_piece){ .chunks = &chunk, .n_chunks = 1 };
    edl_agent_begin(&agent, answers);
    /* refused unread, which is heard all the same */
    assert_int_equal(edl_dataset_put(agent.client, "abc", pieces, ELEMENTS(pieces)), -E2BIG);
    assert_says(&agent, "too large");
    assert_int_equal(edl_dataset_put(agent.client, "abc", pieces, ELEMENTS(pieces)), 0);
    assert_int_equal(edl_dataset_put(agent.client, "\xff", pieces, 1), -EINVAL);
    edl_agent_end(&agent);
}
