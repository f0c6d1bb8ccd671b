/* SPDX-License-Identifier: Apache-2.0 */
/* judge_gpus.c - GPUs, their driver and its library */
#include "agent/doctor/facts.h"
#include "shared/macro.h"

static void judge_library(const struct gpu_facts *facts, struct findings *ret)
{
    if (facts->is_given && facts->given > facts->n) {
        found_warning(ret, "gpus", "agent.conf offers %llu GPUs, and the driver knows %u",
                      (unsigned long long)facts->given, facts->n);
        found_remedy(ret, "leave gpus out of agent.conf; or look for the missing ones: nvidia-smi,"
                          " dmesg | grep -i nvrm");
        return;
    }
    if (facts->on_bus > facts->n) {
        found_warning(ret, "gpus", "%u NVIDIA devices are on the bus, and the driver knows %u",
                      facts->on_bus, facts->n);
        found_remedy(ret, "nvidia-smi; dmesg | grep -i nvrm");
        return;
    }
    found_ok(ret, "gpus", "%u, driver %s, NVML %s", facts->n,
             facts->driver[0] != '\0' ? facts->driver : "of unknown version",
             facts->nvml[0] != '\0' ? facts->nvml : "of unknown version");
}

static void judge_without(const struct gpu_facts *facts, struct findings *ret)
{
    if (facts->on_bus > 0 && facts->module[0] == '\0') {
        found_warning(ret, "gpus", "%u NVIDIA devices are on the bus, and no driver is loaded",
                      facts->on_bus);
        found_remedy(ret,
                     "apt-get install nvidia-driver (Debian: component non-free), then reboot");
    } else if (facts->on_bus > 0 || facts->module[0] != '\0') {
        found_warning(ret, "gpus", "the driver %s is loaded, and its library (NVML) is missing",
                      facts->module);
        found_remedy(ret, "apt-get install libnvidia-ml1, of the same version");
    } else if (facts->is_given && facts->given > 0) {
        found_ok(ret, "gpus", "%llu as agent.conf says; nothing more is known of them",
                 (unsigned long long)facts->given);
    } else {
        found_ok(ret, "gpus", "none");
    }
}

void judge_gpus(const struct doctor_facts *all, struct findings *ret)
{
    const struct gpu_facts *facts = &all->gpus;

    if (facts->prober_missing) {
        found_problem(ret, "gpus", "edl-prober cannot be started: %s", facts->complaint);
        found_remedy(ret, "it belongs beside edl-agent: install the package anew");
    } else if (facts->timed_out) {
        found_problem(ret, "gpus", "the driver or a disk does not answer");
        found_remedy(ret, "nvidia-smi; dmesg | tail; a driver that hangs needs a reboot");
    } else if (facts->complaint[0] != '\0') {
        found_problem(ret, "gpus", "%s", facts->complaint);
        found_remedy(ret,
                     "nvidia-smi; when driver and library are of two versions (%s is loaded):"
                     " reboot",
                     facts->module[0] != '\0' ? facts->module : "none");
    } else if (facts->has_nvml) {
        judge_library(facts, ret);
    } else {
        judge_without(facts, ret);
    }
}
