/* SPDX-License-Identifier: Apache-2.0 */
/* test_distill.c - a student whose teachers answer, hang, die, rave or have another model */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "libedl/distill_source.h"
#include "libedl/edl/edl.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/edl_agent.h"
#include "tests/unit/fake_teacher.h"
#include "tests/unit/test.h"

#define BATCHES 25 /* of an epoch: 24 of 8 samples, one of 2, in 49 tasks */
#define TASKS 49
#define ENOUGH_US (120 * USEC_PER_SEC)

/* ---- a student ---- */

struct student {
    struct edl_distill *distill;
    char teachers[256], said[4096];
    uint64_t fed, got;
};

static void hear_it(void *userdata, const char *line)
{
    struct student *student = userdata;
    size_t n = strlen(student->said);

    (void)snprintf(student->said + n, sizeof student->said - n, "%s\n", line);
}

static bool has_said(const struct student *student, const char *part)
{
    return strstr(student->said, part) != NULL;
}

static int student_open(struct student *student, struct edl_client *client, const char *teachers)
{
    static const char *const ins[] = { "x", "label" }, *const predicts[] = { "p" };
    const struct edl_distill_options options = { .teachers = teachers,
                                                 .service = teachers != NULL ? NULL : "digits",
                                                 .ins = ins,
                                                 .n_ins = 2,
                                                 .predicts = predicts,
                                                 .n_predicts = 1,
                                                 .teacher_batch = 4,
                                                 .say = hear_it,
                                                 .userdata = student };

    return edl_distill_open(client, &options, &student->distill);
}

/* student_begin - with n teachers that run */
static void student_begin(struct student *student, const struct fake_teacher *teachers, size_t n)
{
    size_t at = 0;

    *student = (struct student){ 0 };
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(student->teachers + at, sizeof student->teachers - at,
                               "%s127.0.0.1:%u", i > 0 ? "," : "", teachers[i].port);
    assert_int_equal(student_open(student, NULL, student->teachers), 0);
}

static void feed_one(struct student *student)
{
    uint64_t n = student->fed % BATCHES < BATCHES - 1 ? 8 : 2;
    float x[8];
    int32_t label[16] = { 0 };
    const struct edl_tensor fields[] = {
        { .name = "x", .n_dimensions = 1, .dimensions = { n }, .values = x },
        { .type = EDL_INT32, .n_dimensions = 2, .dimensions = { n, 2 }, .values = label }
    };

    for (uint64_t i = 0; i < n; i++) {
        x[i] = (float)(student->fed % BATCHES * 8 + i);
        label[2 * i] = (int32_t)student->fed;
    }
    assert_int_equal(edl_distill_feed(student->distill, fields), 0);
    student->fed++;
}

static void check_one(struct student *student, struct edl_distill_batch *batch)
{
    uint64_t n = student->got % BATCHES < BATCHES - 1 ? 8 : 2;
    const float *x = batch->fields[0].values, *p = batch->predictions[0].values;
    const int32_t *label = batch->fields[1].values;

    assert_int_equal(batch->number, student->got);
    assert_int_equal(batch->n_samples, n);
    assert_string_equal(batch->fields[1].name, "label");
    assert_string_equal(batch->predictions[0].name, "p");
    assert_int_equal(batch->predictions[0].dimensions[0], n);
    for (uint64_t i = 0; i < n; i++) {
        assert_true(x[i] == (float)(student->got % BATCHES * 8 + i));
        assert_true(p[i] == 2 * x[i] + 1);
        assert_int_equal(label[2 * i], student->got);
    }
    student->got++;
    assert_null(edl_distill_batch_free(batch));
}

/* learn - 0, or how it ended before so many batches */
static int learn(struct student *student, uint64_t n_batches)
{
    uint64_t last = student->got + n_batches;

    while (student->got < last) {
        struct edl_distill_batch *batch = NULL;
        int r;

        while (student->fed < last && edl_distill_has_room(student->distill))
            feed_one(student);
        r = edl_distill_next(student->distill, ENOUGH_US, &batch);
        if (r != 1)
            return r;
        check_one(student, batch);
    }
    return 0;
}

static void assert_learns(struct student *student, uint64_t n_batches)
{
    if (learn(student, n_batches) < 0)
        fail_msg("%s", edl_distill_error(student->distill));
}

static struct edl_distill_counts counts_of(const struct student *student)
{
    struct edl_distill_counts counts;

    edl_distill_count(student->distill, &counts);
    return counts;
}

static void student_end(struct student *student)
{
    student->distill = edl_distill_close(student->distill);
    assert_null(student->distill);
}

static void assert_error(const struct student *student, const char *part)
{
    if (strstr(edl_distill_error(student->distill), part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, edl_distill_error(student->distill));
}

/* ---- teachers that answer, and others beside them ---- */

#define MORE 3

static void begin_all(struct fake_teacher *teachers, const struct fake_options *options, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fake_teacher_begin(&teachers[i], &options[i]);
}

static void end_all(struct fake_teacher *teachers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fake_teacher_end(&teachers[i]);
}

TEST(test_batches_come_in_order)
{
    const struct fake_options options[2] = { { 0 } };
    struct fake_teacher teachers[2];
    struct student student;
    struct edl_distill_batch *batch;

    begin_all(teachers, options, 2);
    student_begin(&student, teachers, 2);
    assert_int_equal(edl_distill_next(student.distill, 0, &batch), 0);
    for (int epoch = 0; epoch < 20; epoch++) {
        assert_learns(&student, BATCHES);
        assert_int_equal(edl_distill_next(student.distill, 0, &batch), 0);
    }
    assert_int_equal(counts_of(&student).answers, 20 * TASKS);
    assert_int_equal(counts_of(&student).tasks, 20 * TASKS);
    student_end(&student);
    end_all(teachers, 2);
}

TEST(test_a_poll_loop_waits_for_one_descriptor)
{
    const struct fake_options options = { .way = FAKE_HANGS_UP, .after = 7 };
    struct fake_teacher teacher;
    struct student student;

    fake_teacher_begin(&teacher, &options);
    student_begin(&student, &teacher, 1);
    while (student.got < 2 * BATCHES) {
        struct pollfd p = { .fd = edl_distill_fd(student.distill), .events = POLLIN };
        struct edl_distill_batch *batch;
        int r;

        while (student.fed < 2 * BATCHES && edl_distill_has_room(student.distill))
            feed_one(&student);
        assert_int_equal(poll(&p, 1, (int)(ENOUGH_US / USEC_PER_MSEC)), 1);
        while ((r = edl_distill_next(student.distill, 0, &batch)) == 1)
            check_one(&student, batch);
        if (r < 0 && r != -ETIMEDOUT)
            fail_msg("%s", edl_distill_error(student.distill));
    }
    assert_true(atomic_load(&teacher.n_connections) > 10);
    student_end(&student);
    fake_teacher_end(&teacher);
}

TEST(test_batches_outlive_their_student)
{
    const struct fake_options options = { 0 };
    struct fake_teacher teacher;
    struct edl_distill_batch *batch;
    struct student student;

    fake_teacher_begin(&teacher, &options);
    student_begin(&student, &teacher, 1);
    for (int i = 0; i < 2; i++)
        feed_one(&student);
    assert_int_equal(edl_distill_next(student.distill, ENOUGH_US, &batch), 1);
    student_end(&student); /* with tasks out */
    check_one(&student, batch);
    fake_teacher_end(&teacher);
}

/* each way beside two teachers that answer: all is right */
TEST(test_one_bad_teacher_of_three_harms_nothing)
{
    static const struct fake_options ways[] = { { .way = FAKE_IS_FROZEN, .after = 12 },
                                                { .way = FAKE_HANGS_UP, .after = 3 },
                                                { .way = FAKE_GREETS_NOT, .seed = 3 },
                                                { .way = FAKE_RAVES, .after = 2, .seed = 4 },
                                                { .way = FAKE_RAVES, .seed = 5 },
                                                { .way = FAKE_SAYS_NAN, .after = 5 },
                                                { .way = FAKE_SAYS_FEWER },
                                                { .way = FAKE_SAYS_OTHER },
                                                { .way = FAKE_FAILS, .after = 1 },
                                                { .secret = 7 } };

    for (size_t i = 0; i < ELEMENTS(ways); i++) {
        const struct fake_options options[] = { ways[i], { 0 }, { 0 } };
        struct fake_teacher teachers[3];
        struct student student;

        begin_all(teachers, options, 3);
        student_begin(&student, teachers, 3);
        for (int epoch = 0; epoch < MORE; epoch++)
            if (learn(&student, BATCHES) < 0)
                fail_msg("way %d: %s", ways[i].way, edl_distill_error(student.distill));
        assert_int_equal(counts_of(&student).answers, MORE * TASKS);
        if (ways[i].way == FAKE_IS_FROZEN && atomic_load(&teachers[0].n_tasks) > 12)
            assert_true(counts_of(&student).repeats > 0);
        student_end(&student);
        end_all(teachers, 3);
    }
}

TEST(test_no_rubbish_harms_a_student)
{
    for (uint64_t seed = 1; seed <= 24; seed++) {
        const struct fake_options options[] = { { .way =
                                                      seed % 4 == 0 ? FAKE_GREETS_NOT : FAKE_RAVES,
                                                  .after = seed % 3,
                                                  .seed = seed },
                                                { 0 } };
        struct fake_teacher teachers[2];
        struct student student;

        begin_all(teachers, options, 2);
        student_begin(&student, teachers, 2);
        if (learn(&student, 2 * BATCHES) < 0)
            fail_msg("seed %d: %s", (int)seed, edl_distill_error(student.distill));
        student_end(&student);
        end_all(teachers, 2);
    }
}

/* ---- what is wrong is named ---- */

TEST(test_three_that_cannot_answer_end_the_student)
{
    static const struct {
        enum fake_way way;
        const char *says;
    } ways[] = { { FAKE_SAYS_NAN, ": p has a value that is no number" },
                 { FAKE_SAYS_FEWER, ": p has the shape (3), and its task has other samples: 4" },
                 { FAKE_SAYS_OTHER, ": the answer has no p; it has q" },
                 { FAKE_FAILS, ": no?memory" } };

    for (size_t i = 0; i < ELEMENTS(ways); i++) {
        const struct fake_options options = { .way = ways[i].way, .after = 2 };
        struct fake_teacher teacher;
        struct edl_distill_batch *batch;
        struct student student;

        fake_teacher_begin(&teacher, &options);
        student_begin(&student, &teacher, 1);
        assert_int_equal(learn(&student, BATCHES), -EREMOTEIO);
        assert_error(&student, "teacher 127.0.0.1:");
        assert_error(&student, ways[i].says);
        assert_int_equal(edl_distill_next(student.distill, 0, &batch), -EREMOTEIO); /* it is over */
        student_end(&student);
        fake_teacher_end(&teacher);
    }
}

TEST(test_teachers_of_two_models_are_named)
{
    const struct fake_options options = { .way = FAKE_SAYS_WIDER, .after = 3 };
    struct fake_teacher teacher;
    struct student student;

    fake_teacher_begin(&teacher, &options);
    student_begin(&student, &teacher, 1);
    assert_int_equal(learn(&student, BATCHES), -EINVAL);
    assert_error(&student, "gives p of the shape () and type float32 for each sample, and teacher "
                           "127.0.0.1:");
    assert_error(&student, "of the shape (3) and type float32: let all teachers");
    student_end(&student);
    fake_teacher_end(&teacher);
}

TEST(test_teachers_that_do_not_fit_are_named)
{
    static const struct {
        const char *welcome, *says;
    } cases[] = {
        { "{\"model\": \"m\", \"feeds\": [{\"name\": \"image\"}], \"fetches\": []}",
          "(m) wants image, and ins of this student are x, label" },
        { "{\"model\": \"m\", \"feeds\": [], \"fetches\": [\"q\", \"r\"]}",
          "(m) has no p; it predicts q and others" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        const struct fake_options options = { .welcome = cases[i].welcome };
        struct fake_teacher teacher;
        struct student student;

        fake_teacher_begin(&teacher, &options);
        student_begin(&student, &teacher, 1);
        assert_int_equal(learn(&student, BATCHES), -EINVAL);
        assert_error(&student, cases[i].says);
        student_end(&student);
        fake_teacher_end(&teacher);
    }
}

TEST(test_a_teacher_gets_the_fields_that_it_wants)
{
    const struct fake_options options = {
        .welcome = "{\"model\": \"m\", \"feeds\": [{\"name\": \"x\"}], \"fetches\": [\"q\", \"p\"]}"
    };
    struct fake_teacher teacher;
    struct student student;

    fake_teacher_begin(&teacher, &options);
    student_begin(&student, &teacher, 1);
    assert_learns(&student, BATCHES);
    student_end(&student);
    fake_teacher_end(&teacher);
}

/* ---- waiting ---- */

/* hold_port - nobody else gets it, and a teacher may come and go at it; its socket */
static int hold_port(uint16_t *ret_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)), 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

TEST(test_no_teacher_is_waited_for)
{
    struct fake_options options = { 0 };
    struct fake_teacher teacher;
    struct edl_distill_batch *batch;
    struct student student;
    int port_fd = hold_port(&options.port);

    fake_teacher_begin(&teacher, &options);
    student_begin(&student, &teacher, 1);
    fake_teacher_end(&teacher);
    feed_one(&student);
    while (!has_said(&student, "is there: waiting for one"))
        assert_int_equal(edl_distill_next(student.distill, USEC_PER_SEC, &batch), -ETIMEDOUT);
    assert_true(has_said(&student, ": Connection refused; trying again"));
    assert_error(&student, "no batch is whole yet");
    fake_teacher_begin(&teacher, &options);
    assert_learns(&student, BATCHES);
    assert_true(has_said(&student, "is there again"));
    assert_null(strstr(strstr(student.said, "waiting") + 1, "waiting")); /* once */
    student_end(&student);
    fake_teacher_end(&teacher);
    (void)safe_close(port_fd);
}

TEST(test_a_wrong_secret_is_told)
{
    const struct fake_options options = { .secret = 1 };
    struct fake_teacher teacher;
    struct edl_distill_batch *batch;
    struct student student;

    fake_teacher_begin(&teacher, &options);
    student_begin(&student, &teacher, 1);
    feed_one(&student);
    while (!has_said(&student, "the teacher does not know the secret; trying again"))
        assert_int_equal(edl_distill_next(student.distill, 10000, &batch), -ETIMEDOUT);
    assert_int_equal(atomic_load(&teacher.n_tasks), 0);
    student_end(&student);
    fake_teacher_end(&teacher);
}

/* a late task that only its own teacher could take makes no talk between the two */
TEST(test_a_late_task_of_the_only_teacher_makes_no_noise)
{
    const struct fake_options options = { .way = FAKE_IS_FROZEN, .after = 30 };
    struct fake_teacher teacher;
    struct edl_distill_batch *batch;
    struct student student;
    unsigned before;

    fake_teacher_begin(&teacher, &options);
    student_begin(&student, &teacher, 1);
    assert_learns(&student, 15); /* 30 tasks */
    feed_one(&student);
    assert_int_equal(edl_distill_next(student.distill, USEC_PER_SEC / 10, &batch), -ETIMEDOUT);
    before = atomic_load(&teacher.n_offers);
    assert_int_equal(edl_distill_next(student.distill, USEC_PER_SEC, &batch), -ETIMEDOUT);
    assert_in_range(atomic_load(&teacher.n_offers) - before, 0, 3);
    student_end(&student);
    fake_teacher_end(&teacher);
}

/* ---- arguments ---- */

TEST(test_options_that_cannot_be)
{
    static const char *const x[] = { "x" }, *const twice[] = { "x", "x" };
    static const struct {
        struct edl_distill_options options;
        const char *says;
    } cases[] = {
        { { .n_ins = 0 }, "ins has 0 names: give 1 to 256" },
        { { .ins = x, .n_ins = 1 }, "predicts has 0 names" },
        { { .ins = twice, .n_ins = 2 }, "ins has x twice" },
        { { .ins = x, .n_ins = 1, .predicts = x, .n_predicts = 1 },
          "no teacher is named: set teachers to HOST:PORT" },
        { { .ins = x, .n_ins = 1, .predicts = x, .n_predicts = 1, .service = "digits" },
          "the service digits is known in a cluster only: submit the program" },
        { { .ins = x, .n_ins = 1, .predicts = x, .n_predicts = 1, .teachers = "10.0.0.1" },
          "\"10.0.0.1\" is no teacher: write HOST:PORT, as 10.0.0.1:9292" },
        { { .ins = x, .n_ins = 1, .predicts = x, .n_predicts = 1, .teachers = "a:70000" },
          "\"a:70000\" is no teacher" },
        { { .ins = x, .n_ins = 1, .predicts = x, .n_predicts = 1, .teachers = "" },
          "\"\" is no teacher" },
        { { .ins = x, .n_ins = 1, .predicts = x, .n_predicts = 1, .teachers = "no.invalid:1" },
          "teacher no.invalid:1: " },
        { { .ins = x, .n_ins = 1, .predicts = x, .n_predicts = 1, .teacher_batch = UINT64_MAX },
          "teacher_batch is 18446744073709551615: give" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct student student = { 0 };

        assert_int_equal(edl_distill_open(NULL, &cases[i].options, &student.distill), -EINVAL);
        assert_error(&student, cases[i].says);
        student_end(&student);
    }
}

TEST(test_fields_that_cannot_be)
{
    static const float values[8];
    static const struct {
        struct edl_tensor x, label;
        const char *says;
    } cases[] = {
        { { .n_dimensions = 1, .values = values }, { 0 }, "a batch without samples" },
        { { .n_dimensions = 1, .dimensions = { 4 }, .values = values },
          { .n_dimensions = 1, .dimensions = { 3 }, .values = values },
          "label has the samples of another batch: 3, and the first field 4" },
        { { .n_dimensions = 1, .dimensions = { 4 }, .values = values },
          { .n_dimensions = 0 },
          "label has a type that is none, no dimension" },
        { { .n_dimensions = 2, .dimensions = { 4, UINT64_C(1) << 40 }, .values = values },
          { .n_dimensions = 1, .dimensions = { 4 }, .values = values },
          "x has a type that is none, no dimension, more than 8 or too many values" },
        { { .n_dimensions = 2, .dimensions = { 4, 1 << 27 }, .values = values },
          { .n_dimensions = 1, .dimensions = { 4 }, .values = values },
          "a task is too large for one message (samples: 4)" },
        { { .name = "y", .n_dimensions = 1, .dimensions = { 4 }, .values = values },
          { .n_dimensions = 1, .dimensions = { 4 }, .values = values },
          "the field y stands where ins have x" },
        { { .n_dimensions = 1, .dimensions = { 4 } },
          { .n_dimensions = 1, .dimensions = { 4 }, .values = values },
          "x has no values" },
    };
    const struct fake_teacher nobody = { .port = 1 };
    struct student student;

    student_begin(&student, &nobody, 1);
    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        const struct edl_tensor fields[] = { cases[i].x, cases[i].label };

        assert_int_equal(edl_distill_feed(student.distill, fields), -EINVAL);
        assert_error(&student, cases[i].says);
    }
    while (edl_distill_has_room(student.distill)) /* and not without end */
        feed_one(&student);
    assert_int_equal(student.fed, 2);
    student_end(&student);
}

/* ---- a service ---- */

#define SERVICE(version, processes)                                                                \
    "{\"service\":\"digits\",\"job_id\":1,\"version\":" version ",\"processes\":[" processes "]}"

TEST(test_teachers_of_a_service_come_and_go)
{
    const struct fake_options options = { .secret = 0xab };
    struct fake_teacher teacher;
    struct agent agent;
    struct student student = { 0 };
    char named[512];
    const char *const answers[] = {
        SAYS(SERVICE("3", "")),
        SAYS("{\"secret\":\"abababababababababababababababababababababababababababababababab\"}"),
        SAYS("{\"want\":1,\"hosts\":[]}"),
        named,
        SAYS("{\"want\":1,\"hosts\":[]}"),
        HELD,
        NULL
    };

    fake_teacher_begin(&teacher, &options);
    (void)snprintf(named, sizeof named,
                   SAYS(SERVICE("4", "{\"index\":0,\"incarnation\":1,\"address\":\"127.0.0.1\","
                                     "\"ports\":[%u]}")),
                   teacher.port);
    assert_int_equal(setenv("EDL_JOB", "student", 1), 0);
    assert_int_equal(setenv("EDL_ROLE", "trainer", 1), 0);
    assert_int_equal(setenv("EDL_INDEX", "0", 1), 0);
    edl_agent_begin(&agent, answers);
    assert_int_equal(student_open(&student, agent.client, NULL), 0);
    assert_learns(&student, BATCHES);
    while (edl_agent_asked(&agent) < 6) /* it waits for more news */
        assert_learns(&student, 1);
    student_end(&student);
    assert_string_equal(agent.asked->text[0], "GET /services/digits ");
    assert_string_equal(agent.asked->text[1], "GET /services/digits/secret ");
    assert_string_equal(agent.asked->text[2], "GET /jobs/self/hosts?role=trainer ");
    assert_string_equal(agent.asked->text[3], "GET /services/digits?after=3&wait=20 ");
    assert_int_equal(unsetenv("EDL_JOB"), 0);
    edl_agent_end(&agent);
    fake_teacher_end(&teacher);
}

TEST(test_a_service_that_is_refused_ends_the_student)
{
    static const char *const answers[] = { REFUSES("403 Forbidden", "not yours"), NULL };
    struct edl_distill_batch *batch;
    struct student student = { 0 };
    struct agent agent;

    edl_agent_begin(&agent, answers);
    assert_int_equal(student_open(&student, agent.client, NULL), 0);
    feed_one(&student);
    assert_int_equal(edl_distill_next(student.distill, ENOUGH_US, &batch), -EACCES);
    assert_error(&student, "not yours: do this");
    student_end(&student);
    edl_agent_end(&agent);
}

/* The rows of C6, and more students than teachers: each teacher has a student, no student holds
 * more than ceil(T / C) + 1, and all work out one table whatever the order of what they were told.
 */
TEST(test_each_teacher_has_a_student)
{
    static const struct {
        unsigned students, teachers, require;
    } rows[] = { { 3, 97, 1 },  { 2, 3, 1 },    { 5, 3, 1 }, { 1, 40, 8 },
                 { 50, 97, 1 }, { 3, 97, 100 }, { 50, 3, 1 } };

    for (size_t row = 0; row < ELEMENTS(rows); row++) {
        unsigned n = rows[row].teachers, c = rows[row].students, each = (n + c - 1) / c + 1;
        struct distill_place places[97];
        unsigned students_of[97] = { 0 }, first_of[97] = { 0 };
        uint64_t students[50];

        for (unsigned i = 0; i < n; i++)
            assert_true(asprintf(&places[i].name, "10.0.0.%u:9292", i) > 0);
        for (unsigned me = 0; me < c; me++) {
            struct distill_place mine[97];
            size_t held;

            for (unsigned i = 0; i < n; i++)
                mine[i] = places[(i + me) % n];
            for (unsigned i = 0; i < c; i++)
                students[i] = (i + 7 * me) % c;
            held = distill_share(mine, n, me, students, c - (me == 0 && c == 1), rows[row].require);
            assert_int_equal(held, MIN_OF(n, MAX_OF(each, rows[row].require)));
            for (unsigned k = 0; k < n; k++) {
                first_of[k] += mine[0].name == places[k].name;
                for (size_t i = 0; i < held; i++)
                    students_of[k] += mine[i].name == places[k].name;
            }
        }
        for (unsigned i = 0; i < n; i++) {
            if (students_of[i] == 0)
                fail_msg("row %zu: nobody talks to teacher %u", row, i);
            if (c > 10 * n) /* and many students are dealt evenly */
                assert_in_range(first_of[i], c / n, c / n + 1);
            free(places[i].name);
        }
    }
}
