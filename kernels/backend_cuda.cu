/* SPDX-License-Identifier: Apache-2.0 */
/* backend_cuda.cu - the ops of tensor_ops.h on one NVIDIA device: cuBLAS and one kernel per loop
 *
 * A shared library of its own (plugin.h). Parameters and activations stay on the device. A step is
 * a row of launches on the default stream, which only the cost's way to the host waits for. f32
 * throughout: cuBLAS' default mode does not round operands to TF32. Row-major matrices are
 * column-major transposes, so C = A B is asked for as C^T = B^T A^T. */
#include "kernels/plugin.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include "kernels/dropout_hash.h"

#define THREADS 256
#define BLOCKS_MAX 65535
#define ROWS_AT_ONCE 512 /* rows whose cost is fetched with one copy */

static struct {
    int started;
    cublasHandle_t blas;
    float *row_costs; /* f32[rows, 2] of softmax_kernel */
    size_t row_costs_size;
    int *not_finite; /* of finite_kernel */
    int failed;
    char failure[256];
} cuda;

static void fail(const char *what, const char *why)
{
    if (cuda.failed)
        return;
    cuda.failed = 1;
    (void)snprintf(cuda.failure, sizeof cuda.failure, "%s: %s", what, why);
}

static int check(cudaError_t status, const char *what)
{
    if (status != cudaSuccess)
        fail(what, cudaGetErrorString(status));
    return status == cudaSuccess;
}

static const char *cuda_failure(void)
{
    return cuda.failed ? cuda.failure : NULL;
}

/* ---- memory ---- */

static void cuda_zero(void *memory, size_t bytes)
{
    if (!cuda.failed && bytes > 0)
        (void)check(cudaMemset(memory, 0, bytes), "cudaMemset");
}

/* What does not fit is the caller's to tell, and no failure of the device. */
static void *cuda_allocate(size_t bytes)
{
    void *memory = NULL;

    if (cuda.failed)
        return NULL;
    if (cudaMalloc(&memory, bytes > 0 ? bytes : 1) != cudaSuccess) {
        (void)cudaGetLastError(); /* or the next op would seem to have failed */
        return NULL;
    }
    cuda_zero(memory, bytes);
    return memory;
}

static void cuda_release(void *memory)
{
    (void)cudaFree(memory);
}

static void cuda_upload(const void *host, size_t bytes, void *memory)
{
    if (!cuda.failed && bytes > 0)
        (void)check(cudaMemcpy(memory, host, bytes, cudaMemcpyHostToDevice), "copy to the device");
}

/* Also the place where a kernel's failure shows: launches report nothing by themselves. */
static void cuda_download(const void *memory, size_t bytes, void *host)
{
    if (!cuda.failed)
        (void)check(cudaGetLastError(), "kernel");
    if (!cuda.failed && bytes > 0)
        (void)check(cudaMemcpy(host, memory, bytes, cudaMemcpyDeviceToHost),
                    "copy from the device");
    if (cuda.failed)
        memset(host, 0xff, bytes); /* NaN */
}

static unsigned blocks_for(size_t n)
{
    const size_t blocks = (n + THREADS - 1) / THREADS;

    return (unsigned)(blocks == 0 ? 1 : blocks > BLOCKS_MAX ? BLOCKS_MAX : blocks);
}

/* i over [0, n), whatever the grid */
#define FOR_EACH(i, n)                                                                             \
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n);                        \
         i += (size_t)gridDim.x * blockDim.x)
#define LAUNCH(kernel, n, ...)                                                                     \
    do {                                                                                           \
        if (!cuda.failed)                                                                          \
            kernel<<<blocks_for(n), THREADS>>>(__VA_ARGS__);                                       \
    } while (0)

/* ---- rows ---- */

static __global__ void gather_kernel(const float *table, const uint32_t *indices, size_t n,
                                     size_t D, float *out)
{
    FOR_EACH(i, n)
        out[i] = table[(size_t)indices[i / D] * D + i % D];
}

static __global__ void scatter_add_kernel(const float *in, const uint32_t *indices, size_t n, size_t D,
                                      float *table)
{
    FOR_EACH(i, n)
        atomicAdd(&table[(size_t)indices[i / D] * D + i % D], in[i]);
}

static __global__ void scatter_rows_kernel(const float *in, const uint32_t *indices, size_t n,
                                           size_t D, float *table)
{
    FOR_EACH(i, n)
        table[(size_t)indices[i / D] * D + i % D] = in[i];
}

static void cuda_gather_rows(const void *table, const uint32_t *indices, size_t B, size_t D,
                             void *out)
{
    LAUNCH(gather_kernel, B * D, (const float *)table, indices, B * D, D, (float *)out);
}

static void cuda_scatter_rows(const void *in, const uint32_t *indices, size_t B, size_t D,
                              void *table)
{
    LAUNCH(scatter_rows_kernel, B * D, (const float *)in, indices, B * D, D, (float *)table);
}

static void cuda_scatter_add_rows(const void *in, const uint32_t *indices, size_t B, size_t D,
                                  void *table)
{
    LAUNCH(scatter_add_kernel, B * D, (const float *)in, indices, B * D, D, (float *)table);
}

/* ---- moving ---- */

static void cuda_from_float(const float *host_in, size_t N, void *out)
{
    cuda_upload(host_in, N * sizeof *host_in, out);
}

static void cuda_to_float(const void *in, size_t N, float *host_out)
{
    cuda_download(in, N * sizeof *host_out, host_out);
}

static void cuda_copy(const void *in, size_t N, void *out)
{
    if (!cuda.failed && N > 0)
        (void)check(cudaMemcpyAsync(out, in, N * sizeof(float), cudaMemcpyDeviceToDevice),
                    "copy on the device");
}

static void cuda_zero_values(void *out, size_t N)
{
    cuda_zero(out, N * sizeof(float));
}

/* ---- sums and products ---- */

static __global__ void fill_rows_kernel(const float *b, size_t n, size_t N, float *out)
{
    FOR_EACH(i, n)
        out[i] = b != NULL ? b[i % N] : 0.0f;
}

static __global__ void column_sums_kernel(const float *in, size_t B, size_t N, float *out)
{
    FOR_EACH(j, N) {
        float sum = 0.0f;

        for (size_t i = 0; i < B; i++)
            sum += in[i * N + j];
        out[j] = sum;
    }
}

/* Row-major C[M,N] = op(A)[M,K] op(B)[K,N] + beta C */
static void sgemm(int transpose_a, int transpose_b, size_t M, size_t N, size_t K, const float *a,
                  const float *b, float beta, float *c)
{
    const float one = 1.0f;
    cublasStatus_t status;

    if (cuda.failed)
        return;
    status = cublasSgemm(cuda.blas, transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                         transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, (int)N, (int)M, (int)K, &one, b,
                         (int)(transpose_b ? K : N), a, (int)(transpose_a ? M : K), &beta, c,
                         (int)N);
    if (status != CUBLAS_STATUS_SUCCESS)
        fail("cublasSgemm", cublasGetStatusString(status));
}

static void cuda_fill_rows(const void *b, size_t B, size_t D, void *out)
{
    LAUNCH(fill_rows_kernel, B * D, (const float *)b, B * D, D, (float *)out);
}

static void cuda_column_sums(const void *in, size_t B, size_t D, void *out)
{
    LAUNCH(column_sums_kernel, D, (const float *)in, B, D, (float *)out);
}

static void cuda_gemm(int transpose_a, int transpose_b, size_t M, size_t N, size_t K, const void *a,
                      const void *b, int accumulate, void *c)
{
    sgemm(transpose_a, transpose_b, M, N, K, (const float *)a, (const float *)b,
          accumulate ? 1.0f : 0.0f, (float *)c);
}

/* ---- element by element ---- */

static __global__ void sigmoid_forward_kernel(const float *x, size_t N, float *y)
{
    FOR_EACH(i, N)
        y[i] = 1.0f / (1.0f + expf(-x[i]));
}

static __global__ void sigmoid_backward_kernel(const float *y, const float *dy, size_t N, float *dx)
{
    FOR_EACH(i, N)
        dx[i] = dy[i] * y[i] * (1.0f - y[i]);
}

static __global__ void dropout_kernel(const float *x, size_t N, int32_t threshold, uint64_t seed,
                                      float *mask, float *y)
{
    FOR_EACH(i, N) {
        const uint64_t key = dropout_key(seed, (uint64_t)i >> 32);
        const int32_t draw = dropout_draw((uint32_t)i, (uint32_t)key, (uint32_t)(key >> 32));

        mask[i] = draw < threshold ? 0.0f : 1.0f;
        y[i] = x[i] * mask[i];
    }
}

static __global__ void finite_kernel(const float *x, size_t N, int *not_finite)
{
    FOR_EACH(i, N)
        if (!isfinite(x[i]))
            *not_finite = 1; /* whoever writes it writes the same */
}

static __global__ void add_kernel(const float *x, size_t N, float *sum)
{
    FOR_EACH(i, N)
        sum[i] += x[i];
}

static __global__ void scale_kernel(const float *x, size_t N, float factor, float *y)
{
    FOR_EACH(i, N)
        y[i] = x[i] * factor;
}

static __global__ void multiply_kernel(const float *x, const float *y, size_t N, float *z)
{
    FOR_EACH(i, N)
        z[i] = x[i] * y[i];
}

static void cuda_add(const void *x, size_t N, void *sum)
{
    LAUNCH(add_kernel, N, (const float *)x, N, (float *)sum);
}

static void cuda_scale(const void *x, size_t N, double factor, void *y)
{
    LAUNCH(scale_kernel, N, (const float *)x, N, (float)factor, (float *)y);
}

static void cuda_multiply(const void *x, const void *y, size_t N, void *z)
{
    LAUNCH(multiply_kernel, N, (const float *)x, (const float *)y, N, (float *)z);
}

/* Of a device that has failed nothing is finite. */
static int cuda_finite(const void *x, size_t N)
{
    int not_finite = 1;

    if (!cuda.failed && cuda.not_finite == NULL)
        (void)check(cudaMalloc((void **)&cuda.not_finite, sizeof *cuda.not_finite),
                    "device memory for a flag");
    cuda_zero(cuda.not_finite, sizeof *cuda.not_finite);
    LAUNCH(finite_kernel, N, (const float *)x, N, cuda.not_finite);
    cuda_download(cuda.not_finite, sizeof not_finite, &not_finite);
    return !not_finite;
}

static void cuda_sigmoid_forward(const void *x, size_t N, void *y)
{
    LAUNCH(sigmoid_forward_kernel, N, (const float *)x, N, (float *)y);
}

static void cuda_sigmoid_backward(const void *y, const void *dy, size_t N, void *dx)
{
    LAUNCH(sigmoid_backward_kernel, N, (const float *)y, (const float *)dy, N, (float *)dx);
}

static void cuda_dropout_forward(const void *x, size_t N, float rate, uint64_t seed, void *mask,
                                 void *y)
{
    LAUNCH(dropout_kernel, N, (const float *)x, N, dropout_threshold(rate), seed, (float *)mask,
           (float *)y);
}

/* ---- softmax and cross-entropy ---- */

/* One block per row. ret[row] = { cost, 1 when the first maximum is not the target }. */
static __global__ void softmax_kernel(float *logits, const int32_t *targets, size_t B, size_t K,
                                      float *ret)
{
    __shared__ float values[THREADS];
    __shared__ size_t places[THREADS];
    const unsigned t = threadIdx.x;

    for (size_t b = blockIdx.x; b < B; b += gridDim.x) {
        float *row = logits + b * K;
        const size_t target = (size_t)targets[b];
        const float of_target = row[target];
        float best = -INFINITY, sum = 0.0f, max;
        size_t place = K;

        for (size_t j = t; j < K; j += THREADS)
            if (row[j] > best) {
                best = row[j];
                place = j;
            }
        values[t] = best;
        places[t] = place;
        __syncthreads();
        for (unsigned half = THREADS / 2; half > 0; half /= 2) {
            if (t < half && (values[t + half] > values[t] ||
                             (values[t + half] == values[t] && places[t + half] < places[t]))) {
                values[t] = values[t + half];
                places[t] = places[t + half];
            }
            __syncthreads();
        }
        max = values[0];
        place = places[0];
        __syncthreads();
        for (size_t j = t; j < K; j += THREADS) {
            row[j] = expf(row[j] - max);
            sum += row[j];
        }
        values[t] = sum;
        __syncthreads();
        for (unsigned half = THREADS / 2; half > 0; half /= 2) {
            if (t < half)
                values[t] += values[t + half];
            __syncthreads();
        }
        sum = values[0];
        __syncthreads();
        for (size_t j = t; j < K; j += THREADS)
            row[j] *= 1.0f / sum;
        if (t == 0) {
            ret[2 * b] = logf(sum) - (of_target - max);
            ret[2 * b + 1] = place != target;
        }
    }
}

static __global__ void softmax_backward_kernel(float *p, const int32_t *targets, size_t B, size_t K)
{
    FOR_EACH(i, B * K)
        p[i] -= i % K == (size_t)targets[i / K] ? 1.0f : 0.0f;
}

/* Room for two floats of each row; NULL after a failure. */
static float *row_costs(size_t rows)
{
    if (cuda.failed || cuda.row_costs_size >= rows)
        return cuda.failed ? NULL : cuda.row_costs;
    (void)cudaFree(cuda.row_costs);
    cuda.row_costs = NULL;
    cuda.row_costs_size = 0;
    if (!check(cudaMalloc((void **)&cuda.row_costs, rows * 2 * sizeof(float)),
               "device memory for the costs"))
        return cuda.row_costs = NULL;
    cuda.row_costs_size = rows;
    return cuda.row_costs;
}

static double cuda_softmax_xent_forward(void *logits, const int32_t *targets, size_t B, size_t K,
                                        uint32_t *host_errors)
{
    const unsigned blocks = (unsigned)(B > BLOCKS_MAX ? BLOCKS_MAX : B ? B : 1);
    float *result = row_costs(B > 0 ? B : 1);
    double cost = 0.0;
    uint32_t errors = 0;

    if (result != NULL)
        softmax_kernel<<<blocks, THREADS>>>((float *)logits, targets, B, K, result);
    for (size_t done = 0; done < B; done += ROWS_AT_ONCE) {
        const size_t n = B - done < ROWS_AT_ONCE ? B - done : ROWS_AT_ONCE;
        float pairs[2 * ROWS_AT_ONCE];

        cuda_download(result + 2 * done, 2 * n * sizeof *pairs, pairs);
        for (size_t i = 0; i < n; i++) {
            cost += (double)pairs[2 * i];
            errors += !(pairs[2 * i + 1] == 0.0f);
        }
    }
    *host_errors = errors;
    return cost;
}

static void cuda_softmax_xent_backward(void *probabilities, const int32_t *targets, size_t B,
                                       size_t K)
{
    LAUNCH(softmax_backward_kernel, B * K, (float *)probabilities, targets, B, K);
}

/* ---- start and stop ---- */

struct driver {
    CUresult (*init)(unsigned flags);
    CUresult (*count)(int *ret);
    CUresult (*error_name)(CUresult status, const char **ret);
    CUresult (*error_string)(CUresult status, const char **ret);
};

static void tell_driver(const struct driver *driver, CUresult status, const char *call,
                        char *ret_text, size_t size)
{
    const char *name = NULL, *why = NULL;

    if (driver->error_name(status, &name) != CUDA_SUCCESS || name == NULL)
        name = "unknown error";
    if (driver->error_string(status, &why) != CUDA_SUCCESS || why == NULL)
        why = "no text";
    (void)snprintf(ret_text, size, "%s: %s (%s, %d)", call, why, name, (int)status);
}

static int ask_driver(const struct driver *driver, int device, char *ret_text, size_t size)
{
    int count = 0;
    CUresult status = driver->init(0);

    if (status != CUDA_SUCCESS) {
        tell_driver(driver, status, "cuInit", ret_text, size);
        return -ENODEV;
    }
    status = driver->count(&count);
    if (status != CUDA_SUCCESS) {
        tell_driver(driver, status, "cuDeviceGetCount", ret_text, size);
        return -ENODEV;
    }
    if (device >= 0 && device < count)
        return 0;
    (void)snprintf(ret_text, size, "cuDeviceGetCount: device %d is asked for, and there are %d",
                   device, count);
    return -ENODEV;
}

/* The runtime's own words for a machine without a driver are of versions; so the driver is asked
 * first, as the runtime would. */
static int check_driver(int device, char *ret_text, size_t size)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    struct driver driver;
    int r = -ENODEV;

    if (library == NULL) {
        (void)snprintf(ret_text, size, "the NVIDIA driver is not there (%s)", dlerror());
        return -ENODEV;
    }
    driver.init = (CUresult(*)(unsigned))dlsym(library, "cuInit");
    driver.count = (CUresult(*)(int *))dlsym(library, "cuDeviceGetCount");
    driver.error_name = (CUresult(*)(CUresult, const char **))dlsym(library, "cuGetErrorName");
    driver.error_string = (CUresult(*)(CUresult, const char **))dlsym(library, "cuGetErrorString");
    if (driver.init != NULL && driver.count != NULL && driver.error_name != NULL &&
        driver.error_string != NULL)
        r = ask_driver(&driver, device, ret_text, size);
    else
        (void)snprintf(ret_text, size, "libcuda.so.1 has no cuInit, or not the calls that belong to it");
    return r; /* the library stays: the runtime takes it next, or nothing does */
}

static int refuse(const char *call, const char *why, char *ret_text, size_t size)
{
    (void)snprintf(ret_text, size, "%s: %s", call, why);
    return -ENODEV;
}

static void cuda_stop(void)
{
    if (cuda.row_costs != NULL)
        (void)cudaFree(cuda.row_costs);
    if (cuda.not_finite != NULL)
        (void)cudaFree(cuda.not_finite);
    if (cuda.started)
        (void)cublasDestroy(cuda.blas);
    memset(&cuda, 0, sizeof cuda);
}

static int cuda_start(int device, char *ret_text, size_t size)
{
    struct cudaDeviceProp properties;
    cublasStatus_t blas;
    cudaError_t status;
    int r;

    cuda_stop();
    r = check_driver(device, ret_text, size);
    if (r < 0)
        return r;
    status = cudaSetDevice(device);
    if (status != cudaSuccess)
        return refuse("cudaSetDevice", cudaGetErrorString(status), ret_text, size);
    status = cudaGetDeviceProperties(&properties, device);
    if (status != cudaSuccess)
        return refuse("cudaGetDeviceProperties", cudaGetErrorString(status), ret_text, size);
    blas = cublasCreate(&cuda.blas);
    if (blas != CUBLAS_STATUS_SUCCESS)
        return refuse("cublasCreate", cublasGetStatusString(blas), ret_text, size);
    cuda.started = 1;
    (void)snprintf(ret_text, size, "%s", properties.name);
    return 0;
}

/* ---- the tables ---- */

/* By name: C++17 knows no designated initialisers, and most of the ops are not here. */
static struct tensor_ops make_ops(void)
{
    struct tensor_ops ops = {};

    ops.name = "f32";
    ops.element_bytes = sizeof(float);
    ops.from_float = cuda_from_float;
    ops.to_float = cuda_to_float;
    ops.copy = cuda_copy;
    ops.zero = cuda_zero_values;
    ops.gather_rows = cuda_gather_rows;
    ops.scatter_rows = cuda_scatter_rows;
    ops.scatter_add_rows = cuda_scatter_add_rows;
    ops.fill_rows = cuda_fill_rows;
    ops.add = cuda_add;
    ops.scale = cuda_scale;
    ops.multiply = cuda_multiply;
    ops.finite = cuda_finite;
    ops.sigmoid_forward = cuda_sigmoid_forward;
    ops.sigmoid_backward = cuda_sigmoid_backward;
    ops.dropout_forward = cuda_dropout_forward;
    ops.column_sums = cuda_column_sums;
    ops.gemm = cuda_gemm;
    ops.softmax_xent_forward = cuda_softmax_xent_forward;
    ops.softmax_xent_backward = cuda_softmax_xent_backward;
    return ops;
}

static const struct tensor_ops cuda_ops = make_ops();

/* In the order of kernels.h. */
extern "C" const struct edl_backend edl_kernels_backend = {
    EDL_KERNELS_ABI, 0,           "cuda",        cuda_start,    cuda_stop, cuda_failure,
    cuda_allocate,   cuda_release, cuda_upload, cuda_download, cuda_zero, &cuda_ops,
};
