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
            tensor_ops_f32()->name arguments;                                                      \
            leave();                                                                               \
        }                                                                                          \
    }
OP(copy, (const void *in, size_t N, void *out), (in, N, out), in, out)
OP(gather_rows, (const void *table, const uint32_t *indices, size_t B, size_t D, void *out),
   (table, indices, B, D, out), table, indices, out)
OP(scatter_rows, (const void *in, const uint32_t *indices, size_t B, size_t D, void *table),
   (in, indices, B, D, table), in, indices, table)
OP(scatter_add_rows, (const void *in, const uint32_t *indices, size_t B, size_t D, void *table),
   (in, indices, B, D, table), in, indices, table)
OP(fill_rows, (const void *b, size_t B, size_t D, void *out), (b, B, D, out), out, b)
OP(add, (const void *x, size_t N, void *sum), (x, N, sum), x, sum)
OP(scale, (const void *x, size_t N, double factor, void *y), (x, N, factor, y), x, y)
OP(multiply, (const void *x, const void *y, size_t N, void *z), (x, y, N, z), x, y, z)
OP(sigmoid_forward, (const void *x, size_t N, void *y), (x, N, y), x, y)
OP(sigmoid_backward, (const void *y, const void *dy, size_t N, void *dx), (y, dy, N, dx), y, dy, dx)
OP(dropout_forward, (const void *x, size_t N, float rate, uint64_t seed, void *mask, void *y),
   (x, N, rate, seed, mask, y), x, mask, y)
OP(column_sums, (const void *in, size_t B, size_t D, void *out), (in, B, D, out), in, out)
OP(gemm,
   (int transpose_a, int transpose_b, size_t M, size_t N, size_t K, const void *a, const void *b,
    int accumulate, void *c),
   (transpose_a, transpose_b, M, N, K, a, b, accumulate, c), a, b, c)
OP(softmax_xent_backward, (void *probabilities, const int32_t *targets, size_t B, size_t D),
   (probabilities, targets, B, D), probabilities, targets)

static void fake_from_float(const float *host_in, size_t N, void *out)
{
    fake_upload(host_in, N * sizeof *host_in, out);
}

static void fake_to_float(const void *in, size_t N, float *host_out)
{
    fake_download(in, N * sizeof *host_out, host_out);
}

static void fake_zero_values(void *out, size_t N)
{
    fake_zero(out, N * sizeof(float));
}

/* Of a device that has failed nothing is finite. */
static int fake_finite(const void *x, size_t N)
{
    int finite;

    if (!enter("finite", x, NULL))
        return 0;
    finite = tensor_ops_f32()->finite(x, N);
    leave();
    return finite;
}

static double fake_softmax_xent_forward(void *logits, const int32_t *targets, size_t B, size_t D,
                                        uint32_t *host_errors)
{
    double cost;

    *host_errors = (uint32_t)B;
    if (!enter("softmax_xent_forward", logits, targets, NULL))
        return __builtin_nan("");
    cost = tensor_ops_f32()->softmax_xent_forward(logits, targets, B, D, host_errors);
    leave();
    return cost;
}

/* Those that the CUDA back-end has, and no others. */
static const struct tensor_ops fake_ops = {
    .name = "f32",
    .element_bytes = sizeof(float),
    .from_float = fake_from_float,
    .to_float = fake_to_float,
    .copy = fake_copy,
    .zero = fake_zero_values,
    .gather_rows = fake_gather_rows,
    .scatter_rows = fake_scatter_rows,
    .scatter_add_rows = fake_scatter_add_rows,
    .fill_rows = fake_fill_rows,
    .add = fake_add,
    .scale = fake_scale,
    .multiply = fake_multiply,
    .finite = fake_finite,
    .sigmoid_forward = fake_sigmoid_forward,
    .sigmoid_backward = fake_sigmoid_backward,
    .dropout_forward = fake_dropout_forward,
    .column_sums = fake_column_sums,
    .gemm = fake_gemm,
    .softmax_xent_forward = fake_softmax_xent_forward,
    .softmax_xent_backward = fake_softmax_xent_backward,
};

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
    .ops = &fake_ops,
};

__attribute__((constructor)) static void choose(void)
{
    if (is_set("abi"))
        edl_kernels_backend.abi = EDL_KERNELS_ABI + 1;
}
