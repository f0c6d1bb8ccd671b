/* SPDX-License-Identifier: Apache-2.0 */
/* pserver_terms.h - on which terms a server takes a trainer: the flags that it was started with,
 * and the words of the trainers before; pure */
#pragma once

#include <stdint.h>

#include "trainer/wire/agreement.h"
#include "trainer/parameters/block_placement.h"

struct declaration;
struct edl_error;
struct wire_hello;

struct pserver_terms {
    struct block_placement ports; /* the server's flags; 0, 0: as the first trainer says */
    struct agreement_known known; /* by the server's flag, and by those that have declared */
};

/* pserver_terms_init - trainers: the server's flag; 0: not given */
void pserver_terms_init(struct pserver_terms *terms, const struct block_placement *ports,
                        uint32_t trainers);

/* pserver_terms_check - a trainer that has proved itself, and what it declares
 * before: what was declared first, or NULL. -EINVAL: the error names the flags, both values and
 * what to do */
int pserver_terms_check(const struct pserver_terms *terms, const struct declaration *before,
                        const struct wire_hello *hello, const struct declaration *declaration,
                        struct edl_error *error);

/* pserver_terms_add - one that was taken */
void pserver_terms_add(struct pserver_terms *terms, const struct wire_hello *hello);
