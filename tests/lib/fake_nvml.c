/* SPDX-License-Identifier: Apache-2.0 */
/* fake_nvml.c - for tests: a libnvidia-ml.so.1 with the GPUs of a file
 *
 * EDL_TEST_NVML names the file, which is read again whenever the devices are counted:
 *   gpu BUS_ID UUID TOTAL_BYTES USED_BYTES UTILISATION_PERCENT   one device, in any order
 *   process UUID PID BYTES                                       one that uses it
 *   broken                                                       every call fails from now on
 *   hang                                                         the call does not come back
 * Of the published interface it has what edl-prober calls. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GPUS_MAX 8
#define PROCESSES_MAX 32
#define FAILED 999
#define INVALID 2
#define TOO_SMALL 7

struct gpu {
    char bus_id[32], uuid[64];
    unsigned long long total, used;
    unsigned percent;
};
static struct gpu gpus[GPUS_MAX];
static unsigned n_gpus;
static struct {
    char uuid[64];
    unsigned pid;
    unsigned long long bytes;
} processes[PROCESSES_MAX];
static unsigned n_processes;
static bool broken;

/* what the caller declares for itself as well */
struct pci_info {
    char legacy[16];
    unsigned numbers[5];
    char bus_id[32];
};
struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct memory {
    unsigned long long total, free, used;
};
struct process_info {
    unsigned pid;
    unsigned long long bytes;
    unsigned instances[2];
};

static void take_line(const char *line)
{
    struct gpu *gpu = &gpus[n_gpus];

    if (n_gpus < GPUS_MAX && sscanf(line, "gpu %31s %63s %llu %llu %u", gpu->bus_id, gpu->uuid,
                                    &gpu->total, &gpu->used, &gpu->percent) == 5)
        n_gpus++;
    else if (n_processes < PROCESSES_MAX &&
             sscanf(line, "process %63s %u %llu", processes[n_processes].uuid,
                    &processes[n_processes].pid, &processes[n_processes].bytes) == 3)
        n_processes++;
    else if (strncmp(line, "broken", 6) == 0)
        broken = true;
    else if (strncmp(line, "hang", 4) == 0)
        for (;;)
            (void)pause();
}

static void look(void)
{
    const char *path = getenv("EDL_TEST_NVML");
    FILE *f = path != NULL ? fopen(path, "re") : NULL;
    char line[256];

    n_gpus = 0;
    n_processes = 0;
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        take_line(line);
    if (f != NULL)
        (void)fclose(f);
}

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    look();
    return broken ? FAILED : 0;
}

const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result)
{
    return result == FAILED ? "Unknown Error" : "Invalid Argument";
}

int nvmlSystemGetDriverVersion(char *text, unsigned size);
int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    (void)snprintf(text, size, "535.129.03");
    return 0;
}

int nvmlSystemGetNVMLVersion(char *text, unsigned size);
int nvmlSystemGetNVMLVersion(char *text, unsigned size)
{
    (void)snprintf(text, size, "12.535.129.03");
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *ret);
int nvmlDeviceGetCount_v2(unsigned *ret)
{
    look();
    *ret = n_gpus;
    return broken ? FAILED : 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret)
{
    *ret = &gpus[index];
    return index < n_gpus ? 0 : INVALID;
}

int nvmlDeviceGetPciInfo_v3(const struct gpu *gpu, struct pci_info *ret);
int nvmlDeviceGetPciInfo_v3(const struct gpu *gpu, struct pci_info *ret)
{
    (void)memset(ret, 0, sizeof *ret);
    (void)memcpy(ret->bus_id, gpu->bus_id, sizeof ret->bus_id);
    return 0;
}

int nvmlDeviceGetMinorNumber(const struct gpu *gpu, unsigned *ret);
int nvmlDeviceGetMinorNumber(const struct gpu *gpu, unsigned *ret)
{
    *ret = (unsigned)(gpu - gpus); /* as the driver found them: not the order of the bus */
    return 0;
}

int nvmlDeviceGetUUID(const struct gpu *gpu, char *text, unsigned size);
int nvmlDeviceGetUUID(const struct gpu *gpu, char *text, unsigned size)
{
    (void)snprintf(text, size, "%s", gpu->uuid);
    return 0;
}

int nvmlDeviceGetName(const struct gpu *gpu, char *text, unsigned size);
int nvmlDeviceGetName(const struct gpu *gpu, char *text, unsigned size)
{
    (void)gpu;
    (void)snprintf(text, size, "Test GPU");
    return 0;
}

int nvmlDeviceGetMemoryInfo(const struct gpu *gpu, struct memory *ret);
int nvmlDeviceGetMemoryInfo(const struct gpu *gpu, struct memory *ret)
{
    (void)gpu;
    (void)memset(ret, 0, sizeof *ret);
    return FAILED; /* the newer one is to be called */
}

int nvmlDeviceGetMemoryInfo_v2(const struct gpu *gpu, struct memory_v2 *ret);
int nvmlDeviceGetMemoryInfo_v2(const struct gpu *gpu, struct memory_v2 *ret)
{
    if (ret->version != (sizeof *ret | 2U << 24))
        return INVALID;
    ret->total = gpu->total;
    ret->used = gpu->used;
    return 0;
}

int nvmlDeviceGetUtilizationRates(const struct gpu *gpu, unsigned *ret);
int nvmlDeviceGetUtilizationRates(const struct gpu *gpu, unsigned *ret)
{
    ret[0] = gpu->percent;
    ret[1] = 0;
    return gpu->percent <= 100 ? 0 : FAILED;
}

int nvmlDeviceGetComputeRunningProcesses_v3(const struct gpu *gpu, unsigned *n,
                                            struct process_info *list);
int nvmlDeviceGetComputeRunningProcesses_v3(const struct gpu *gpu, unsigned *n,
                                            struct process_info *list)
{
    unsigned room = *n;

    *n = 0;
    for (unsigned i = 0; i < n_processes; i++) {
        if (strcmp(processes[i].uuid, gpu->uuid) != 0)
            continue;
        if (*n < room) {
            list[*n].pid = processes[i].pid;
            list[*n].bytes = processes[i].bytes;
        }
        ++*n;
    }
    return *n <= room ? 0 : TOO_SMALL;
}

/* The same once more: whoever computes and draws is in both lists. */
int nvmlDeviceGetGraphicsRunningProcesses_v3(const struct gpu *gpu, unsigned *n,
                                             struct process_info *list);
int nvmlDeviceGetGraphicsRunningProcesses_v3(const struct gpu *gpu, unsigned *n,
                                             struct process_info *list)
{
    return nvmlDeviceGetComputeRunningProcesses_v3(gpu, n, list);
}
