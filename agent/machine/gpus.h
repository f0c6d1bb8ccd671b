/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.h - the GPUs of this node: how many, where, and which processes are on them
 *
 * As edl-prober tells of them (NVML), or, on a machine without that, as many as the command line
 * says, of which nothing more is known. A process on a device that was not granted to it is a
 * stranger: the device is not free until it has left. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct agent_options;
struct labels;

struct gpus {
    uint64_t most; /* so many are offered, if there are so many; UINT64_MAX: all that there are */
    uint64_t n;    /* offered */
    uint8_t numa[64];
    bool numa_given;    /* by the command line */
    json_t *devices;    /* owned; as told last, with strangers only; NULL: never told */
    bool lost;          /* told once, and not by the last answer: nobody knows who is on them */
    uint64_t foreign;   /* mask of the devices that strangers are on */
    uint64_t looked_us; /* boot time of the last answer */
    uint64_t idle_since_us[64]; /* boot time since when a device was seen to do nothing; 0: it
                                   works, or does not tell */
};

/* gpus_is_ours_fn - whether a process is of one of ours that was granted the device */
typedef bool (*gpus_is_ours_fn)(pid_t pid, unsigned device, void *userdata);

void gpus_init(struct gpus *gpus, const struct agent_options *options);
void gpus_done(struct gpus *gpus);

/* gpus_take - an answer of the prober; true: the offer or the free devices are others now */
bool gpus_take(struct gpus *gpus, const json_t *answer, uint64_t now_us, gpus_is_ours_fn is_ours,
               void *userdata);

/* gpus_idle - the devices that have done nothing at each look since then; none while nobody tells
 * (known: the prober is well) */
uint64_t gpus_idle(const struct gpus *gpus, bool known, uint64_t since_us);

/* gpus_label - adds gpu-type: what the devices that are offered are called, as a label's value
 * (NVIDIA-H200); nothing when they are of several kinds, or nobody tells, or there is such a label
 * already, or no room for one more: what is told of a node otherwise comes before it */
void gpus_label(const struct gpus *gpus, struct labels *labels);

/* gpus_foreign - the devices that are not free for a reason of the machine; all of them while
 * nobody tells (known: the prober is well) */
uint64_t gpus_foreign(const struct gpus *gpus, bool known);

/* gpus_are_watched - whether anybody tells who is on them */
bool gpus_are_watched(const struct gpus *gpus);

/* gpus_missing - those of the mask that there are not */
uint64_t gpus_missing(const struct gpus *gpus, uint64_t mask);

/* gpus_name - the order (new reference) with its devices by what they are called:
 * CUDA_VISIBLE_DEVICES by UUID, which means the same also where others cannot be opened, and
 * gpu_minors, the numbers of /dev/nvidia*, which need not be the order of the bus. As it came where
 * nobody tells. */
json_t *gpus_name(const struct gpus *gpus, json_t *order);

/* gpus_of_order - the devices of an order, by EDL_GPUS of its environment, as a mask; what cannot
 * be read is left out (unit_plan.h refuses it) */
uint64_t gpus_of_order(const json_t *order);

/* gpus_are_alive - whether any of the strangers on these devices was found among the processes of
 * the machine. One that was not has ended, and its device has not noticed yet */
bool gpus_are_alive(const struct gpus *gpus, uint64_t mask);

/* gpus_say - who is on these devices, as a sentence: "GPU 1 is held by pid 4711 of alice"; ""
 * nobody */
void gpus_say(const struct gpus *gpus, uint64_t mask, char *text, size_t size);
