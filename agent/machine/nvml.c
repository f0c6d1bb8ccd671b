/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.c - see nvml.h
 *
 * The types are those of NVIDIA's published binary interface, whose functions never change: a new
 * shape gets a new name (_v2, _v3). The newest that there is is called. */
#include "agent/machine/nvml.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/layout.h"
#include "shared/account_name.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define SUCCESS 0
#define INSUFFICIENT_SIZE 7
#define TEXT_SIZE 96
#define ROOM_FIRST 16U /* processes of a device */

typedef void *device_t;

struct pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};
struct memory {
    unsigned long long total, free, used;
};
struct memory_v2 { /* used is without what the driver keeps for itself */
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct utilization {
    unsigned gpu, memory; /* percent */
};
struct process_info { /* _v2 and _v3 */
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};
#define MEMORY_V2 (sizeof(struct memory_v2) | 2U << 24)

typedef int processes_fn(device_t device, unsigned *n, struct process_info *list);

struct nvml {
    void *library; /* never closed: what it started lives on in this process */
    int (*init)(void);
    const char *(*error_string)(int result);
    int (*get_count)(unsigned *ret);
    int (*get_handle)(unsigned index, device_t *ret);
    int (*get_pci)(device_t device, struct pci_info *ret);
    int (*get_minor)(device_t device, unsigned *ret);
    int (*get_uuid)(device_t device, char *text, unsigned size);
    int (*get_name)(device_t device, char *text, unsigned size);
    int (*get_memory)(device_t device, struct memory *ret);
    int (*get_memory_v2)(device_t device, struct memory_v2 *ret); /* NULL: older */
    int (*get_utilization)(device_t device, struct utilization *ret);
    processes_fn *get_compute, *get_graphics;
    int (*get_driver)(char *text, unsigned size);  /* NULL: not there */
    int (*get_version)(char *text, unsigned size); /* the same; of the library */
};

/* Those with two names are looked for by the newer one first. */
static const struct {
    size_t at;
    const char *name, *older; /* NULL: no other name */
    bool optional;
} functions[] = {
    { offsetof(struct nvml, init), "nvmlInit_v2", NULL, false },
    { offsetof(struct nvml, error_string), "nvmlErrorString", NULL, false },
    { offsetof(struct nvml, get_count), "nvmlDeviceGetCount_v2", NULL, false },
    { offsetof(struct nvml, get_handle), "nvmlDeviceGetHandleByIndex_v2", NULL, false },
    { offsetof(struct nvml, get_pci), "nvmlDeviceGetPciInfo_v3", NULL, false },
    { offsetof(struct nvml, get_minor), "nvmlDeviceGetMinorNumber", NULL, false },
    { offsetof(struct nvml, get_uuid), "nvmlDeviceGetUUID", NULL, false },
    { offsetof(struct nvml, get_name), "nvmlDeviceGetName", NULL, false },
    { offsetof(struct nvml, get_memory), "nvmlDeviceGetMemoryInfo", NULL, false },
    { offsetof(struct nvml, get_memory_v2), "nvmlDeviceGetMemoryInfo_v2", NULL, true },
    { offsetof(struct nvml, get_utilization), "nvmlDeviceGetUtilizationRates", NULL, false },
    { offsetof(struct nvml, get_compute), "nvmlDeviceGetComputeRunningProcesses_v3",
      "nvmlDeviceGetComputeRunningProcesses_v2", false },
    { offsetof(struct nvml, get_graphics), "nvmlDeviceGetGraphicsRunningProcesses_v3",
      "nvmlDeviceGetGraphicsRunningProcesses_v2", false },
    { offsetof(struct nvml, get_driver), "nvmlSystemGetDriverVersion", NULL, true },
    { offsetof(struct nvml, get_version), "nvmlSystemGetNVMLVersion", NULL, true },
};

static int failed(const struct nvml *nvml, int result, const char *what, struct edl_error *error)
{
    return edl_error_set(error, -EIO, "NVML cannot %s: %.120s", what, nvml->error_string(result));
}

int nvml_open(const char *library, struct nvml **ret, struct edl_error *error)
{
    _cleanup_free_ struct nvml *nvml = xcalloc(1, sizeof *nvml);
    int result;

    *ret = NULL;
    nvml->library = dlopen(library != NULL ? library : "libnvidia-ml.so.1", RTLD_NOW);
    if (nvml->library == NULL)
        return 0;
    for (size_t i = 0; i < ELEMENTS(functions); i++) {
        void *function = dlsym(nvml->library, functions[i].name);

        if (function == NULL && functions[i].older != NULL)
            function = dlsym(nvml->library, functions[i].older);
        if (function == NULL && !functions[i].optional)
            return edl_error_set(error, -EIO, "NVML of this driver has no %s", functions[i].name);
        (void)memcpy((char *)nvml + functions[i].at, &function, sizeof function);
    }
    result = nvml->init();
    if (result != SUCCESS)
        return failed(nvml, result, "start", error);
    *ret = TAKE_PTR(nvml);
    return 0;
}

static void set(json_t *object, const char *key, unsigned long long value)
{
    if (value <= INT64_MAX) /* the largest number of all stands for "not available" */
        (void)json_object_set_new(object, key, json_integer((json_int_t)value));
}

/* numa_of - of a device at 00000000:3B:00.0, which is 0000:3b:00.0 in sysfs; -1: it has none */
static int numa_of(const char *bus_id)
{
    size_t length = strlen(bus_id);
    _cleanup_free_ char *path = text_format("/sys/bus/pci/devices/%s/numa_node",
                                            length > 12 ? bus_id + length - 12 : bus_id);
    _cleanup_fclose_ FILE *f = NULL;
    int numa = -1;

    for (char *p = path; *p != '\0'; p++)
        *p = (char)tolower((unsigned char)*p);
    f = fopen(path, "re");
    return f != NULL && fscanf(f, "%d", &numa) == 1 ? numa : -1;
}

/* user_of - name or number of who runs it, the number also where nobody can have such a name; NULL
 * when it is gone */
static char *user_of(unsigned pid)
{
    _cleanup_free_ char *path = text_format("/proc/%u", pid);
    const struct passwd *account;
    struct stat st;

    if (stat(path, &st) == -1)
        return NULL;
    account = getpwuid(st.st_uid);
    return account != NULL && account_name_valid(account->pw_name)
               ? xstrdup(account->pw_name)
               : text_format("%u", (unsigned)st.st_uid);
}

static bool is_listed(const json_t *array, unsigned pid)
{
    const json_t *process;
    size_t i;

    json_array_foreach(array, i, process)
    {
        if (json_integer_value(json_object_get(process, "pid")) == (json_int_t)pid)
            return true;
    }
    return false;
}

/* read_processes - all of them, freed by the caller; the library says how many there are when the
 * room is too small */
static int read_processes(processes_fn *get, device_t device, struct process_info **ret,
                          unsigned *ret_n)
{
    unsigned room = ROOM_FIRST;

    for (;;) {
        _cleanup_free_ struct process_info *list = xcalloc(room, sizeof *list);
        unsigned n = room;
        int result = get(device, &n, list);

        if (result == INSUFFICIENT_SIZE && room < NVML_PROCESSES_MAX) {
            room = MIN_OF(MAX_OF(n, room) * 2, (unsigned)NVML_PROCESSES_MAX);
            continue;
        }
        *ret_n = MIN_OF(n, room);
        *ret = TAKE_PTR(list);
        return result;
    }
}

/* add_processes - one that computes and draws is told once */
static int add_processes(processes_fn *get, device_t device, json_t *array)
{
    _cleanup_free_ struct process_info *list = NULL;
    unsigned n;
    int result = read_processes(get, device, &list, &n);

    for (unsigned i = 0; result == SUCCESS && i < n; i++) {
        _cleanup_free_ char *user = user_of(list[i].pid);
        json_t *process;

        if (is_listed(array, list[i].pid))
            continue;
        process = json_pack("{s:I,s:s}", "pid", (json_int_t)list[i].pid, "user",
                            user != NULL ? user : "");
        set(process, "memory_bytes", list[i].used_bytes);
        (void)json_array_append_new(array, process);
    }
    return result;
}

static void add_memory(const struct nvml *nvml, device_t device, json_t *json)
{
    struct memory_v2 memory = { .version = MEMORY_V2 };
    struct memory older;

    if (nvml->get_memory_v2 == NULL || nvml->get_memory_v2(device, &memory) != SUCCESS) {
        if (nvml->get_memory(device, &older) != SUCCESS)
            return;
        memory.total = older.total;
        memory.used = older.used;
    }
    set(json, "memory_total_bytes", memory.total);
    set(json, "memory_used_bytes", memory.used);
}

static int add_gpu(const struct nvml *nvml, unsigned index, json_t *array)
{
    char uuid[TEXT_SIZE] = "", name[TEXT_SIZE] = "";
    struct utilization utilization;
    struct pci_info pci;
    device_t device;
    json_t *json, *processes;
    unsigned minor;
    int numa;
    int result = nvml->get_handle(index, &device);

    if (result == SUCCESS)
        result = nvml->get_pci(device, &pci);
    if (result == SUCCESS)
        result = nvml->get_uuid(device, uuid, sizeof uuid);
    if (result != SUCCESS)
        return result;
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    (void)nvml->get_name(device, name, sizeof name);
    processes = json_array();
    json = json_pack("{s:s,s:s,s:s,s:o}", "pci_bus_id", pci.bus_id, "uuid", uuid, "name", name,
                     "processes", processes);
    (void)json_array_append_new(array, json);
    if (nvml->get_minor(device, &minor) == SUCCESS)
        set(json, "minor", minor);
    numa = numa_of(pci.bus_id);
    if (numa >= 0)
        set(json, "numa", (unsigned long long)numa);
    add_memory(nvml, device, json);
    if (nvml->get_utilization(device, &utilization) == SUCCESS)
        set(json, "utilisation_ppm", MIN_OF(utilization.gpu, 100U) * 10000ULL);
    result = add_processes(nvml->get_compute, device, processes);
    return result == SUCCESS ? add_processes(nvml->get_graphics, device, processes) : result;
}

static int compare_bus_ids(const void *a, const void *b)
{
    const char *x = json_string_value(json_object_get(*(json_t *const *)a, "pci_bus_id"));
    const char *y = json_string_value(json_object_get(*(json_t *const *)b, "pci_bus_id"));

    return strcmp(x, y);
}

static json_t *sorted(json_t *take_array)
{
    size_t n = json_array_size(take_array);
    _cleanup_free_ json_t **list = xcalloc(n, sizeof *list);
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        list[i] = json_array_get(take_array, i);
    qsort(list, n, sizeof *list, compare_bus_ids);
    for (size_t i = 0; i < n; i++)
        (void)json_array_append(array, list[i]);
    json_decref(take_array);
    return array;
}

int nvml_gpus(struct nvml *nvml, json_t **ret, struct edl_error *error)
{
    json_t *array = json_array();
    unsigned n = 0;
    int result = nvml->get_count(&n);

    for (unsigned i = 0; result == SUCCESS && i < MIN_OF(n, (unsigned)NVML_GPUS_MAX); i++)
        result = add_gpu(nvml, i, array);
    if (result != SUCCESS) {
        json_decref(array);
        return failed(nvml, result, "tell of the GPUs", error);
    }
    *ret = sorted(array);
    return 0;
}

json_t *nvml_versions(const struct nvml *nvml)
{
    char driver[TEXT_SIZE] = "", version[TEXT_SIZE] = "";
    json_t *json = json_object();

    if (nvml->get_driver != NULL && nvml->get_driver(driver, sizeof driver) == SUCCESS)
        (void)json_object_set_new(json, "driver", json_string(driver));
    if (nvml->get_version != NULL && nvml->get_version(version, sizeof version) == SUCCESS)
        (void)json_object_set_new(json, "nvml", json_string(version));
    return json;
}
