/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.h - GPUs of this machine, asked of NVIDIA's management library (the one of nvidia-smi)
 *
 * The library is loaded if it is there (dlopen): nothing of it is needed to build or to run. A call
 * may take tens of milliseconds, and for ever when a device has fallen off the bus; only edl-prober
 * makes them. */
#pragma once

#include <jansson.h>

#define NVML_GPUS_MAX 64
#define NVML_PROCESSES_MAX 256 /* of one device; with more of them it counts as broken */

struct edl_error;
struct nvml;

/* nvml_open - library: NULL for libnvidia-ml.so.1. *ret NULL: there is none; -EIO: it does not work
 * (another version than the driver, no permission) */
int nvml_open(const char *library, struct nvml **ret, struct edl_error *error);

/* nvml_gpus - new array by PCI bus id, as nvidia-smi and CUDA_DEVICE_ORDER=PCI_BUS_ID count:
 * pci_bus_id, uuid, name, minor (of /dev/nvidia*), numa, memory_total_bytes, memory_used_bytes,
 * utilisation_ppm, and processes (pid, user, memory_bytes); what the library does not tell is left
 * out. -EIO: it does not work any more. */
int nvml_gpus(struct nvml *nvml, json_t **ret, struct edl_error *error);

/* nvml_versions - new object: driver, nvml; what is not told is left out */
json_t *nvml_versions(const struct nvml *nvml);
