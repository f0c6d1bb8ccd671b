/* SPDX-License-Identifier: Apache-2.0 */
/* test_freezer.c - what stands still at the end of a lease, under a real edl-supervisor
 *
 * In control groups that this test makes below its own; where it may not, or the kernel cannot
 * freeze, it is skipped. Each program writes a line to a file again and again: its size tells
 * whether anybody acts. */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "agent/groups/cgroup_home.h"
#include "agent/supervisor/freezer.h"
#include "agent/link/lease.h"
#include "agent/processes/process_group.h"
#include "agent/runtime.h"
#include "agent/processes/spawner.h"
#include "tests/unit/supervisor_fixture.h"
#include "tests/unit/test.h"

/* so long that no busy machine comes too late: a freeze is verified within a twelfth of it */
#define LEASE_US (600 * USEC_PER_SEC)
#define COUNTS "exec 9>$FIFO; echo >>$GATE.count; echo up >&9; while :; do echo >>$GATE.count; done"
#define FORKS "exec 9>$FIFO; echo up >&9; while :; do (echo >>$GATE.count); done"

static struct lease_map lease;
static uint16_t epoch;

static uint64_t now_us(void)
{
    return clock_read_us(CLOCK_BOOTTIME);
}

static void extend(uint64_t us)
{
    lease_map_extend(&lease, (struct lease_word){ now_us() + us, epoch });
}

static void count_path(const struct fixture *f, char ret[128])
{
    (void)snprintf(ret, 128, "%s.count", f->gate);
}

static off_t count(const struct fixture *f)
{
    char path[128];
    struct stat st = { 0 };

    count_path(f, path);
    (void)stat(path, &st);
    return st.st_size;
}

static int begin(void **state)
{
    struct edl_error error = { 0 };
    struct cgroup_home home;
    struct fixture *f;

    if (setup(state) < 0)
        return -1;
    f = *state;
    epoch = 1;
    f->cut_off_kill_us = 600 * USEC_PER_SEC;
    if (cgroup_home_find(&home, &error) == 0)
        f->cgroup = cgroup_home_to_json(&home);
    else
        print_message("%s\n", error.text);
    return lease_map_open(f->lease, true, true, &lease, NULL);
}

/* end - what a test that failed has left ends as well */
static int end(void **state)
{
    const struct fixture *f = *state;
    char path[128];

    if (f->pidfd >= 0)
        (void)pidfd_send_signal(f->pidfd, SIGTERM, NULL, 0);
    count_path(*state, path);
    (void)unlink(path);
    lease_map_close(&lease);
    return teardown(state);
}

TEST_EACH(begin, end);

/* may_freeze - a group that this test makes for itself can be */
static bool may_freeze(const struct fixture *f)
{
    json_t *order = json_object();
    struct cgroup_paths paths;
    bool can = false;

    if (f->cgroup != NULL) {
        (void)json_object_set(order, "cgroup", f->cgroup);
        if (process_group_make(order, "1.test.0.1", &paths) == 0) {
            can = cgroup_can_freeze(paths.unified);
            process_group_remove(&paths);
        }
    }
    json_decref(order);
    return can;
}

static void tell(const struct fixture *f, int signal_number, int value)
{
    siginfo_t info = { .si_signo = signal_number, .si_code = SI_QUEUE };

    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = value;
    assert_int_equal(pidfd_send_signal(f->pidfd, signal_number, &info, 0), 0);
}

/* run_script - with a whole lease */
static void run_script(struct fixture *f, const char *script)
{
    if (!may_freeze(f)) {
        print_message("no control group can be made here that can be frozen\n");
        skip();
    }
    extend(LEASE_US);
    make_order(f, json_pack("[s, s, s]", "sh", "-c", script), 60 * USEC_PER_SEC, LEASE_US);
    start(f);
    wait_for_text(f, "up\n");
}

static void come_near_end(const struct fixture *f, uint64_t left_us)
{
    struct lease_word near_its_end = { .deadline_us = now_us() + left_us, .epoch = epoch };

    atomic_store(&lease.words[1], lease_word_pack(near_its_end));
    tell(f, SIGALRM, 0); /* it looks */
}

/* begin_script - it runs, and its lease has just come to its last sixth */
static void begin_script(struct fixture *f, const char *script)
{
    run_script(f, script);
    come_near_end(f, LEASE_US / 6);
}

static void read_record(const struct fixture *f, struct supervisor_record *ret)
{
    _cleanup_close_ int dir_fd = process_dir_open(f->dir, NULL);

    assert_int_equal(process_dir_read_supervisor(dir_fd, ret, NULL), 0);
}

/* await_news - until its record says that it is frozen, or is not any more; false: it ended */
static bool await_news(const struct fixture *f, bool frozen, struct supervisor_record *ret)
{
    _cleanup_close_ int fd = inotify_init1(IN_CLOEXEC);
    char events[4096];

    assert_true(inotify_add_watch(fd, f->dir, IN_MOVED_TO) >= 0);
    for (;;) {
        struct pollfd p[] = { { .fd = fd, .events = POLLIN },
                              { .fd = f->pidfd, .events = POLLIN } };
        bool ended = wait_readable(f->pidfd, 0); /* asked first: its last word counts */

        read_record(f, ret);
        if ((ret->frozen_since_us > 0) == frozen)
            return true;
        if (ended)
            return false;
        assert_true(poll(p, 2, DEADLINE_MS) > 0);
        if (p[0].revents != 0)
            (void)!read(fd, events, sizeof events);
    }
}

static void await_frozen(const struct fixture *f, bool frozen, struct supervisor_record *ret)
{
    if (!await_news(f, frozen, ret))
        fail_msg("it has ended");
}

/* assert_still - nobody writes for some time */
static void assert_still(struct fixture *f, int ms)
{
    off_t before = count(f);

    assert_false(wait_readable(f->pidfd, ms));
    assert_int_equal(count(f), before);
}

static void await_count(const struct fixture *f, off_t beyond)
{
    _cleanup_close_ int fd = inotify_init1(IN_CLOEXEC);
    char path[128], events[4096];

    count_path(f, path);
    assert_true(inotify_add_watch(fd, path, IN_MODIFY) >= 0);
    while (count(f) <= beyond) {
        assert_true(wait_readable(fd, DEADLINE_MS));
        (void)!read(fd, events, sizeof events);
    }
}

static void assert_killed(struct fixture *f, const char *reason)
{
    struct exit_record record;

    assert_true(wait_readable(f->pidfd, DEADLINE_MS));
    (void)wait_end(f, &record);
    assert_int_equal(record.exit_signal, SIGKILL);
    assert_string_equal(record.reason, reason);
    assert_true(record.frozen_us > 0);
    assert_fifo_released(f);
}

/* assert_stops - as any other that runs */
static void assert_stops(struct fixture *f)
{
    struct exit_record record;

    tell(f, SIGTERM, 60000);
    assert_true(wait_readable(f->pidfd, DEADLINE_MS));
    (void)wait_end(f, &record);
    assert_int_equal(record.exit_signal, SIGTERM);
    assert_true(record.frozen_us > 0);
    assert_fifo_released(f);
}

/* The lease ends, is renewed after a gap, and the agent says that it may go on. */
TEST(test_stands_still_until_a_thaw_of_the_present_epoch)
{
    struct fixture *f = *state;
    struct supervisor_record record;
    off_t frozen_at;

    begin_script(f, COUNTS);
    await_frozen(f, true, &record);
    frozen_at = count(f);
    assert_true(frozen_at > 0);
    assert_still(f, 500);
    epoch++;
    extend(LEASE_US);
    assert_still(f, 300); /* that the lease goes on is not enough */
    tell(f, SIGUSR1, epoch - 1);
    assert_still(f, 300); /* nor is a thaw from before the gap */
    tell(f, SIGUSR1, epoch);
    await_frozen(f, false, &record);
    assert_true(record.frozen_us > 0);
    await_count(f, frozen_at);
    assert_stops(f);
}

TEST(test_a_renewal_in_time_goes_on_by_itself)
{
    struct fixture *f = *state;
    struct supervisor_record record;
    off_t frozen_at;

    begin_script(f, COUNTS);
    await_frozen(f, true, &record);
    frozen_at = count(f);
    extend(LEASE_US);
    await_frozen(f, false, &record);
    await_count(f, frozen_at);
    assert_stops(f);
}

/* What it wrote comes out of its pipe meanwhile. */
TEST(test_its_output_is_in_its_log_while_it_stands)
{
    struct fixture *f = *state;
    _cleanup_close_ int fd = inotify_init1(IN_CLOEXEC);
    struct supervisor_record record;
    struct stat st = { 0 };
    char events[4096];
    off_t least;

    begin_script(f, "exec 9>$FIFO; for i in 1 2 3; do echo 1234567; done; echo >>$GATE.count;"
                    "echo up >&9; while :; do echo >>$GATE.count; echo 1234567; done");
    await_frozen(f, true, &record);
    assert_true(inotify_add_watch(fd, f->log, IN_MODIFY) >= 0);
    least = 8 * (3 + count(f) - 2); /* it counts each line before it writes it, and itself */
    while (stat(f->log, &st) == 0 && st.st_size < least) {
        assert_true(wait_readable(fd, DEADLINE_MS));
        (void)!read(fd, events, sizeof events);
    }
    tell(f, SIGTERM, 0);
    assert_killed(f, "stopped");
}

TEST(test_forks_do_not_escape)
{
    struct fixture *f = *state;
    struct supervisor_record record;

    begin_script(f, FORKS);
    await_frozen(f, true, &record);
    assert_still(f, 500);
    tell(f, SIGTERM, 0);
    assert_killed(f, "stopped");
}

/* It would have a word to say, and must not: its place may be another's by now. */
TEST(test_a_stop_kills_it_without_a_thaw)
{
    struct fixture *f = *state;
    struct supervisor_record record;
    off_t frozen_at;

    begin_script(f, "trap 'echo >>$GATE.count' TERM EXIT; " COUNTS);
    await_frozen(f, true, &record);
    frozen_at = count(f);
    tell(f, SIGTERM, 60000);
    assert_killed(f, "stopped");
    assert_int_equal(count(f), frozen_at);
}

TEST(test_it_is_killed_when_it_stands_for_too_long)
{
    struct fixture *f = *state;
    struct supervisor_record record;

    f->cut_off_kill_us = 2 * USEC_PER_SEC;
    begin_script(f, COUNTS);
    await_frozen(f, true, &record);
    assert_killed(f, "lease ended: the node was cut off");
    assert_true(now_us() >= record.frozen_since_us + 2 * USEC_PER_SEC);
}

TEST(test_what_somebody_else_thaws_is_killed)
{
    struct fixture *f = *state;
    struct supervisor_record record;

    begin_script(f, COUNTS);
    await_frozen(f, true, &record);
    assert_int_equal(cgroup_set_frozen(record.cgroup.unified, false), 0);
    assert_killed(f, "lease ended: the node was cut off");
}

/* block_record - the record cannot be written, as on a disk that is full; its temporary file, with
 * the room that was reserved, goes. unblock_record ends that. */
static void block_record(const char *path)
{
    while (mkdir(path, 0700) == -1)
        assert_true(unlink(path) == 0 || errno == ENOENT);
}

static void unblock_record(const char *path)
{
    assert_int_equal(rmdir(path), 0);
}

static void await_stand(const struct supervisor_record *record, bool frozen)
{
    struct pollfd p = { .fd = cgroup_open_events(record->cgroup.unified), .events = POLLPRI };

    while (cgroup_is_frozen(p.fd) != frozen)
        assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
    (void)safe_close(p.fd);
}

/* The disk was full at the freeze, then at the thaw: the agent hears of both a little later. */
TEST(test_it_tells_again_what_it_could_not_write)
{
    struct fixture *f = *state;
    struct supervisor_record record;
    char path[128];
    struct stat st;

    run_script(f, COUNTS);
    read_record(f, &record);
    (void)snprintf(path, sizeof path, "%s/.supervisor.json.tmp", f->dir);
    assert_int_equal(stat(path, &st), 0); /* room was reserved */
    assert_true(st.st_size >= 4096);
    block_record(path);
    come_near_end(f, LEASE_US / 6);
    await_stand(&record, true);
    assert_still(f, 300);
    unblock_record(path);
    await_frozen(f, true, &record);
    block_record(path);
    epoch++;
    extend(LEASE_US);
    tell(f, SIGUSR1, epoch);
    await_stand(&record, false);
    await_count(f, count(f));
    unblock_record(path);
    await_frozen(f, false, &record);
    assert_true(record.frozen_us > 0);
    assert_stops(f);
}

/* Its account may write to the other group: it is no longer in the one that is frozen. */
TEST(test_what_has_left_its_group_is_killed)
{
    struct fixture *f = *state;
    struct supervisor_record record;
    json_t *order = json_object();
    struct cgroup_paths other;
    char script[1024];

    if (!may_freeze(f))
        skip();
    (void)json_object_set(order, "cgroup", f->cgroup);
    assert_int_equal(process_group_make(order, "1.test.0.2", &other), 0);
    json_decref(order);
    (void)snprintf(script, sizeof script,
                   "exec 9>$FIFO; (echo 0 >%s%s/cgroup.procs; echo up >&9;"
                   " while :; do echo >>$GATE.count; done) & wait",
                   cgroup_unified_root(), other.unified);
    begin_script(f, script);
    if (await_news(f, true, &record))
        fail_msg("a part of it goes on");
    assert_killed(f, "lease ended: the node was cut off");
    process_group_end(&other);
}

/* Its supervisor's end takes the program along, frozen or not. */
TEST(test_it_dies_with_its_supervisor)
{
    struct fixture *f = *state;
    struct supervisor_record record;
    int status;

    begin_script(f, COUNTS);
    await_frozen(f, true, &record);
    assert_int_equal(pidfd_send_signal(f->pidfd, SIGKILL, NULL, 0), 0);
    assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
    assert_fifo_released(f);
    process_group_end(&record.cgroup);
}

/* An agent of an earlier version says nothing of it, and could not thaw it. */
TEST(test_an_order_of_before_is_killed_as_before)
{
    struct fixture *f = *state;
    struct exit_record record;

    f->cut_off_kill_us = 0;
    begin_script(f, COUNTS);
    (void)wait_end(f, &record);
    assert_string_equal(record.reason, "lease ended: the node was cut off");
    assert_int_equal(record.frozen_us, 0);
}

/* ---- the next agent ---- */

static void on_changed(void *userdata)
{
    (*(int *)userdata)++;
}

TEST(test_an_agent_that_comes_later_finds_and_thaws_it)
{
    struct fixture *f = *state;
    struct supervisor_record record;
    struct runtime_process *process = NULL;
    struct runtime *runtime = NULL;
    struct runtime_state found;
    sd_event *event = NULL;
    int changes = 0;

    begin_script(f, COUNTS);
    await_frozen(f, true, &record);
    assert_still(f, 500);
    assert_true(sd_event_new(&event) >= 0);
    assert_int_equal(runtime_new(event, spawner_new(event, f->supervisor), &runtime, NULL), 0);
    assert_int_equal(runtime_adopt(runtime, f->dir, on_changed, &changes, &process, NULL), 0);
    runtime_poll(process, &found);
    assert_int_equal(found.phase, RUNTIME_RUNNING);
    assert_int_equal(found.frozen_since_us, record.frozen_since_us);
    epoch++;
    extend(LEASE_US);
    assert_int_equal(runtime_thaw(process, epoch, NULL), 0);
    while (found.frozen_since_us > 0) {
        assert_true(sd_event_run(event, DEADLINE_MS * USEC_PER_MSEC) > 0);
        runtime_poll(process, &found);
    }
    assert_true(found.frozen_us >= 500 * USEC_PER_MSEC);
    (void)runtime_release(process);
    (void)runtime_free(runtime);
    sd_event_unref(event);
    assert_stops(f);
}

/* ---- what does not stand still yet ---- */

/* A thread of this test writes to the gate from a page that is not there: it holds the lock of that
 * FIFO. A process that opens it then waits in state D. */
struct held_gate {
    int gate_fd, uffd;
    void *page;
    pthread_t writer;
};

static void *write_page(void *userdata)
{
    const struct held_gate *held = userdata;

    (void)!write(held->gate_fd, held->page, 1);
    return NULL;
}

static void hold_gate(const struct fixture *f, struct held_gate *ret)
{
    struct uffdio_api api = { .api = UFFD_API };
    struct uffdio_register range = { .range.len = 4096, .mode = UFFDIO_REGISTER_MODE_MISSING };

    ret->gate_fd = f->gate_fd;
    ret->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (ret->uffd == -1) {
        print_message("userfaultfd(2): %s\n", strerror(errno));
        skip();
    }
    ret->page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    range.range.start = (uintptr_t)ret->page;
    assert_int_equal(ioctl(ret->uffd, UFFDIO_API, &api), 0);
    assert_int_equal(ioctl(ret->uffd, UFFDIO_REGISTER, &range), 0);
    assert_int_equal(pthread_create(&ret->writer, NULL, write_page, ret), 0);
    assert_true(wait_readable(ret->uffd, DEADLINE_MS));
}

static void release_gate(struct held_gate *held)
{
    struct uffdio_zeropage zero = { .range = { (uintptr_t)held->page, 4096 } };

    assert_int_equal(ioctl(held->uffd, UFFDIO_ZEROPAGE, &zero), 0);
    assert_int_equal(pthread_join(held->writer, NULL), 0);
    (void)munmap(held->page, 4096);
    (void)safe_close(held->uffd);
}

static bool waits_in_a_call(pid_t pid)
{
    struct procfs_stat stat;

    return procfs_stat(pid, &stat) == 0 && stat.state == 'D';
}

static bool has_sigkill(pid_t pid)
{
    unsigned long long mask, pending = 0;
    char line[256];
    FILE *file;

    (void)snprintf(line, sizeof line, "/proc/%d/status", (int)pid);
    file = fopen(line, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "SigPnd: %llx", &mask) == 1 || sscanf(line, "ShdPnd: %llx", &mask) == 1)
            pending |= mask;
    if (file != NULL)
        (void)fclose(file);
    return (pending >> (SIGKILL - 1) & 1) != 0;
}

/* await_state - nobody can be told when it comes */
static void await_state(const struct fixture *f, bool (*is_so)(pid_t pid))
{
    uint64_t by_us = now_us() + 120 * USEC_PER_SEC;
    struct supervisor_record record;

    do {
        assert_true(now_us() < by_us);
        (void)poll(NULL, 0, 10);
        read_record(f, &record);
        assert_int_equal(record.frozen_since_us, 0);
    } while (!is_so(record.child_pid));
}

/* The call may go on and write for a long time yet. Only SIGKILL ends it before, where it can. */
TEST(test_a_call_that_does_not_freeze_is_killed)
{
    struct fixture *f = *state;
    struct held_gate held;

    if (!may_freeze(f))
        skip();
    hold_gate(f, &held);
    run_script(f, "exec 9>$FIFO; echo up >&9; echo >$GATE");
    await_state(f, waits_in_a_call);
    come_near_end(f, LEASE_US / 12);
    await_state(f, has_sigkill);
    release_gate(&held);
    assert_killed(f, "lease ended: the node was cut off");
}

/* ---- the lease file ---- */

/* An agent of an earlier version wrote the deadline alone; the next one goes on with it. */
TEST(test_a_lease_file_of_before)
{
    struct fixture *f = *state;
    uint64_t deadline_us = 1234567, words[2] = { 0 };
    struct lease_map reader = { 0 };
    _cleanup_close_ int fd = open(f->lease, O_RDWR | O_TRUNC | O_CLOEXEC);

    assert_int_equal(write(fd, &deadline_us, sizeof deadline_us), sizeof deadline_us);
    assert_int_equal(lease_map_open(f->lease, false, false, &reader, NULL), 0);
    assert_false(reader.has_epoch);
    assert_int_equal(lease_map_read(&reader).deadline_us, deadline_us);
    lease_map_close(&reader);
    lease_map_close(&lease);
    assert_int_equal(lease_map_open(f->lease, true, false, &lease, NULL), 0);
    assert_true(lease.has_epoch);
    assert_int_equal(lease_map_read(&lease).deadline_us, deadline_us);
    lease_map_extend(&lease, (struct lease_word){ deadline_us + 1, 3 });
    lease_map_extend(&lease, (struct lease_word){ deadline_us, 4 }); /* not back */
    assert_int_equal(lease_map_read(&lease).deadline_us, deadline_us + 1);
    assert_int_equal(lease_map_read(&lease).epoch, 3);
    assert_int_equal(pread(fd, words, sizeof words, 0), sizeof words);
    assert_int_equal(words[0], deadline_us + 1); /* as supervisors of before read it */
}

/* An agent of an earlier version cuts the second word off, under a supervisor of this one. */
TEST(test_an_agent_of_before_takes_over)
{
    struct fixture *f = *state;
    struct exit_record record;

    run_script(f, COUNTS);
    assert_int_equal(truncate(f->lease, sizeof(uint64_t)), 0);
    assert_int_equal(lease_map_read(&lease).deadline_us, atomic_load(&lease.words[0]));
    tell(f, SIGALRM, 0); /* it looks */
    await_count(f, count(f));
    assert_false(wait_readable(f->pidfd, 300));
    atomic_store(&lease.words[0], now_us());
    tell(f, SIGALRM, 0);
    (void)wait_end(f, &record);
    assert_string_equal(record.reason, "lease ended: the node was cut off");
    assert_int_equal(record.frozen_us, 0);
}
