/* SPDX-License-Identifier: Apache-2.0 */
/* resources.h - amounts of what nodes offer and processes ask for; plain values */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resources {
    int64_t cpu_millicores, memory_bytes, gpus, ports; /* signed: a node may owe */
};

/* resources_fit - have covers need; what is not needed cannot be short: a node that owes memory
 * still takes what asks for none */
bool resources_fit(const struct resources *have, const struct resources *need);
void resources_add(struct resources *to, const struct resources *what, int64_t times);
/* each figure of `to` is at least that of `what` afterwards */
void resources_raise(struct resources *to, const struct resources *what);
/* each figure is the lesser one of both */
struct resources resources_lesser(const struct resources *a, const struct resources *b);
bool resources_equal(const struct resources *a, const struct resources *b);
/* some figure of a is larger than that of b */
bool resources_exceed(const struct resources *a, const struct resources *b);
/* some figure is below zero */
bool resources_owe(const struct resources *what);
/* "1400m CPU, 2.0 GiB memory, 1 GPU" */
void resources_describe(const struct resources *what, char *buffer, size_t size);
