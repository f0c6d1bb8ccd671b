/* SPDX-License-Identifier: Apache-2.0 */
/* test_supervisor.c - edl-supervisor and the direct runtime with real processes */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/runtime.h"
#include "agent/processes/spawner.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/text_format.h"
#include "tests/unit/supervisor_fixture.h"
#include "tests/unit/test.h"

#define LOOK_AGAIN_MS 200

static void read_log(struct fixture *f, char *text, size_t size)
{
    _cleanup_close_ int fd = open(f->log, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, size - 1);

    assert_true(n >= 0);
    text[n] = '\0';
}

TEST_EACH(setup, teardown);

TEST(test_program_exit_code_and_log_are_recorded)
{
    struct fixture *f = *state;
    struct exit_record record;
    char log[256];

    start_script(f, "echo out; echo err >&2; exit 3", 1000000);
    assert_int_equal(wait_end(f, &record), 0);
    assert_int_equal(record.exit_code, 3);
    assert_int_equal(record.exit_signal, 0);
    assert_string_equal(record.reason, "its last words: err");
    assert_int_equal(record.cause, EXIT_CAUSE_PROGRAM);
    read_log(f, log, sizeof log);
    assert_string_equal(log, "out\nerr\n");
}

static void check_log(struct fixture *f, const char *script, const char *expected)
{
    struct exit_record record;
    char log[256];

    start_script(f, script, 1000000);
    assert_int_equal(wait_end(f, &record), 0);
    assert_int_equal(record.exit_code, 0);
    read_log(f, log, sizeof log);
    assert_string_equal(log, expected);
}

/* An open of it by its name truncates, as it does a file of any other name. */
TEST(test_output_by_its_name_cuts_nothing_off)
{
    check_log(
        *state,
        "for i in 1 2 3; do echo \"epoch $i\"; done; echo 'warning: lr is high' > /dev/stderr;"
        "echo 'epoch 4'; echo more > /proc/self/fd/1; echo last",
        "epoch 1\nepoch 2\nepoch 3\nwarning: lr is high\nepoch 4\nmore\nlast\n");
}

TEST(test_output_through_tee_cuts_nothing_off)
{
    check_log(*state, "echo first; echo twice | tee /dev/stderr; echo last",
              "first\ntwice\ntwice\nlast\n");
}

TEST(test_output_that_python_opens_cuts_nothing_off)
{
    if (access("/usr/bin/python3", X_OK) != 0)
        skip();
    check_log(
        *state,
        "echo first; python3 -c 'open(\"/dev/stdout\", \"w\").write(\"second\\n\")'; echo last",
        "first\nsecond\nlast\n");
}

TEST(test_program_that_closes_its_output_runs_on)
{
    check_log(*state, "echo last; exec >&- 2>&-; echo up > $FIFO", "last\n");
}

/* What somebody else keeps open is no reason to wait: what it wrote is there. */
TEST(test_program_ends_though_its_output_is_held_open)
{
    struct fixture *f = *state;
    struct exit_record record;
    _cleanup_close_ int held = -1;
    char path[64], log[64] = "";
    int pid;

    start_script(f, "echo $$ > $FIFO; read x < $GATE; echo last; exit 2", 60000000);
    assert_true(wait_readable(f->fifo_fd, DEADLINE_MS));
    assert_true(read(f->fifo_fd, log, sizeof log - 1) > 0);
    assert_int_equal(sscanf(log, "%d", &pid), 1);
    (void)snprintf(path, sizeof path, "/proc/%d/fd/1", pid);
    held = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(held >= 0);
    assert_int_equal(write(f->gate_fd, "go\n", 3), 3);
    assert_int_equal(wait_end(f, &record), 0);
    assert_string_equal(record.reason, "its last words: last");
}

/* Far more than a pipe holds is on its way when it dies. */
TEST(test_program_that_dies_of_its_output_has_all_of_it_in_its_log)
{
    struct fixture *f = *state;
    struct exit_record record;
    struct stat st;

    start_script(f, "head -c 8000000 /dev/zero | tr '\\0' x; echo; echo last; kill -KILL $$", 0);
    assert_int_equal(wait_end(f, &record), 0);
    assert_int_equal(record.exit_signal, SIGKILL);
    assert_int_equal(stat(f->log, &st), 0);
    assert_int_equal(st.st_size, 8000000 + 6);
}

/* Nobody runs out of room but the log. */
TEST(test_program_outlives_a_disk_that_is_full)
{
    struct fixture *f = *state;
    const struct rlimit few = { 4096, 4096 };
    struct exit_record record;
    char log[4200];

    make_order(f, json_pack("[s, s, s]", "sh", "-c", "seq 10000; echo ok > $FIFO"), 0, 0);
    f->pid = fork();
    if (f->pid == 0) {
        (void)freopen("/dev/null", "w", stderr); /* it may be a file as long as that already */
        (void)setrlimit(RLIMIT_FSIZE, &few);     /* of a file, which is as good as a disk */
        (void)execl(f->supervisor, f->supervisor, f->dir, (char *)NULL);
        _exit(126);
    }
    f->pidfd = pidfd_open(f->pid, 0);
    wait_for_text(f, "ok\n");
    assert_int_equal(wait_end(f, &record), 0);
    assert_int_equal(record.exit_code, 0);
    read_log(f, log, sizeof log);
    assert_int_equal(strlen(log), 4096);
    assert_memory_equal(record.reason, "its log misses the end of its output, 89", 40);
}

TEST(test_program_without_words_is_told_by_its_exit_code)
{
    struct fixture *f = *state;
    struct exit_record record;

    start_script(f, "exit 3", 1000000);
    assert_int_equal(wait_end(f, &record), 0);
    assert_int_equal(record.exit_code, 3);
    assert_string_equal(record.reason, "");
}

/* What a program writes is its own: bounded, one line, UTF-8, and nothing that steers a terminal.
 */
TEST(test_last_words_are_made_fit_to_show)
{
    struct fixture *f = *state;
    static const char beginning[] = "its last words: ?[2Jno m\303\266dule \357\277\275yyyy";
    struct exit_record record;
    json_t *text;

    start_script(f,
                 "head -c 3000 /dev/zero | tr '\\0' x; printf '\\nTraceback\\n  \\033[2Jno m\\303"
                 "\\266dule \\377'; head -c 900 /dev/zero | tr '\\0' y; echo; echo; exit 1",
                 1000000);
    assert_int_equal(wait_end(f, &record), 0);
    assert_memory_equal(record.reason, beginning, strlen(beginning));
    assert_true(strlen(record.reason) < 256);
    text = json_string(record.reason); /* NULL: no UTF-8 */
    assert_non_null(text);
    json_decref(text);
}

/* mpirun draws a line below its page. */
TEST(test_a_line_that_is_drawn_is_no_word)
{
    struct fixture *f = *state;
    struct exit_record record;

    start_script(f, "echo '  Exit code:    7'; echo -----; echo; echo ' ==== '; exit 7", 1000000);
    assert_int_equal(wait_end(f, &record), 0);
    assert_string_equal(record.reason, "its last words: Exit code:    7");
}

/* Libraries say more behind the error, and a word that looks like one is none. */
TEST(test_a_line_that_tells_the_error_goes_before_the_last_one)
{
    static const struct {
        const char *output, *reason;
    } rows[] = {
        { "Traceback (most recent call last):\\n  File x\\n[rank2]: ValueError: no data\\n[W] "
          "destroy_process_group() was not called\\n",
          "its error: [rank2]: ValueError: no data" },
        { "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried 2 GiB\\n\\nwandb: synced\\n",
          "its error: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried 2 GiB" },
        { "ValueError: mended\\nRuntimeError: not that\\nbye\\n",
          "its error: RuntimeError: not that" },
        { "bye\\nValueError: no data\\n", "its last words: ValueError: no data" },
        { "the Error: rate 0.1\\nErrors 5\\nbye\\n", "its last words: bye" },
        { "ValueError: long ago\\n$(seq 40)\\nbye\\n", "its last words: bye" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct fixture *f = *state;
        struct exit_record record;
        _cleanup_free_ char *script = text_format("printf '%%b' \"%s\"; exit 1", rows[i].output);

        start_script(f, script, 1000000);
        assert_int_equal(wait_end(f, &record), 0);
        assert_string_equal(record.reason, rows[i].reason);
        assert_int_equal(teardown(state), 0);
        assert_int_equal(setup(state), 0);
    }
}

/* await_log - until this is in it */
static void await_log(struct fixture *f, const char *words)
{
    _cleanup_close_ int fd = inotify_init1(IN_CLOEXEC);
    char text[256] = "", events[4096];

    assert_true(inotify_add_watch(fd, f->log, IN_MODIFY) >= 0);
    for (read_log(f, text, sizeof text); strstr(text, words) == NULL;
         read_log(f, text, sizeof text)) {
        assert_true(wait_readable(fd, DEADLINE_MS));
        (void)!read(fd, events, sizeof events);
    }
}

static uint64_t wall_us(void)
{
    return clock_read_us(CLOCK_REALTIME);
}

/* One that hangs behind its error is ended with the others: the error is told, and since when. */
TEST(test_the_error_of_one_that_was_ended_is_told)
{
    struct fixture *f = *state;
    uint64_t begun_us = wall_us(), seen_us, let_go_us;
    struct exit_record record;

    start_script(f,
                 "echo 'ValueError: no data'; echo up >$FIFO; read x <$GATE; echo more; "
                 "read x <$GATE; kill -TERM $$",
                 1000000);
    wait_for_text(f, "up\n");
    await_log(f, "no data\n");
    assert_int_equal(write(f->gate_fd, "go\n", 3), 3);
    await_log(f, "more\n"); /* when the error came is noted by now */
    seen_us = wall_us();
    (void)poll(NULL, 0, 200); /* how long it hangs */
    let_go_us = wall_us();
    assert_int_equal(write(f->gate_fd, "go\n", 3), 3);
    assert_int_equal(wait_end(f, &record), 0);
    assert_string_equal(record.reason, "SIGTERM");
    assert_string_equal(record.error, "ValueError: no data");
    assert_in_range(record.error_before_us, let_go_us - seen_us, wall_us() - begun_us);
}

TEST(test_one_that_went_on_behind_an_error_has_none)
{
    struct fixture *f = *state;
    struct exit_record record;

    start_script(f, "echo 'ValueError: mended'; seq 3; kill -TERM $$", 1000000);
    assert_int_equal(wait_end(f, &record), 0);
    assert_string_equal(record.error, "");
    assert_int_equal(record.error_before_us, 0);
}

/* A program for a fixed world says what it misses; what to type instead is told with that. */
TEST(test_a_world_that_is_missing_has_a_remedy)
{
    static const struct {
        const char *words;
        bool remedy;
    } rows[] = {
        { "ValueError: Error initializing torch.distributed using env:// rendezvous: environment "
          "variable RANK expected, but not set",
          true },
        { "KeyError: 'WORLD_SIZE'", true },
        { "KeyError: 'name'", false },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct fixture *f = *state;
        struct exit_record record;
        char script[300], log[600];

        (void)snprintf(script, sizeof script, "echo \"%s\"; exit 1", rows[i].words);
        start_script(f, script, 1000000);
        assert_int_equal(wait_end(f, &record), 0);
        read_log(f, log, sizeof log);
        assert_int_equal(strstr(record.reason, "submit it with --min N --max N") != NULL,
                         rows[i].remedy);
        assert_int_equal(strstr(log, "python3 -m edl.torchrun") != NULL, rows[i].remedy);
        assert_non_null(strstr(record.reason, "its last words: "));
        assert_int_equal(teardown(state), 0);
        assert_int_equal(setup(state), 0);
    }
}

TEST(test_program_signal_is_recorded)
{
    struct fixture *f = *state;
    struct exit_record record;

    start_script(f, "kill -SEGV $$", 1000000);
    (void)wait_end(f, &record);
    assert_int_equal(record.exit_signal, SIGSEGV);
    assert_int_equal(record.exit_code, 128 + SIGSEGV);
    assert_string_equal(record.reason, "SIGSEGV");
}

TEST(test_program_missing_says_so)
{
    struct fixture *f = *state;
    struct exit_record record;

    make_order(f, json_pack("[s]", "no-such-program"), 0, 0);
    start(f);
    (void)wait_end(f, &record);
    assert_int_equal(record.exit_code, 127);
    assert_string_equal(record.reason, "cannot execute no-such-program: No such file or directory");
    assert_int_equal(record.fault, START_FAULT_PROGRAM); /* it may be there on other nodes */
}

TEST(test_environment_is_the_orders_only)
{
    struct fixture *f = *state;
    struct exit_record record;
    char log[512];

    assert_int_equal(setenv("EDL_TEST_LEAK", "1", 1), 0);
    make_order(f, json_pack("[s]", "env"), 0, 0);
    start(f);
    (void)wait_end(f, &record);
    (void)unsetenv("EDL_TEST_LEAK");
    read_log(f, log, sizeof log);
    assert_null(strstr(log, "EDL_TEST_LEAK"));
    assert_non_null(strstr(log, f->fifo));
    assert_null(strstr(log, "HOME="));
}

static void check_umask(struct fixture *f, int ordered, const char *expected)
{
    struct exit_record record;
    char log[64];

    f->umask = ordered;
    start_script(f, "umask", 0);
    (void)wait_end(f, &record);
    read_log(f, log, sizeof log);
    assert_string_equal(log, expected);
}

TEST(test_niceness_is_that_of_its_agent)
{
    struct fixture *f = *state;
    struct exit_record record;
    char log[64], wanted[16];
    int before = getpriority(PRIO_PROCESS, 0);

    (void)snprintf(wanted, sizeof wanted, "%d\n", before + 3);
    assert_int_equal(setpriority(PRIO_PROCESS, 0, before + 3), 0);
    make_order(f, json_pack("[s]", "nice"), 0, 0);
    start(f);
    (void)wait_end(f, &record);
    (void)setpriority(PRIO_PROCESS, 0, before); /* root may */
    read_log(f, log, sizeof log);
    assert_string_equal(log, wanted);
}

TEST(test_umask_is_the_orders)
{
    check_umask(*state, 0002, "0002\n");
}

/* of a scheduler of the version before */
TEST(test_umask_is_0022_by_default)
{
    check_umask(*state, -1, "0022\n");
}

/* What whoever started the agent had open (the lock of a script) is not held until a process ends.
 */
TEST(test_nothing_is_inherited)
{
    struct fixture *f = *state;
    struct exit_record record;
    int inherited = open(f->fifo, O_WRONLY); /* no O_CLOEXEC: it is to go along */

    assert_true(inherited >= 0);
    start_script(f, "echo up >$FIFO; read x <$GATE", 60000000);
    wait_for_text(f, "up\n");
    (void)safe_close(inherited);
    assert_fifo_released(f);
    assert_int_equal(write(f->gate_fd, "go\n", 3), 3);
    (void)wait_end(f, &record);
    assert_int_equal(record.exit_code, 0);
}

TEST(test_daemonised_grandchild_dies_with_the_program)
{
    struct fixture *f = *state;
    struct exit_record record;

    start_script(f,
                 "(setsid sh -c 'trap \"\" TERM HUP; exec 9>$FIFO; echo up >&9; echo its; exec "
                 "sleep 1000' &);" /* its parent is gone before the program goes on */
                 "read x < $GATE; exit 0",
                 60000000);
    wait_for_text(f, "up\n");
    assert_int_equal(write(f->gate_fd, "go\n", 3), 3);
    (void)wait_end(f, &record); /* it holds the output of the program, too */
    assert_int_equal(record.exit_code, 0);
    assert_int_equal(record.orphans_reaped, 1);
    assert_fifo_released(f);
}

TEST(test_nothing_is_started_twice)
{
    struct fixture *f = *state;
    struct exit_record record;
    char log[64];

    start_script(f, "echo once", 0);
    (void)wait_end(f, &record);
    f->pidfd = safe_close(f->pidfd);
    start(f);
    assert_int_equal(WEXITSTATUS(wait_end(f, &record)), 1);
    read_log(f, log, sizeof log);
    assert_string_equal(log, "once\n");
}

/* ---- as a unit of the service manager ---- */

/* Ready once nobody else can start it, and before anything runs: the record is made by then or
 * later, so that a manager's "started" never finds a free lock. */
TEST(test_unit_says_that_it_is_ready)
{
    struct fixture *f = *state;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct supervisor_record record;
    struct exit_record end;
    char text[64];
    ssize_t n;
    int dir_fd;

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", f->root);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    (void)setenv("NOTIFY_SOCKET", address.sun_path, 1);
    start_script(f, "echo up${NOTIFY_SOCKET} > $FIFO; read line < $GATE", 0);
    (void)unsetenv("NOTIFY_SOCKET");
    assert_true(wait_readable(fd, DEADLINE_MS));
    n = recv(fd, text, sizeof text, 0);
    assert_int_equal(n, 7);
    assert_memory_equal(text, "READY=1", 7);
    dir_fd = process_dir_open(f->dir, NULL);
    assert_int_equal(process_dir_lock(dir_fd), -EWOULDBLOCK);
    wait_for_text(f, "up\n"); /* its program does not know the socket */
    assert_int_equal(process_dir_read_supervisor(dir_fd, &record, NULL), 0);
    assert_string_equal(record.cgroup.unified, ""); /* this test's, not of a unit of its own */
    (void)dprintf(f->gate_fd, "go on\n");
    assert_int_equal(wait_end(f, &end), 0);
    (void)unlink(address.sun_path);
    (void)safe_close(fd);
    (void)safe_close(dir_fd);
}

#define WRITTEN_BYTES (4 << 20)

/* await_bounded - until the log holds all that was written, and no more of the disk than this:
 * the last words may still be in the pipe when the front is given back */
static bool await_bounded(const struct fixture *f, off_t most_bytes)
{
    _cleanup_close_ int fd = inotify_init1(IN_CLOEXEC);
    uint64_t by_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_MS * USEC_PER_MSEC;
    char events[4096];
    struct stat st;

    assert_true(inotify_add_watch(fd, f->log, IN_MODIFY) >= 0); /* a hole is a change as well */
    while (stat(f->log, &st) == 0 && st.st_size <= WRITTEN_BYTES) {
        if (st.st_size == WRITTEN_BYTES && st.st_blocks * 512 <= most_bytes)
            return true;
        if (clock_read_us(CLOCK_BOOTTIME) > by_us)
            return false;
        /* a file system may count blocks anew without an event, once it has written them */
        if (wait_readable(fd, LOOK_AGAIN_MS))
            (void)!read(fd, events, sizeof events);
    }
    return false;
}

/* What is kept without a lease may have no agent for long. */
TEST(test_a_log_is_bounded_without_an_agent)
{
    struct fixture *f = *state;
    struct exit_record end;

    f->log_max = 512 << 10;
    start_script(f, "head -c 4194304 /dev/zero | tr '\\0' x; echo wrote > $FIFO; read line < $GATE",
                 0);
    wait_for_text(f, "wrote\n");
    assert_true(await_bounded(f, 640 << 10));
    (void)dprintf(f->gate_fd, "go on\n");
    assert_int_equal(wait_end(f, &end), 0);
}

/* ---- the runtime ---- */

static void on_changed(void *userdata)
{
    (*(int *)userdata)++;
}

/* adopt - polls a folder as a new agent would, and asks for its end */
static void adopt(struct fixture *f, struct runtime_state *ret)
{
    sd_event *event = NULL;
    struct runtime *runtime = NULL;
    struct runtime_process *process = NULL;
    int changes = 0;

    assert_true(sd_event_new(&event) >= 0);
    assert_int_equal(runtime_new(event, spawner_new(event, f->supervisor), &runtime, NULL), 0);
    assert_int_equal(runtime_adopt(runtime, f->dir, on_changed, &changes, &process, NULL), 0);
    runtime_poll(process, ret);
    assert_int_equal(runtime_stop(process, 0, NULL), 0);
    while (ret->phase != RUNTIME_EXITED) {
        assert_true(sd_event_run(event, DEADLINE_MS * 1000) > 0);
        if (changes == 0)
            continue;
        changes = 0;
        runtime_poll(process, ret);
    }
    (void)runtime_release(process);
    (void)runtime_free(runtime);
    sd_event_unref(event);
}

TEST(test_adopt_finds_and_stops_what_runs)
{
    struct fixture *f = *state;
    struct runtime_state runtime_state;

    start_script(f, "trap '' TERM; exec 9>$FIFO; echo up >&9; exec sleep 1000", 60000000);
    wait_for_text(f, "up\n");
    adopt(f, &runtime_state);
    assert_int_equal(runtime_state.exit_signal, SIGKILL);
    assert_string_equal(runtime_state.reason, "stopped");
    assert_int_equal(runtime_state.cause, EXIT_CAUSE_STOPPED);
    assert_fifo_released(f);
}

/* an agent in a sandbox of a container sees another boot id than its supervisors */
TEST(test_the_boot_is_what_its_agent_says)
{
    struct fixture *f = *state;
    struct exit_record ended;
    struct supervisor_record record;
    _cleanup_close_ int dir_fd = -1;

    (void)snprintf(f->boot_id, sizeof f->boot_id, "the agent's");
    start_script(f, "exit 0", 0);
    (void)wait_end(f, &ended);
    dir_fd = process_dir_open(f->dir, NULL);
    assert_int_equal(process_dir_read_supervisor(dir_fd, &record, NULL), 0);
    assert_string_equal(record.boot_id, "the agent's");
}

/* a record that names a living stranger: its number was recycled */
static void check_recycled(struct fixture *f, const char *reason, enum exit_cause cause)
{
    struct supervisor_record record = { .pid = fork(), .start_ticks = 1, .child_pid = 1 };
    struct runtime_state runtime_state;
    struct procfs_stat stat;
    int dir_fd, status;

    if (record.pid == 0) {
        (void)pause();
        _exit(0);
    }
    record.child_pid = record.pid;
    assert_int_equal(procfs_stat(record.pid, &stat), 0);
    make_order(f, json_pack("[s]", "true"), 0, 0);
    dir_fd = process_dir_open(f->dir, NULL);
    (void)snprintf(record.boot_id, sizeof record.boot_id, "%s", f->boot_id);
    assert_int_equal(process_dir_write_supervisor(dir_fd, &record, NULL), 0);
    (void)safe_close(dir_fd);
    adopt(f, &runtime_state);
    assert_int_equal(runtime_state.exit_code, -1);
    assert_string_equal(runtime_state.reason, reason);
    assert_int_equal(runtime_state.cause, cause);
    assert_int_equal(waitpid(record.pid, &status, WNOHANG), 0); /* untouched */
    assert_int_equal(kill(record.pid, SIGKILL), 0);
    assert_int_equal(waitpid(record.pid, &status, 0), record.pid);
}

TEST(test_adopt_after_reboot_signals_nobody)
{
    struct fixture *f = *state;

    (void)snprintf(f->boot_id, sizeof f->boot_id, "another boot");
    check_recycled(f, "the machine was restarted", EXIT_CAUSE_REBOOTED);
}

TEST(test_adopt_of_a_recycled_pid_signals_nobody)
{
    check_recycled(*state, "its supervisor vanished", EXIT_CAUSE_UNSEEN);
}

TEST(test_open_verified_refuses_a_recycled_pid)
{
    struct procfs_stat stat;
    int fd;

    assert_int_equal(procfs_stat(getpid(), &stat), 0);
    assert_int_equal(procfs_open_verified(getpid(), stat.start_ticks + 1), -ESRCH);
    fd = procfs_open_verified(getpid(), stat.start_ticks);
    assert_true(fd >= 0);
    (void)safe_close(fd);
}

TEST(test_it_is_known_since_when_a_process_runs)
{
    uint64_t before_us = clock_read_us(CLOCK_BOOTTIME);
    uint64_t tick_us = USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t started_us;
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    started_us = procfs_started_us(pid);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(started_us + tick_us >= before_us);
    assert_true(started_us <= clock_read_us(CLOCK_BOOTTIME));
    assert_int_equal(procfs_started_us(pid), 0);
}
