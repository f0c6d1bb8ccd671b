/* SPDX-License-Identifier: Apache-2.0 */
/* test_cpu_pins.c - which CPUs a process gets for itself, on machines of several kinds */
#include <errno.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/cpu_pins.h"
#include "agent/machine/cpu_topology.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

/* machine - threads of one core are numbered one behind the other, as on some machines, or come
 * after all cores, as on most */
static void machine(unsigned nodes, unsigned cores, unsigned threads, bool behind,
                    struct cpu_topology *ret)
{
    unsigned all = nodes * cores;

    *ret = (struct cpu_topology){ .n = (size_t)all * threads };
    for (unsigned cpu = 0; cpu < all * threads; cpu++) {
        unsigned core = behind ? cpu / threads : cpu % all;

        ret->places[cpu] = (struct cpu_place){ .cpu = (uint16_t)cpu,
                                               .numa = (uint16_t)(core / cores),
                                               .core = core };
    }
}

static struct cpu_mask mask_of(const char *list)
{
    struct cpu_mask mask;

    assert_int_equal(cpu_mask_parse(list, &mask), 0);
    return mask;
}

static const char *choose(const struct cpu_topology *topology, const char *taken, unsigned n,
                          uint16_t numa)
{
    static char text[CPU_LIST_SIZE];
    struct cpu_mask mask = mask_of(taken), chosen;

    if (!cpu_pins_choose(topology, &mask, n, numa, &chosen))
        return "none";
    assert_int_equal(cpu_mask_count(&chosen), n);
    return cpu_mask_format(&chosen, text);
}

TEST(test_lists)
{
    static const char *const good[] = { "", "0", "0-3,8", "1,3,5", "0-1023", "63-64" };
    static const char *const bad[] = {
        "-1", "1-", "3-1", "1,,2", "1,", "a", "1024", "1 2", "1\n2"
    };
    char text[CPU_LIST_SIZE];
    struct cpu_mask mask, all = { 0 };

    for (size_t i = 0; i < ELEMENTS(good); i++) {
        mask = mask_of(good[i]);
        assert_string_equal(cpu_mask_format(&mask, text), good[i]);
    }
    for (size_t i = 0; i < ELEMENTS(bad); i++)
        assert_int_equal(cpu_mask_parse(bad[i], &mask), -EINVAL);
    assert_int_equal(cpu_mask_parse("2-3\n", &mask), 0);
    assert_int_equal(cpu_mask_count(&mask), 2);
    for (unsigned cpu = 0; cpu < CPU_MASK_MAX; cpu += 2)
        cpu_mask_set(&all, cpu);
    assert_int_equal(cpu_mask_parse(cpu_mask_format(&all, text), &mask), 0); /* the longest one */
    assert_memory_equal(&mask, &all, sizeof all);
    cpu_mask_set(&mask, CPU_MASK_MAX);
    assert_false(cpu_mask_has(&mask, CPU_MASK_MAX));
}

TEST(test_only_whole_cores_are_wanted)
{
    assert_int_equal(cpu_pins_wanted(0), 0);
    assert_int_equal(cpu_pins_wanted(500), 0);
    assert_int_equal(cpu_pins_wanted(1000), 1);
    assert_int_equal(cpu_pins_wanted(1500), 0);
    assert_int_equal(cpu_pins_wanted(64000), 64);
    assert_int_equal(cpu_pins_wanted(UINT64_C(2000) * CPU_MASK_MAX), 0);
}

TEST(test_one_node_if_it_can_be)
{
    struct cpu_topology t;

    machine(2, 4, 1, true, &t);
    assert_string_equal(choose(&t, "", 4, CPU_NUMA_NONE), "0-3");
    assert_string_equal(choose(&t, "", 2, 1), "4-5"); /* where its GPUs are */
    assert_string_equal(choose(&t, "0", 4, CPU_NUMA_NONE), "4-7");
    assert_string_equal(choose(&t, "0-1", 2, CPU_NUMA_NONE),
                        "2-3");                          /* leaves the other one whole */
    assert_string_equal(choose(&t, "4-6", 2, 1), "0-1"); /* one far node rather than two */
    assert_string_equal(choose(&t, "0,4-5", 5, CPU_NUMA_NONE), "1-3,6-7");
    assert_string_equal(choose(&t, "0-1,4", 5, 1), "2-3,5-7");
    assert_string_equal(choose(&t, "", 8, CPU_NUMA_NONE), "0-7");
    assert_string_equal(choose(&t, "3", 8, CPU_NUMA_NONE), "none");
    assert_string_equal(choose(&t, "", 9, CPU_NUMA_NONE), "none");
    assert_string_equal(choose(&t, "0-1", 1, 7), "2"); /* there is no such node */
}

TEST(test_threads_of_a_core_stay_together)
{
    struct cpu_topology t;

    machine(1, 4, 2, false, &t); /* 0 and 4 are one core */
    assert_string_equal(choose(&t, "", 2, CPU_NUMA_NONE), "0,4");
    assert_string_equal(choose(&t, "", 4, CPU_NUMA_NONE), "0-1,4-5");
    assert_string_equal(choose(&t, "", 3, CPU_NUMA_NONE), "0-1,4");
    assert_string_equal(choose(&t, "0-1,4", 1, CPU_NUMA_NONE), "5"); /* the broken one */
    assert_string_equal(choose(&t, "0", 3, CPU_NUMA_NONE), "1,4-5");
    assert_string_equal(choose(&t, "0-3", 2, CPU_NUMA_NONE), "4-5");
    machine(2, 2, 2, true, &t); /* 0 and 1 are one core */
    assert_string_equal(choose(&t, "0", 2, CPU_NUMA_NONE), "2-3");
    assert_string_equal(choose(&t, "0,2", 2, CPU_NUMA_NONE), "1,3"); /* the node before the core */
}

static uint32_t random_next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (uint32_t)(*seed >> 33);
}

/* No CPU has two owners, each owner has what was wanted, and what is free can be had. */
TEST(test_any_order_of_coming_and_going)
{
    struct cpu_mask owned[16] = { 0 };
    struct cpu_topology t;
    uint64_t seed = 7;

    machine(2, 8, 2, false, &t);
    for (unsigned round = 0; round < 20000; round++) {
        struct cpu_mask *own = &owned[random_next(&seed) % ELEMENTS(owned)];
        unsigned n = 1 + random_next(&seed) % 12;
        uint16_t numa = random_next(&seed) % 2 ? CPU_NUMA_NONE : (uint16_t)(random_next(&seed) % 2);
        struct cpu_mask taken = { 0 }, chosen;
        unsigned before, free;

        if (cpu_mask_count(own) > 0) {
            *own = (struct cpu_mask){ 0 };
            continue;
        }
        for (size_t i = 0; i < ELEMENTS(owned); i++)
            cpu_mask_add(&taken, &owned[i]);
        before = cpu_mask_count(&taken);
        free = (unsigned)t.n - before;
        assert_int_equal(cpu_pins_choose(&t, &taken, n, numa, &chosen), n <= free);
        if (n > free)
            continue;
        assert_int_equal(cpu_mask_count(&chosen), n);
        cpu_mask_add(&taken, &chosen);
        assert_int_equal(cpu_mask_count(&taken), before + n);
        *own = chosen;
    }
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static void write_file(const char *root, const char *folder, const char *name, const char *text)
{
    char path[256];
    FILE *file;

    for (const char *p = folder; (p = strchr(p, '/')) != NULL; p++) {
        (void)snprintf(path, sizeof path, "%s%.*s", root, (int)(p - folder), folder);
        (void)mkdir(path, 0700);
    }
    (void)snprintf(path, sizeof path, "%s%s", root, folder);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

TEST(test_topology_is_read)
{
    char root[] = "/tmp/edl-test-cpu-pins-XXXXXX";
    struct cpu_mask allowed = mask_of("0,2-4");
    struct cpu_topology t;

    assert_non_null(mkdtemp(root));
    write_file(root, "/sys/devices/system/node/node0", "cpulist", "0-1\n");
    write_file(root, "/sys/devices/system/node/node1", "cpulist", "2-3\n");
    for (unsigned cpu = 0; cpu < 4; cpu++) {
        char folder[80];

        (void)snprintf(folder, sizeof folder, "/sys/devices/system/cpu/cpu%u/topology", cpu);
        write_file(root, folder, "core_id", "0\n");
        write_file(root, folder, "physical_package_id", cpu < 2 ? "0\n" : "1\n");
    }
    cpu_topology_read(root, &allowed, &t);
    assert_int_equal(t.n, 4);
    assert_int_equal(t.places[1].cpu, 2);
    assert_int_equal(t.places[1].numa, 1);
    assert_int_equal(t.places[1].core, t.places[2].core);
    assert_int_not_equal(t.places[0].core, t.places[1].core); /* of another package */
    assert_int_equal(t.places[3].cpu, 4);
    assert_int_equal(t.places[3].numa, 0);
    assert_int_not_equal(t.places[3].core, t.places[0].core); /* not told of: one of its own */
    assert_int_equal(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}
