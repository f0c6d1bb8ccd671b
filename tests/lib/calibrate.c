/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate.c - what the compiler takes for this file tells how fast the cores of a machine are
 *
 * tests/budget has what it took on the machine whose CPU seconds stand there. So this file never
 * changes. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct node {
    struct node *left, *right;
    uint64_t key;
    char name[32];
};

static struct node *insert(struct node *root, struct node *node)
{
    struct node **place = &root;

    while (*place != NULL)
        place = node->key < (*place)->key ? &(*place)->left : &(*place)->right;
    *place = node;
    return root;
}

static uint64_t mixed(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static size_t depth(const struct node *node)
{
    size_t left, right;

    if (node == NULL)
        return 0;
    left = depth(node->left);
    right = depth(node->right);
    return 1 + (left > right ? left : right);
}

static void multiply(const double *a, const double *b, double *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
}

static int by_key(const void *one, const void *other)
{
    const struct node *a = one, *b = other;

    return a->key < b->key ? -1 : a->key > b->key;
}

static bool parse(const char *text, uint64_t *ret, size_t n, size_t *n_ret)
{
    *n_ret = 0;
    while (*text != '\0' && *n_ret < n) {
        char *end;

        errno = 0;
        ret[*n_ret] = strtoull(text, &end, 10);
        if (end == text || errno != 0)
            return false;
        (*n_ret)++;
        text = end + strspn(end, " ,\t");
    }
    return *text == '\0';
}

int main(int argc, char **argv)
{
    enum { N = 64 };
    static double a[N * N], b[N * N], c[N * N];
    static struct node nodes[1024];
    struct node *root = NULL;
    uint64_t keys[16];
    size_t n = 0;

    if (argc > 1 && !parse(argv[1], keys, 16, &n))
        return EXIT_FAILURE;
    for (size_t i = 0; i < 1024; i++) {
        nodes[i].key = mixed(i + (n > 0 ? keys[i % n] : 0));
        (void)snprintf(nodes[i].name, sizeof nodes[i].name, "node %zu", i);
        root = insert(root, &nodes[i]);
    }
    for (size_t i = 0; i < (size_t)N * N; i++) {
        a[i] = (double)(mixed(i) % 1000) / 1000;
        b[i] = (double)(mixed(i + 1) % 1000) / 1000;
    }
    multiply(a, b, c, N);
    (void)printf("%zu %g\n", depth(root), c[N]);
    qsort(nodes, 1024, sizeof *nodes, by_key);
    return nodes[0].key <= nodes[1].key ? EXIT_SUCCESS : EXIT_FAILURE;
}
