/* SPDX-License-Identifier: Apache-2.0 */
/* backend_cuda.cu - the ops of kernels.h on one NVIDIA device: cuBLAS and one kernel per loop
 *
 * f32 throughout: cuBLAS' default mode does not round operands to TF32. Row-major matrices are
 * column-major transposes, so C = A B is asked for as C^T = B^T A^T. */
#include "kernels/backend_cuda.h"

#include <cmath>
#include <cstdio>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "kernels/dropout_hash.h"

#define THREADS 256
#define BLOCKS_MAX 65535
#define ROWS_AT_ONCE 512 /* rows whose cost is fetched with one copy */

/* One growing buffer per operand that an op can have at the same time. */
enum slot { SLOT_A, SLOT_B, SLOT_C, SLOT_D, SLOT_E, SLOT_F, SLOTS };

static struct {
    int open;
    cublasHandle_t blas;
    void *buffers[SLOTS];
    size_t sizes[SLOTS];
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

/* Device room for n elements; NULL after a failure, which every later step then skips. */
static void *room(enum slot slot, size_t n, size_t size)
{
    const size_t bytes = (n ? n : 1) * size;

    if (cuda.failed)
        return NULL;
    if (cuda.sizes[slot] >= bytes)
        return cuda.buffers[slot];
    (void)cudaFree(cuda.buffers[slot]);
    cuda.buffers[slot] = NULL;
    cuda.sizes[slot] = 0;
    if (!check(cudaMalloc(&cuda.buffers[slot], bytes), "device memory")) {
        cuda.buffers[slot] = NULL;
        return NULL;
    }
    cuda.sizes[slot] = bytes;
    return cuda.buffers[slot];
}

static void *upload(enum slot slot, const void *host, size_t n, size_t size)
{
    void *device = room(slot, n, size);

    if (device == NULL || !check(cudaMemcpy(device, host, n * size, cudaMemcpyHostToDevice),
                                 "copy to the device"))
        return NULL;
    return device;
}

static float *upload_f32(enum slot slot, const float *host, size_t n)
{
    return (float *)upload(slot, host, n, sizeof *host);
}

static float *room_f32(enum slot slot, size_t n)
{
    return (float *)room(slot, n, sizeof(float));
}

/* Also the place where a kernel's failure shows: launches report nothing by themselves. */
static void download(float *host, const float *device, size_t n)
{
    if (!cuda.failed)
        (void)check(cudaGetLastError(), "kernel");
    if (!cuda.failed)
        (void)check(cudaMemcpy(host, device, n * sizeof *host, cudaMemcpyDeviceToHost),
                    "copy from the device");
    for (size_t i = 0; cuda.failed && i < n; i++)
        host[i] = NAN;
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

static __global__ void scatter_kernel(const float *in, const uint32_t *indices, size_t n, size_t D,
                                      float *table)
{
    FOR_EACH(i, n)
        atomicAdd(&table[(size_t)indices[i / D] * D + i % D], in[i]);
}

/* The table's height is not an argument of the op; the largest index bounds what must travel. */
static size_t rows_used(const uint32_t *indices, size_t B)
{
    size_t rows = 0;

    for (size_t i = 0; i < B; i++)
        if (indices[i] >= rows)
            rows = (size_t)indices[i] + 1;
    return rows;
}

static void cuda_gather_rows(const float *table, const uint32_t *indices, size_t B, size_t D,
                             float *out)
{
    float *t = upload_f32(SLOT_A, table, rows_used(indices, B) * D);
    uint32_t *i = (uint32_t *)upload(SLOT_B, indices, B, sizeof *indices);
    float *o = room_f32(SLOT_C, B * D);

    LAUNCH(gather_kernel, B * D, t, i, B * D, D, o);
    download(out, o, B * D);
}

static void cuda_scatter_add_rows(const float *in, const uint32_t *indices, size_t B, size_t D,
                                  float *table)
{
    const size_t n = rows_used(indices, B) * D;
    float *x = upload_f32(SLOT_A, in, B * D);
    uint32_t *i = (uint32_t *)upload(SLOT_B, indices, B, sizeof *indices);
    float *t = upload_f32(SLOT_C, table, n);

    LAUNCH(scatter_kernel, B * D, x, i, B * D, D, t);
    download(table, t, n);
}

/* ---- fully connected ---- */

static __global__ void fill_rows_kernel(const float *b, size_t n, size_t N, float *out)
{
    FOR_EACH(i, n)
        out[i] = b[i % N];
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

static void forward(const float *x, const float *w, const float *b, size_t B, size_t D, size_t H,
                    int transposed, float *out)
{
    float *dx = upload_f32(SLOT_A, x, B * D), *dw = upload_f32(SLOT_B, w, D * H);
    float *db = upload_f32(SLOT_C, b, H), *o = room_f32(SLOT_D, B * H);

    LAUNCH(fill_rows_kernel, B * H, db, B * H, H, o);
    sgemm(0, transposed, B, H, D, dx, dw, 1.0f, o);
    download(out, o, B * H);
}

static void cuda_fc_forward(const float *x, const float *w, const float *b, size_t B, size_t D,
                            size_t H, float *out)
{
    forward(x, w, b, B, D, H, 0, out);
}

static void cuda_fc_forward_transposed(const float *x, const float *w, const float *b, size_t B,
                                       size_t H, size_t K, float *out)
{
    forward(x, w, b, B, H, K, 1, out);
}

static void backward(const float *x, const float *w, const float *dy, size_t B, size_t D, size_t H,
                     int transposed, float *dw, float *db, float *dx)
{
    float *x_ = upload_f32(SLOT_A, x, B * D), *dy_ = upload_f32(SLOT_B, dy, B * H);
    float *dw_ = room_f32(SLOT_C, D * H), *db_ = room_f32(SLOT_D, H);

    if (transposed)
        sgemm(1, 0, H, D, B, dy_, x_, 0.0f, dw_);
    else
        sgemm(1, 0, D, H, B, x_, dy_, 0.0f, dw_);
    LAUNCH(column_sums_kernel, H, dy_, B, H, db_);
    download(dw, dw_, D * H);
    download(db, db_, H);
    if (dx != NULL) {
        float *w_ = upload_f32(SLOT_E, w, D * H), *dx_ = room_f32(SLOT_F, B * D);

        sgemm(0, !transposed, B, D, H, dy_, w_, 0.0f, dx_);
        download(dx, dx_, B * D);
    }
}

static void cuda_fc_backward(const float *x, const float *w, const float *dy, size_t B, size_t D,
                             size_t H, float *dw, float *db, float *dx)
{
    backward(x, w, dy, B, D, H, 0, dw, db, dx);
}

static void cuda_fc_backward_transposed(const float *x, const float *w, const float *dy, size_t B,
                                        size_t H, size_t K, float *dw, float *db, float *dx)
{
    backward(x, w, dy, B, H, K, 1, dw, db, dx);
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

static __global__ void adagrad_kernel(float *w, float *a, const float *g, size_t N, float lr,
                                      float l2, float epsilon)
{
    FOR_EACH(i, N) {
        const float gradient = g[i] + l2 * w[i];
        const float sum = a[i] + gradient * gradient;

        a[i] = sum;
        w[i] -= lr * gradient / (sqrtf(sum) + epsilon);
    }
}

static void cuda_sigmoid_forward(const float *x, size_t N, float *y)
{
    float *d = upload_f32(SLOT_A, x, N);

    LAUNCH(sigmoid_forward_kernel, N, d, N, d);
    download(y, d, N);
}

static void cuda_sigmoid_backward(const float *y, const float *dy, size_t N, float *dx)
{
    float *y_ = upload_f32(SLOT_A, y, N), *d = upload_f32(SLOT_B, dy, N);

    LAUNCH(sigmoid_backward_kernel, N, y_, d, N, d);
    download(dx, d, N);
}

static void cuda_dropout_forward(const float *x, size_t N, float rate, uint64_t seed, float *mask,
                                 float *y)
{
    float *d = upload_f32(SLOT_A, x, N), *m = room_f32(SLOT_B, N);

    LAUNCH(dropout_kernel, N, d, N, dropout_threshold(rate), seed, m, d);
    download(mask, m, N);
    download(y, d, N);
}

static void cuda_adagrad(float *w, float *a, const float *g, size_t N, float lr, float l2,
                         float epsilon)
{
    float *w_ = upload_f32(SLOT_A, w, N), *a_ = upload_f32(SLOT_B, a, N);
    float *g_ = upload_f32(SLOT_C, g, N);

    LAUNCH(adagrad_kernel, N, w_, a_, g_, N, lr, l2, epsilon);
    download(w, w_, N);
    download(a, a_, N);
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
    const float factor = 1.0f / (float)B;

    FOR_EACH(i, B * K)
        p[i] = p[i] * factor - (i % K == (size_t)targets[i / K] ? factor : 0.0f);
}

static double cuda_softmax_xent_forward(float *logits, const int32_t *targets, size_t B, size_t K,
                                        uint32_t *ret_errors)
{
    float *d = upload_f32(SLOT_A, logits, B * K), *result = room_f32(SLOT_C, 2 * B);
    int32_t *t = (int32_t *)upload(SLOT_B, targets, B, sizeof *targets);
    const unsigned blocks = (unsigned)(B > BLOCKS_MAX ? BLOCKS_MAX : B ? B : 1);
    double cost = 0.0;
    uint32_t errors = 0;

    if (!cuda.failed)
        softmax_kernel<<<blocks, THREADS>>>(d, t, B, K, result);
    download(logits, d, B * K);
    for (size_t done = 0; done < B; done += ROWS_AT_ONCE) {
        const size_t n = B - done < ROWS_AT_ONCE ? B - done : ROWS_AT_ONCE;
        float pairs[2 * ROWS_AT_ONCE];

        download(pairs, result + 2 * done, 2 * n);
        for (size_t i = 0; i < n; i++) {
            cost += (double)pairs[2 * i];
            errors += !(pairs[2 * i + 1] == 0.0f);
        }
    }
    *ret_errors = errors;
    return cost;
}

static void cuda_softmax_xent_backward(float *probabilities, const int32_t *targets, size_t B,
                                       size_t K)
{
    float *d = upload_f32(SLOT_A, probabilities, B * K);
    int32_t *t = (int32_t *)upload(SLOT_B, targets, B, sizeof *targets);

    LAUNCH(softmax_backward_kernel, B * K, d, t, B, K);
    download(probabilities, d, B * K);
}

/* ---- the table ---- */

static const struct edl_backend table = {
    "cuda",
    cuda_gather_rows,
    cuda_scatter_add_rows,
    cuda_fc_forward,
    cuda_fc_forward_transposed,
    cuda_fc_backward,
    cuda_fc_backward_transposed,
    cuda_sigmoid_forward,
    cuda_sigmoid_backward,
    cuda_dropout_forward,
    cuda_softmax_xent_forward,
    cuda_softmax_xent_backward,
    cuda_adagrad,
};

extern "C" const struct edl_backend *backend_cuda(int device, char *ret_text, size_t size)
{
    cublasStatus_t blas;
    int count = 0;
    cudaError_t status;

    backend_cuda_close();
    status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess) {
        (void)snprintf(ret_text, size, "%s", cudaGetErrorString(status));
        return NULL;
    }
    if (device < 0 || device >= count) {
        (void)snprintf(ret_text, size, "device %d of %d is asked for", device, count);
        return NULL;
    }
    status = cudaSetDevice(device);
    if (status != cudaSuccess) {
        (void)snprintf(ret_text, size, "device %d: %s", device, cudaGetErrorString(status));
        return NULL;
    }
    blas = cublasCreate(&cuda.blas);
    if (blas != CUBLAS_STATUS_SUCCESS) {
        (void)snprintf(ret_text, size, "cuBLAS: %s", cublasGetStatusString(blas));
        return NULL;
    }
    cuda.open = 1;
    return &table;
}

extern "C" const char *backend_cuda_failure(void)
{
    return cuda.failed ? cuda.failure : NULL;
}

extern "C" void backend_cuda_close(void)
{
    for (int i = 0; i < SLOTS; i++) {
        if (cuda.buffers[i] != NULL)
            (void)cudaFree(cuda.buffers[i]);
        cuda.buffers[i] = NULL;
        cuda.sizes[i] = 0;
    }
    if (cuda.open)
        (void)cublasDestroy(cuda.blas);
    cuda.open = 0;
    cuda.failed = 0;
}
