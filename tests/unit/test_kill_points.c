/* SPDX-License-Identifier: Apache-2.0 */
/* test_kill_points.c - edl-scheduler is killed at every write, sync, truncation and removal of its
 * database; each change that it had answered with success is there afterwards
 *
 * The real program, with kill_at.so in it, and this process as its client and as the agent of a
 * node that runs nothing. After each kill: every acknowledged job, the same answer to its
 * Idempotency-Key, every acknowledged task result and generation. The file is whole. The loaded
 * state holds the core's invariants and is the same when loaded again. The events of each job and
 * of each process, replayed, lead to the states of their rows.
 *
 * EDL_POINT_STRIDE: of these points every so-many-th, from one on that EDL_SEED chooses. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sqlite3.h>

#include "scheduler/core/check/check.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_config.h"
#include "scheduler/core/record/compare.h"
#include "scheduler/core/record/records.h"
#include "scheduler/core/record/restore.h"
#include "scheduler/store/store.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_client.h"
#include "shared/macro.h"
#include "tests/unit/seeds.h"
#include "tests/unit/stored_rows.h"
#include "tests/unit/test.h"

#define READY_MS 120000
#define POINTS_MAX 2000 /* a bound that only an endless run reaches */
#define STRIDE "EDL_POINT_STRIDE"
#define JOBS_CHECKED 4 /* of the newest; the file's own checks are of all */
#define OFFER                                                                                      \
    "\"address\":\"10.0.0.7\",\"cpu_millicores\":640000,\"memory_bytes\":68719476736,\"gpus\":0,"  \
    "\"port_first\":20000,\"port_last\":29999"

struct done {
    json_int_t id;
    char *answer; /* owned: to the submission */
    json_int_t tasks_finished;
    json_int_t generation; /* the newest that its process was given */
};

struct site {
    char folder[64];
    pid_t pid;
    int notify_fd;
    struct http_client *client;
    char token[80];
    bool dead;         /* no answer came: it was killed */
    bool joined;       /* the node: a scheduler that starts keeps people waiting for its report */
    struct done *done; /* owned; what was acknowledged, by the number of the job */
    size_t n_done;
    uint64_t calls; /* made with success */
};

/* --- the program --- */

static int notify_socket(const struct site *site)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s/notify", site->folder);
    (void)unlink(at.sun_path);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

/* restore: a backup, to put in place instead of running */
static void become_scheduler(const struct site *site, uint64_t kill_at, const char *restore)
{
    char program[4096], library[4096], state[96], notify[96], n[24];
    const char *build = getenv("EDL_BUILD_DIR");
    int log_fd;

    (void)snprintf(program, sizeof program, "%s/edl-scheduler", build);
    (void)snprintf(library, sizeof library, "%s/tests/lib/kill_at.so", build);
    (void)snprintf(state, sizeof state, "%s/state", site->folder);
    (void)snprintf(notify, sizeof notify, "%s/notify", site->folder);
    (void)snprintf(n, sizeof n, "%" PRIu64, kill_at);
    (void)setenv("NOTIFY_SOCKET", notify, 1);
    if (kill_at > 0) {
        (void)setenv("LD_PRELOAD", library, 1);
        (void)setenv("EDL_TEST_KILL_AT", n, 1);
        (void)setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
    }
    (void)snprintf(state + strlen(state), 8, ".log");
    log_fd = open(state, O_WRONLY | O_CREAT | O_APPEND, 0600);
    state[strlen(state) - 4] = '\0';
    (void)dup2(log_fd, STDERR_FILENO);
    /* its node asks for no orders, and one that only checks need not wait for it at each stop */
    (void)execl(program, program, "--state-dir", state, "--listen", "127.0.0.1:0", "--lease", "10m",
                "--away", kill_at > 0 ? "60s,5m" : "0", restore != NULL ? "--restore" : NULL,
                restore, (char *)NULL);
    _exit(127);
}

/* false: it was killed before it was ready */
static bool await_ready(const struct site *site, int pid_fd)
{
    struct pollfd fds[] = { { .fd = site->notify_fd, .events = POLLIN },
                            { .fd = pid_fd, .events = POLLIN } };
    char text[256];

    for (;;) {
        ssize_t n;

        if (poll(fds, ELEMENTS(fds), READY_MS) <= 0)
            fail_msg("the scheduler is not ready within %d ms", READY_MS);
        if ((fds[0].revents & POLLIN) == 0)
            return false;
        n = recv(site->notify_fd, text, sizeof text - 1, 0);
        text[MAX_OF(n, (ssize_t)0)] = '\0';
        if (strstr(text, "READY=1") != NULL)
            return true;
    }
}

static void read_line(const struct site *site, const char *name, char *ret, size_t size)
{
    _cleanup_fclose_ FILE *file = NULL;
    char path[128];

    (void)snprintf(path, sizeof path, "%s/state/%s", site->folder, name);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(ret, (int)size, file));
    ret[strcspn(ret, "\n")] = '\0';
}

/* true: it had been told to stop, and did; false: it was killed. */
static bool bury(struct site *site)
{
    int status;

    assert_int_equal(waitpid(site->pid, &status, 0), site->pid);
    if (WIFSIGNALED(status) ? WTERMSIG(status) != SIGKILL : WEXITSTATUS(status) != 0)
        fail_msg("it ended otherwise: %x", (unsigned)status);
    site->client = http_client_free(site->client);
    site->pid = 0;
    site->dead = true;
    return WIFEXITED(status);
}

/* kill_at 0: it lives */
static bool start(struct site *site, uint64_t kill_at)
{
    _cleanup_close_ int pid_fd = -1;
    struct edl_error error = { 0 };
    char address[64], base[80];

    site->dead = false;
    site->pid = fork();
    if (site->pid == 0)
        become_scheduler(site, kill_at, NULL);
    pid_fd = pidfd_open(site->pid, 0);
    assert_true(pid_fd >= 0);
    if (!await_ready(site, pid_fd)) {
        assert_false(bury(site));
        return false;
    }
    read_line(site, "address", address, sizeof address);
    read_line(site, "admin-token", site->token, sizeof site->token);
    (void)snprintf(base, sizeof base, "http://%s", address);
    if (http_client_new(base, &site->client, &error) < 0)
        fail_msg("%s", error.text);
    return true;
}

static void stop(struct site *site)
{
    (void)kill(site->pid, SIGTERM);
    assert_true(bury(site));
}

/* --- calls --- */

/* The answer's JSON; NULL: it was killed. Fails the test for any other answer. */
static json_t *call(struct site *site, const char *method, const char *path, const char *header,
                    const char *body)
{
    struct http_call request = { .method = method,
                                 .path = path,
                                 .bearer_token = site->token,
                                 .headers = { header },
                                 .body = body,
                                 .body_size = body != NULL ? strlen(body) : 0,
                                 .timeout_us = READY_MS * USEC_PER_MSEC };
    struct http_answer answer = { 0 };
    json_t *json = NULL;

    if (site->dead)
        return NULL;
    if (http_client_call(site->client, &request, &answer) < 0)
        site->dead = true;
    else if (answer.status >= 300 && answer.status != 409)
        fail_msg("%s %s: %u %s", method, path, answer.status, answer.body);
    else
        json = answer.json != NULL ? json_incref(answer.json) : json_object();
    site->calls += json != NULL;
    http_answer_clear(&answer);
    return json;
}

static json_int_t number(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* What the agent says: the process is in that state, or ended when NULL. Once more with the session
 * that a scheduler that was started again asks for. */
static bool report(struct site *site, json_int_t job, const char *state)
{
    static uint64_t sent_us = 1;
    char process[200] = "", body[700];
    json_int_t session = 0;

    if (state != NULL)
        (void)snprintf(process, sizeof process,
                       "{\"job_id\":%lld,\"role\":\"trainer\",\"index\":0,\"incarnation\":1,"
                       "\"state\":\"%s\",\"exit_code\":0}",
                       (long long)job, state);
    for (int i = 0; i < 2; i++) {
        json_auto_t *answer = NULL;

        (void)snprintf(body, sizeof body,
                       "{\"boot_id\":\"b\",\"sent_us\":%" PRIu64 ",\"session\":%lld," OFFER
                       ",\"processes\":[%s]}",
                       sent_us++, (long long)session, process);
        answer = call(site, "POST", "/nodes/n1/report", NULL, body);
        session = number(answer, "session");
        if (answer == NULL || session == 0)
            return answer != NULL;
    }
    return true;
}

static bool has_order(const json_t *orders, json_int_t job)
{
    const json_t *process;
    size_t i;

    json_array_foreach(json_object_get(orders, "processes"), i,
                       process) if (number(process, "job_id") == job) return true;
    return false;
}

/* An agent prepares what it was told to: the plan that assigns it may come after the answer to the
 * submission. */
static bool await_order(struct site *site, json_int_t job)
{
    char path[80] = "/nodes/n1/orders";

    for (;;) {
        json_auto_t *orders = call(site, "GET", path, NULL, NULL);

        if (orders == NULL || has_order(orders, job))
            return orders != NULL;
        (void)snprintf(path, sizeof path, "/nodes/n1/orders?after=%lld&wait=60",
                       (long long)number(orders, "version"));
    }
}

/* A second passes in each start without it. */
static bool report_first(struct site *site)
{
    return !site->joined || report(site, 0, NULL);
}

static char *key_of(size_t job)
{
    static char header[48];

    (void)snprintf(header, sizeof header, "Idempotency-Key: key-%zu", job);
    return header;
}

static json_t *submit(struct site *site, size_t job)
{
    char body[256];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"name\":\"job-%zu\"},\"spec\":{\"fault_tolerant\":true,"
                   "\"trainer\":{\"entrypoint\":\"true\",\"min-instance\":1,\"max-instance\":1}}}",
                   job);
    return call(site, "POST", "/jobs", key_of(job), body);
}

static bool train_one(struct site *site, struct done *done, const char *header)
{
    char path[64], body[128];
    json_auto_t *leased = NULL;
    const json_t *task;
    json_t *finished;

    (void)snprintf(path, sizeof path, "/jobs/%lld/tasks/lease", (long long)done->id);
    leased = call(site, "POST", path, header, "{\"known\":[0,1,2]}");
    task = json_object_get(leased, "task");
    if (task == NULL)
        return leased != NULL;
    (void)snprintf(path, sizeof path, "/jobs/%lld/tasks/finish", (long long)done->id);
    (void)snprintf(body, sizeof body, "{\"task\":%lld,\"pass\":%lld,\"lease\":%lld}",
                   (long long)number(task, "id"), (long long)number(task, "pass"),
                   (long long)number(task, "lease"));
    finished = call(site, "POST", path, header, body);
    done->tasks_finished += finished != NULL;
    json_decref(finished);
    return finished != NULL;
}

/* Another generation than the one before. */
static bool meet(struct site *site, struct done *done, const char *header)
{
    char path[64], body[64];
    json_t *met;

    (void)snprintf(path, sizeof path, "/jobs/%lld/rendezvous", (long long)done->id);
    (void)snprintf(body, sizeof body, "{\"after\":%lld}", (long long)done->generation);
    met = call(site, "POST", path, header, body);
    if (met != NULL) {
        assert_true(number(met, "generation") > done->generation);
        done->generation = number(met, "generation");
    }
    json_decref(met);
    return met != NULL;
}

static bool drop(json_t *take_answer)
{
    json_decref(take_answer);
    return take_answer != NULL;
}

/* A job from its submission to its end, and a little of everything in between; false: it was killed
 * on the way. */
static bool work(struct site *site)
{
    static const char dataset[] =
        "{\"digest\":\"d\",\"tasks\":[{\"chunks\":[{\"path\":\"a\",\"offset\":0,\"records\":5}]},"
        "{\"chunks\":[{\"path\":\"b\",\"offset\":0,\"records\":5}]},"
        "{\"chunks\":[{\"path\":\"c\",\"offset\":0,\"records\":5}]}]}";
    size_t job = site->n_done;
    struct done *done;
    json_t *answer;
    char header[80], path[64];

    site->done = xreallocarray(site->done, job + 1, sizeof *site->done);
    done = &site->done[job];
    *done = (struct done){ 0 };
    site->n_done++;
    answer = submit(site, job);
    if (answer == NULL)
        return false;
    done->id = number(answer, "id");
    done->answer = json_dumps(answer, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(answer);
    (void)snprintf(header, sizeof header, "X-EDL-Process: %lld.trainer.0.1", (long long)done->id);
    (void)snprintf(path, sizeof path, "/jobs/%lld/dataset", (long long)done->id);
    if (!report(site, 0, NULL) || !await_order(site, done->id) ||
        !report(site, done->id, "preparing") || !report(site, done->id, "running") ||
        !drop(call(site, "PUT", path, header, dataset)) || !meet(site, done, header) ||
        !train_one(site, done, header) || !meet(site, done, header) ||
        !train_one(site, done, header))
        return false;
    (void)snprintf(path, sizeof path, "/jobs/%lld", (long long)done->id);
    return drop(call(site, "DELETE", path, NULL, NULL)) && report(site, done->id, "exited") &&
           report(site, 0, NULL);
}

static bool join(struct site *site)
{
    site->joined = drop(call(site, "POST", "/nodes/join", NULL, "{\"node\":\"n1\"," OFFER "}"));
    return site->joined && report(site, 0, NULL);
}

/* --- what is there afterwards --- */

static void check_generations(const struct site *site, sqlite3 *db)
{
    for (size_t i = 0; i < site->n_done; i++) {
        char sql[120];

        (void)snprintf(sql, sizeof sql,
                       "SELECT ifnull(max(generation), 0) FROM rendezvous WHERE job_id = %lld",
                       (long long)site->done[i].id);
        if (first_number(db, sql) < site->done[i].generation)
            fail_msg("job %lld: generation %lld is not there", (long long)site->done[i].id,
                     (long long)site->done[i].generation);
    }
}

static void check_rows(const struct site *site, const char *path)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    rows_check(db);
    check_generations(site, db);
    (void)sqlite3_close(db);
}

static struct cluster *load(const char *path)
{
    const struct cluster_config config = { .policy = &policy_fulfilment,
                                           .max_load_permille = 1000,
                                           .lease_us = 20 * USEC_PER_SEC };
    struct instant now = { .now_us = 1000 * USEC_PER_SEC, .wall_us = 1700000000 * USEC_PER_SEC };
    struct cluster *cluster = cluster_new(&config);
    struct edl_error error = { 0 };
    struct store *store;

    if (store_open(path, &store, &error) < 0 || store_load(store, cluster, now, &error) < 0)
        fail_msg("%s", error.text);
    cluster_restored(cluster, now);
    if (cluster_check(cluster, &error) < 0)
        fail_msg("%s", error.text);
    (void)store_free(store);
    return cluster;
}

static void check_file(const struct site *site)
{
    struct edl_error error = { 0 };
    struct cluster *first, *again;
    char path[96];

    (void)snprintf(path, sizeof path, "%s/state/edl.db", site->folder);
    first = load(path);
    check_rows(site, path);
    again = load(path);
    if (cluster_compare(first, again, &error) < 0)
        fail_msg("%s", error.text);
    (void)cluster_free(first);
    (void)cluster_free(again);
}

static void check_job(struct site *site, size_t job)
{
    const struct done *done = &site->done[job];
    json_auto_t *again = NULL;
    _cleanup_free_ char *text = NULL;
    char path[64];

    if (done->id == 0) /* not answered: done or not, and then only once */
        return;
    again = submit(site, job);
    text = json_dumps(again, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, done->answer);
    (void)snprintf(path, sizeof path, "/jobs/%lld", (long long)done->id);
    assert_true(drop(call(site, "GET", path, NULL, NULL)));
    if (done->tasks_finished > 0) {
        json_auto_t *tasks = NULL;

        (void)snprintf(path, sizeof path, "/jobs/%lld/tasks", (long long)done->id);
        tasks = call(site, "GET", path, NULL, NULL);
        assert_true(number(tasks, "done") >= done->tasks_finished);
    }
}

static void check(struct site *site)
{
    check_file(site);
    assert_true(start(site, 0) && report_first(site));
    for (size_t job = site->n_done > JOBS_CHECKED ? site->n_done - JOBS_CHECKED : 0;
         job < site->n_done; job++)
        check_job(site, job);
}

/* --- tests --- */

static int set_up(void **state)
{
    struct site *site = xcalloc(1, sizeof *site);

    if (getenv("EDL_BUILD_DIR") == NULL)
        return -1;
    (void)snprintf(site->folder, sizeof site->folder, "/tmp/edl-test-kill-XXXXXX");
    if (mkdtemp(site->folder) == NULL)
        return -1;
    site->notify_fd = notify_socket(site);
    *state = site;
    return 0;
}

static void remove_state(struct site *site)
{
    char path[128];
    glob_t found;

    site->joined = false;
    (void)snprintf(path, sizeof path, "%s/state/*", site->folder);
    if (glob(path, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            (void)unlink(found.gl_pathv[i]);
        globfree(&found);
    }
    (void)snprintf(path, sizeof path, "%s/state", site->folder);
    (void)rmdir(path);
}

static int tear_down(void **state)
{
    struct site *site = *state;
    char path[128];

    if (site->pid > 0)
        (void)kill(site->pid, SIGKILL);
    if (site->pid > 0)
        (void)waitpid(site->pid, NULL, 0);
    (void)http_client_free(site->client);
    for (size_t i = 0; i < site->n_done; i++)
        free(site->done[i].answer);
    free(site->done);
    remove_state(site);
    (void)snprintf(path, sizeof path, "%s/state.log", site->folder);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/backup", site->folder);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/notify", site->folder);
    (void)unlink(path);
    (void)rmdir(site->folder);
    (void)safe_close(site->notify_fd);
    free(site);
    return 0;
}

TEST_EACH(set_up, tear_down);

/* From the start over a job's life to the clean stop, which brings the log into the file. */
TEST(test_a_scheduler_at_work_is_killed_anywhere)
{
    struct site *site = *state;
    uint64_t point = 0;
    bool survived = false;

    assert_true(start(site, 0));
    assert_true(join(site));
    stop(site);
    while (!survived) {
        point = next_in_stride(STRIDE, point);
        assert_true(point < POINTS_MAX);
        if (start(site, point)) {
            if (report_first(site) && work(site))
                (void)kill(site->pid, SIGTERM);
            survived = bury(site);
        }
        check(site);
        stop(site);
    }
    print_message("%" PRIu64 " points, %zu jobs, %" PRIu64 " calls\n", point, site->n_done,
                  site->calls);
    assert_true(point > 60);
}

/* Nothing is there at its start: the database is made. */
TEST(test_a_first_start_is_killed_anywhere)
{
    struct site *site = *state;
    uint64_t point = 0;

    do {
        remove_state(site);
        point = next_in_stride(STRIDE, point);
        assert_true(point < POINTS_MAX);
        if (start(site, point))
            break;
        check(site);
        assert_true(join(site));
        stop(site);
    } while (true);
    (void)kill(site->pid, SIGTERM); /* it may still die at what its end writes */
    (void)bury(site);
    check(site);
    stop(site);
    print_message("%" PRIu64 " points\n", point);
    assert_true(point > 10);
}

static void save_backup(struct site *site, const char *path)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");
    const struct http_call request = {
        .method = "GET", .path = "/backup", .bearer_token = site->token, .save = file
    };
    struct http_answer answer = { 0 };

    assert_non_null(file);
    assert_int_equal(http_client_call(site->client, &request, &answer), 0);
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.body_size, 0);
    http_answer_clear(&answer);
}

static int64_t epoch_of(const struct site *site)
{
    char path[96];
    int64_t epoch;
    sqlite3 *db;

    (void)snprintf(path, sizeof path, "%s/state/edl.db", site->folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    epoch = first_number(db, "SELECT coalesce(max(epoch), 0) FROM epoch");
    (void)sqlite3_close(db);
    return epoch;
}

/* The exit status, or -1: it was killed. */
static int restore(const struct site *site, uint64_t kill_at, const char *path)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        become_scheduler(site, kill_at, path);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Either nothing was changed, or no scheduler starts before it was done again. */
TEST(test_a_restore_is_killed_anywhere)
{
    struct site *site = *state;
    uint64_t point = 0, marked = 0;
    int64_t last_epoch = 0;
    char path[96], mark[96];
    int status;

    assert_true(start(site, 0));
    assert_true(join(site));
    assert_true(work(site));
    (void)snprintf(path, sizeof path, "%s/backup", site->folder);
    (void)snprintf(mark, sizeof mark, "%s/state/restoring", site->folder);
    save_backup(site, path);
    stop(site);
    do {
        point = next_in_stride(STRIDE, point);
        assert_true(point < POINTS_MAX);
        status = restore(site, point, path);
        if (access(mark, F_OK) == 0) {
            marked++;
            site->pid = fork();
            if (site->pid == 0)
                become_scheduler(site, 0, NULL);
            assert_int_equal(waitpid(site->pid, NULL, 0), site->pid); /* it does not stay */
            site->pid = 0;
            assert_int_equal(restore(site, 0, path), 0);
            assert_true(epoch_of(site) > last_epoch); /* of what was in use meanwhile */
        }
        last_epoch = epoch_of(site);
        check_file(site);
        assert_true(start(site, 0) && report_first(site));
        check_job(site, 0);
        stop(site);
    } while (status != 0);
    print_message("%" PRIu64 " points, %" PRIu64 " of them in the middle of the moves\n", point,
                  marked);
    assert_true(marked >= 3 / stride(STRIDE)); /* they follow each other */
}
