/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - load, pressure, network interfaces and disks of this machine; see machine.h */
#include "agent/machine/machine.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/layout.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define NAMES_MAX 256 /* interfaces that are looked at */

/* ---- load ---- */

static json_t *load_milli(const char *root)
{
    _cleanup_free_ char *path = text_format("%s/proc/loadavg", root);
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    unsigned whole[3], hundredths[3];

    if (f == NULL || fscanf(f, "%u.%2u %u.%2u %u.%2u", &whole[0], &hundredths[0], &whole[1],
                            &hundredths[1], &whole[2], &hundredths[2]) != 6)
        return NULL;
    return json_pack("[I,I,I]", (json_int_t)whole[0] * 1000 + hundredths[0] * 10,
                     (json_int_t)whole[1] * 1000 + hundredths[1] * 10,
                     (json_int_t)whole[2] * 1000 + hundredths[2] * 10);
}

static json_t *memory_available(const char *root)
{
    _cleanup_free_ char *path = text_format("%s/proc/meminfo", root);
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    char line[160];
    uint64_t kib;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1 && kib <= INT64_MAX / 1024)
            return json_integer((json_int_t)kib * 1024);
    return NULL;
}

/* A kernel without it has no such file; one that was started with psi=0 cannot read it. */
static json_t *pressure_of(const char *root, const char *what)
{
    _cleanup_free_ char *path = text_format("%s/proc/pressure/%s", root, what);
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    json_t *json = NULL;
    char line[160], kind[8], key[12];
    unsigned percent, hundredths;

    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, "%7s avg10=%u.%2u", kind, &percent, &hundredths) != 3)
            continue;
        if (json == NULL)
            json = json_object();
        (void)snprintf(key, sizeof key, "%.4s_ppm", kind);
        (void)json_object_set_new(json, key, json_integer(percent * 10000 + hundredths * 100));
    }
    return json;
}

static void set(json_t *object, const char *key, json_t *take_value)
{
    if (take_value != NULL)
        (void)json_object_set_new(object, key, take_value);
}

json_t *machine_load(const char *root)
{
    static const char *const resources[] = { "cpu", "memory", "io" };
    json_t *json = json_object(), *pressure = json_object();

    set(json, "load_milli", load_milli(root));
    set(json, "memory_available_bytes", memory_available(root));
    for (size_t i = 0; i < ELEMENTS(resources); i++)
        set(pressure, resources[i], pressure_of(root, resources[i]));
    if (json_object_size(pressure) > 0)
        set(json, "pressure", json_incref(pressure));
    json_decref(pressure);
    return json;
}

/* ---- network interfaces ---- */

/* read_number - of /sys/class/net/NIC/FILE; speed cannot be read while there is no link, and is -1
 * where there is none to tell */
static bool read_number(const char *root, const char *nic, const char *file, uint64_t *ret)
{
    _cleanup_free_ char *path = text_format("%s/sys/class/net/%s/%s", root, nic, file);
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    int64_t value;

    if (f == NULL || fscanf(f, "%" SCNd64, &value) != 1 || value < 0)
        return false;
    *ret = (uint64_t)value;
    return true;
}

static json_t *nic_json(const char *root, const char *nic)
{
    uint64_t received = 0, sent = 0, speed;
    json_t *json;

    (void)read_number(root, nic, "statistics/rx_bytes", &received);
    (void)read_number(root, nic, "statistics/tx_bytes", &sent);
    json = json_pack("{s:s,s:I,s:I}", "name", nic, "received_bytes", (json_int_t)received,
                     "sent_bytes", (json_int_t)sent);
    if (json != NULL && read_number(root, nic, "speed", &speed))
        set(json, "speed_mbit_per_s", json_integer((json_int_t)speed));
    return json;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t list_nics(const char *root, char *names[NAMES_MAX])
{
    _cleanup_free_ char *path = text_format("%s/sys/class/net", root);
    _cleanup_closedir_ DIR *dir = opendir(path);
    const struct dirent *entry;
    size_t n = 0;

    while (dir != NULL && n < NAMES_MAX && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.' && !streq(entry->d_name, "lo"))
            names[n++] = xstrdup(entry->d_name);
    qsort(names, n, sizeof *names, compare_names);
    return n;
}

static bool has_device(const char *root, const char *nic)
{
    _cleanup_free_ char *path = text_format("%s/sys/class/net/%s/device", root, nic);

    return access(path, F_OK) == 0;
}

json_t *machine_nics(const char *root)
{
    json_t *real = json_array(), *all = json_array();
    char *names[NAMES_MAX];
    size_t n = list_nics(root, names);

    for (size_t i = 0; i < n; i++) {
        json_t *list = has_device(root, names[i]) ? real : all;

        if (json_array_size(list) < MACHINE_NICS_MAX)
            (void)json_array_append_new(list, nic_json(root, names[i]));
        free(names[i]);
    }
    if (json_array_size(real) > 0) {
        json_decref(all);
        return real;
    }
    json_decref(real);
    return all;
}

/* ---- disks ---- */

json_t *machine_disks(const struct machine_disk *disks, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++) {
        struct statvfs fs;
        uint64_t free_bytes, size_bytes;

        if (statvfs(disks[i].path, &fs) == -1)
            continue;
        free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
        if (fs.f_files > 0 && fs.f_favail == 0) /* no file can be made there */
            free_bytes = 0;
        size_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
        (void)json_array_append_new(array, json_pack("{s:s,s:I,s:I}", "name", disks[i].name,
                                                     "free_bytes", (json_int_t)free_bytes,
                                                     "size_bytes", (json_int_t)size_bytes));
    }
    return array;
}
