/* SPDX-License-Identifier: Apache-2.0 */
/* fake_device.c - a back-end whose memory is not the program's, without a GPU
 *
 * Loaded in place of the CUDA one. It computes with the CPU's ops, to the last bit the same, but on
 * memory that can be touched only while an op runs: a program that mistakes the one memory for the
 * other ends there and then. EDL_TEST_DEVICE: "abi" another version of the interface, "absent" no
 * device, "small" 1 MiB of memory, "fails" after 1,000 ops. */
#include "kernels/kernels.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/cpu_ops.h"

#define ARENA_BYTES ((size_t)256 << 20)
#define SMALL_BYTES ((size_t)1 << 20)
#define OPS_BEFORE_FAILURE 1000

static struct {
    char *arena;
    size_t used, limit; /* bytes; what is released is used again when all is */
    unsigned long live, ops, ops_max;
    int failed;
} fake;

static int is_set(const char *what)
{
    const char *text = getenv("EDL_TEST_DEVICE");

    return text != NULL && strcmp(text, what) == 0;
}

static void complain(const char *what)
{
    (void)fprintf(stderr, "fake device: %s\n", what);
    abort();
}

static int is_ours(const void *p)
{
    return (const char *)p >= fake.arena && (const char *)p < fake.arena + ARENA_BYTES;
}

static void protect(int protection)
{
    if (fake.used > 0 && mprotect(fake.arena, fake.used, protection) < 0)
        complain("mprotect failed");
}

/* The pointers that an op was given, NULL at the end. 0: the device has failed, nothing is done. */
static int enter(const char *op, ...)
{
    va_list pointers;
    const void *p;

    va_start(pointers, op);
    while ((p = va_arg(pointers, const void *)) != NULL)
        if (!is_ours(p))
            complain(op);
    va_end(pointers);
    if (++fake.ops > fake.ops_max)
        fake.failed = 1;
    if (!fake.failed)
        protect(PROT_READ | PROT_WRITE);
    return !fake.failed;
}

static void leave(void)
{
    protect(PROT_NONE);
}

static int fake_start(int device, char *ret_text, size_t size)
{
    (void)device;
    if (is_set("absent")) {
        (void)snprintf(ret_text, size, "fakeInit: there is no device (FAKE_ERROR_NO_DEVICE, 100)");
        return -ENODEV;
    }
    if (fake.arena == NULL)
        fake.arena = mmap(NULL, ARENA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fake.arena == MAP_FAILED)
        complain("mmap failed");
    fake.used = fake.live = fake.ops = 0;
    fake.failed = 0;
    fake.limit = is_set("small") ? SMALL_BYTES : ARENA_BYTES;
    fake.ops_max = is_set("fails") ? OPS_BEFORE_FAILURE : ~0ul;
    (void)snprintf(ret_text, size, "fake device");
    return 0;
}

static void fake_stop(void)
{
    if (fake.live != 0)
        complain("memory was not released");
    (void)munmap(fake.arena, ARENA_BYTES);
    fake.arena = NULL;
}

static const char *fake_failure(void)
{
    return fake.failed ? "it was told to" : NULL;
}

static void *fake_allocate(size_t bytes)
{
    char *memory = fake.arena + fake.used;

    bytes = (bytes / 64 + 1) * 64; /* aligned, and no two at one place */
    if (bytes > fake.limit - fake.used)
        return NULL;
    fake.used += bytes;
    fake.live++;
    if (enter("allocate", memory, NULL)) {
        memset(memory, 0, bytes);
        leave();
    }
    return memory;
}

static void fake_release(void *memory)
{
    if (!is_ours(memory) || fake.live == 0)
        complain("release");
    if (--fake.live == 0)
        fake.used = 0;
}

static void fake_upload(const void *host, size_t bytes, void *memory)
{
    if (is_ours(host))
        complain("upload of what is on the device");
    if (enter("upload", memory, NULL)) {
        memcpy(memory, host, bytes);
        leave();
    }
}

static void fake_download(const void *memory, size_t bytes, void *host)
{
    if (is_ours(host))
        complain("download to what is on the device");
    memset(host, 0xff, bytes); /* NaN */
    if (enter("download", memory, NULL)) {
        memcpy(host, memory, bytes);
        leave();
    }
}

static void fake_zero(void *memory, size_t bytes)
{
    if (enter("zero", memory, NULL)) {
        memset(memory, 0, bytes);
        leave();
    }
}

/* NAME (PARAMETERS) (ARGUMENTS) POINTERS...: the CPU's op between enter and leave */
#define OP(name, parameters, arguments, ...)                                                       \
    static void fake_##name parameters                                                             \
    {                                                                                              \
        if (enter(#name, __VA_ARGS__, NULL)) {                                                     \
            cpu_##name arguments;                                                                  \
            leave();                                                                               \
        }                                                                                          \
    }
OP(gather_rows, (const float *table, const uint32_t *indices, size_t B, size_t D, float *out),
   (table, indices, B, D, out), table, indices, out)
OP(scatter_rows, (const float *in, const uint32_t *indices, size_t B, size_t D, float *table),
   (in, indices, B, D, table), in, indices, table)
OP(scatter_add_rows, (const float *in, const uint32_t *indices, size_t B, size_t D, float *table),
   (in, indices, B, D, table), in, indices, table)
OP(add, (const float *x, size_t N, float *sum), (x, N, sum), x, sum)
OP(scale, (const float *x, size_t N, float factor, float *y), (x, N, factor, y), x, y)
OP(multiply, (const float *x, const float *y, size_t N, float *z), (x, y, N, z), x, y, z)
OP(fc_forward,
   (const float *x, const float *w, const float *b, size_t B, size_t D, size_t H, float *out),
   (x, w, b, B, D, H, out), x, w, b, out)
OP(fc_forward_transposed,
   (const float *x, const float *w, const float *b, size_t B, size_t H, size_t K, float *out),
   (x, w, b, B, H, K, out), x, w, b, out)
OP(fc_backward,
   (const float *x, const float *w, const float *dy, size_t B, size_t D, size_t H, float *dw,
    float *db, float *dx),
   (x, w, dy, B, D, H, dw, db, dx), x, w, dy, dw, db, dx)
OP(fc_backward_transposed,
   (const float *x, const float *w, const float *dy, size_t B, size_t H, size_t K, float *dw,
    float *db, float *dx),
   (x, w, dy, B, H, K, dw, db, dx), x, w, dy, dw, db, dx)
OP(sigmoid_forward, (const float *x, size_t N, float *y), (x, N, y), x, y)
OP(sigmoid_backward, (const float *y, const float *dy, size_t N, float *dx), (y, dy, N, dx), y, dy,
   dx)
OP(dropout_forward, (const float *x, size_t N, float rate, uint64_t seed, float *mask, float *y),
   (x, N, rate, seed, mask, y), x, mask, y)
OP(softmax_xent_backward, (float *probabilities, const int32_t *targets, size_t B, size_t K),
   (probabilities, targets, B, K), probabilities, targets)
OP(adagrad, (float *w, float *a, const float *g, size_t N, float lr, float l2, float epsilon),
   (w, a, g, N, lr, l2, epsilon), w, a, g)

static double fake_softmax_xent_forward(float *logits, const int32_t *targets, size_t B, size_t K,
                                        uint32_t *host_errors)
{
    double cost;

    *host_errors = (uint32_t)B;
    if (!enter("softmax_xent_forward", logits, targets, NULL))
        return __builtin_nan("");
    cost = cpu_softmax_xent_forward(logits, targets, B, K, host_errors);
    leave();
    return cost;
}

/* Not const, as it would be by plugin.h: what it is decides itself when it is loaded. */
struct edl_backend edl_kernels_backend = {
    .abi = EDL_KERNELS_ABI,
    .name = "cuda",
    .start = fake_start,
    .stop = fake_stop,
    .failure = fake_failure,
    .allocate = fake_allocate,
    .release = fake_release,
    .upload = fake_upload,
    .download = fake_download,
    .zero = fake_zero,
    .gather_rows = fake_gather_rows,
    .scatter_rows = fake_scatter_rows,
    .scatter_add_rows = fake_scatter_add_rows,
    .add = fake_add,
    .scale = fake_scale,
    .multiply = fake_multiply,
    .fc_forward = fake_fc_forward,
    .fc_forward_transposed = fake_fc_forward_transposed,
    .fc_backward = fake_fc_backward,
    .fc_backward_transposed = fake_fc_backward_transposed,
    .sigmoid_forward = fake_sigmoid_forward,
    .sigmoid_backward = fake_sigmoid_backward,
    .dropout_forward = fake_dropout_forward,
    .softmax_xent_forward = fake_softmax_xent_forward,
    .softmax_xent_backward = fake_softmax_xent_backward,
    .adagrad = fake_adagrad,
};

__attribute__((constructor)) static void choose(void)
{
    if (is_set("abi"))
        edl_kernels_backend.abi = EDL_KERNELS_ABI + 1;
}
