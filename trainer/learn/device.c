/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - which back-end of the kernels a trainer computes with */
#include "trainer/learn/device.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernels/plugin.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "trainer/network/plan.h"

#define PLUGIN "libedl-kernels-cuda.so"

static int open_cpu(struct device *ret, struct edl_error *error)
{
    (void)error;
    *ret = (struct device){ .backend = backend_cpu() };
    return ret->backend->start(0, ret->name, sizeof ret->name);
}

static int cannot_load(const char *path, struct edl_error *error)
{
    const char *why = dlerror();

    if (access(path, F_OK) < 0) {
        (void)edl_error_set(error, -ENOENT, "the CUDA back-end is not installed (%s)", path);
        (void)edl_error_remedy(error, "apt-get install edl-trainer-cuda, or --device cpu");
        return -ENOENT;
    }
    (void)edl_error_set(error, -ELIBACC, "the CUDA back-end cannot be loaded: %s",
                        why != NULL ? why : path);
    (void)edl_error_remedy(error, "install cuBLAS of the CUDA release that it was built with where "
                                  "ld.so(8) looks for it, or --device cpu");
    return -ELIBACC;
}

/* A table of another version must not be called: nothing but its first member is known then. */
static int check_abi(const char *path, const struct edl_backend *backend, struct edl_error *error)
{
    if (backend != NULL && backend->abi == EDL_KERNELS_ABI)
        return 0;
    if (backend == NULL)
        (void)edl_error_set(error, -ELIBBAD, "%s has no %s", path, EDL_KERNELS_SYMBOL);
    else
        (void)edl_error_set(error, -ELIBBAD,
                            "%s has version %u of the kernels' interface, this program %u", path,
                            backend->abi, EDL_KERNELS_ABI);
    (void)edl_error_remedy(error, "install edl-trainer and edl-trainer-cuda of the same version");
    return -ELIBBAD;
}

static int load(const struct edl_backend **ret, struct edl_error *error)
{
    const char *folder = getenv("EDL_KERNELS_DIR");
    char path[PATH_MAX];
    void *library;
    int r;

    if (folder == NULL || *folder == '\0')
        folder = EDL_KERNELS_DIR;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, PLUGIN) >= sizeof path)
        return edl_error_set(error, -ENAMETOOLONG, "EDL_KERNELS_DIR is too long: %s", folder);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return cannot_load(path, error);
    *ret = dlsym(library, EDL_KERNELS_SYMBOL);
    r = check_abi(path, *ret, error);
    if (r < 0)
        (void)dlclose(library);
    return r; /* it stays: the driver's libraries start threads, and are not made to be unloaded */
}

static int open_cuda(struct device *ret, struct edl_error *error)
{
    struct device device = { 0 };
    int r = load(&device.backend, error);

    if (r < 0)
        return r;
    r = device.backend->start(0, device.name, sizeof device.name);
    if (r < 0) {
        (void)edl_error_set(error, -ENODEV, "no GPU can be used: %s", device.name);
        (void)edl_error_remedy(error, "edl doctor says what is wrong with the driver; a job is "
                                      "granted GPUs by its resources; or --device cpu");
        return -ENODEV;
    }
    *ret = device;
    return 0;
}

/* The scheduler says it to each process; "" and, by CUDA's own rule, -1 hide all. */
static bool is_granted(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");

    return visible != NULL && *visible != '\0' && !streq(visible, "-1");
}

static int open_auto(struct device *ret, struct edl_error *error)
{
    struct edl_error why = { 0 };

    if (is_granted()) {
        if (open_cuda(ret, &why) == 0) {
            ret->is_choice = true;
            return 0;
        }
        log_warning("a GPU was granted, but the CPU is used: %s (%s)", why.text, why.remedy);
    }
    return open_cpu(ret, error);
}

int device_open(const char *wanted, struct device *ret, struct edl_error *error)
{
    static const struct {
        const char *name;
        int (*open)(struct device *ret, struct edl_error *error);
    } choices[] = { { "auto", open_auto }, { "cpu", open_cpu }, { "cuda", open_cuda } };

    for (size_t i = 0; i < ELEMENTS(choices); i++)
        if (streq(wanted, choices[i].name))
            return choices[i].open(ret, error);
    return edl_error_set(error, -EINVAL, "--device is \"%s\", not cpu, cuda or auto", wanted);
}

void device_close(struct device *device)
{
    if (device->backend != NULL)
        device->backend->stop();
    *device = (struct device){ 0 };
}

int device_backend_for(const struct device *device, const struct network *network,
                       const struct edl_backend **ret, struct edl_error *error)
{
    struct edl_error why = { 0 };
    int r;

    *ret = device != NULL ? device->backend : backend_cpu();
    r = plan_fits(network, *ret, &why);
    if (r < 0 && !device->is_choice) {
        *error = why;
        return r;
    }
    if (r < 0) {
        log_warning("a GPU was granted, but the CPU is used: %s", why.text);
        *ret = backend_cpu();
    }
    if (!(*ret)->host_memory)
        log_info("computing on %s: %s", (*ret)->name, device->name);
    return 0;
}
