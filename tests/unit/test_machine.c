/* SPDX-License-Identifier: Apache-2.0 */
/* test_machine.c - what an agent reads of its machine, on file trees of machines that differ */
#include <ftw.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/machine/machine.h"
#include "agent/machine/ports.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static char root[64];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/edl-test-machine-XXXXXX");
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    return nftw(root, drop, 16, FTW_DEPTH | FTW_PHYS);
}

TEST_EACH(setup, teardown);

static void put(const char *name, const char *text)
{
    _cleanup_free_ char *path = text_format("%s%s", root, name);
    _cleanup_free_ char *folder = xstrdup(path);
    FILE *f;

    *strrchr(folder, '/') = '\0';
    assert_int_equal(folder_make(folder, 0700, NULL), 0);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void assert_json(json_t *take_json, const char *expected)
{
    _cleanup_free_ char *text = json_dumps(take_json, JSON_COMPACT | JSON_SORT_KEYS);

    assert_string_equal(text, expected);
    json_decref(take_json);
}

TEST(test_nothing_can_be_read)
{
    assert_json(machine_load(root), "{}");
    assert_json(machine_nics(root), "[]");
}

TEST(test_load)
{
    put("/proc/loadavg", "0.08 12.30 1.00 2/311 4711\n");
    put("/proc/meminfo", "MemTotal:       4096 kB\nMemFree:     512 kB\nMemAvailable:   2048 kB\n");
    assert_json(machine_load(root),
                "{\"load_milli\":[80,12300,1000],\"memory_available_bytes\":2097152}");
}

TEST(test_pressure_where_the_kernel_knows_it)
{
    put("/proc/pressure/cpu", "some avg10=12.34 avg60=0.00 avg300=0.00 total=1\n");
    put("/proc/pressure/io", "some avg10=100.00 avg60=0.00 avg300=0.00 total=1\n"
                             "full avg10=0.05 avg60=0.00 avg300=0.00 total=1\n");
    assert_json(machine_load(root), "{\"pressure\":{\"cpu\":{\"some_ppm\":123400},"
                                    "\"io\":{\"full_ppm\":500,\"some_ppm\":1000000}}}");
}

TEST(test_interfaces_with_a_device_hide_the_others)
{
    put("/sys/class/net/lo/statistics/rx_bytes", "1\n");
    put("/sys/class/net/veth7/statistics/rx_bytes", "7\n");
    put("/sys/class/net/veth7/speed", "10000\n");
    assert_json(machine_nics(root), "[{\"name\":\"veth7\",\"received_bytes\":7,\"sent_bytes\":0,"
                                    "\"speed_mbit_per_s\":10000}]");
    put("/sys/class/net/eno2/device/vendor", "x\n");
    put("/sys/class/net/eno2/speed", "-1\n");
    put("/sys/class/net/eno1/device/vendor", "x\n");
    put("/sys/class/net/eno1/statistics/rx_bytes", "5000000000\n");
    put("/sys/class/net/eno1/statistics/tx_bytes", "12\n");
    assert_json(machine_nics(root),
                "[{\"name\":\"eno1\",\"received_bytes\":5000000000,\"sent_bytes\":12},"
                "{\"name\":\"eno2\",\"received_bytes\":0,\"sent_bytes\":0}]");
}

TEST(test_disks_that_can_be_asked)
{
    const struct machine_disk disks[] = { { "state", root }, { "output", "/no/such/folder" } };
    json_t *json = machine_disks(disks, ELEMENTS(disks));
    const json_t *disk = json_array_get(json, 0);

    assert_int_equal(json_array_size(json), 1);
    assert_string_equal(json_string_value(json_object_get(disk, "name")), "state");
    assert_true(json_integer_value(json_object_get(disk, "size_bytes")) > 0);
    assert_true(json_integer_value(json_object_get(disk, "free_bytes")) <=
                json_integer_value(json_object_get(disk, "size_bytes")));
    json_decref(json);
}

static void assert_listened(const struct port_set *set, const uint16_t *expected, size_t n)
{
    size_t found = 0;

    for (unsigned port = 0; port <= UINT16_MAX; port++)
        found += port_set_has(set, (uint16_t)port);
    assert_int_equal(found, n);
    for (size_t i = 0; i < n; i++)
        assert_true(port_set_has(set, expected[i]));
}

/* Those that listen come first; the many connections behind them are not read. */
TEST(test_ports_that_programs_listen_on)
{
    struct port_set set;
    char folder[128];

    (void)snprintf(folder, sizeof folder, "%s/proc/net", root);
    ports_read(folder, &set);
    assert_listened(&set, NULL, 0);
    put("/proc/net/tcp",
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
        "   0: 0100007F:4E21 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
        "   1: 00000000:FFFF 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
        "   2: 0100007F:4E22 0100007F:8534 01 00000000:00000000 00:00000000 00000000     0\n"
        "   3: 0100007F:4E23 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n");
    put("/proc/net/tcp6", "  sl  local_address                         remote_address\n"
                          "   0: 00000000000000000000000001000000:4E20 "
                          "00000000000000000000000000000000:0000 0A 00000000:00000000\n");
    ports_read(folder, &set);
    assert_listened(&set, (const uint16_t[]){ 20000, 20001, 65535 }, 3);
}

/* refuse - this process does not get the system call, or only the family of sockets */
static void refuse(uint32_t call, uint32_t first_argument, bool any)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first_argument, 0, any ? 0 : 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = { .len = ELEMENTS(code), .filter = code };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == -1)
        _exit(77);
}

/* is_seen_without - whether a process that is refused one way sees the port by the other */
static bool is_seen_without(uint16_t port, uint32_t call, uint32_t first_argument, bool any)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct port_set set;

        refuse(call, first_argument, any);
        ports_listened(&set);
        _exit(port_set_has(&set, port) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status == 0;
}

/* On one address alone, and of this very kernel. It is asked for those that listen; its lists of
 * all connections are opened only where it may not be asked. */
TEST(test_a_port_of_the_loopback_is_seen)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct port_set set;
    uint16_t port;

    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    port = ntohs(address.sin_port);
    ports_listened(&set);
    assert_true(port_set_has(&set, port));
    assert_true(is_seen_without(port, __NR_openat, 0, true));
    assert_true(is_seen_without(port, __NR_socket, AF_NETLINK, false));
    (void)safe_close(fd);
}
