/* SPDX-License-Identifier: Apache-2.0 */
/* order.h - what a slot is told: a command with a few variables, or to end; pure
 *
 * JSON: {"command": "orted ...", "env": {"OMPI_MCA_plm": "rsh"}} or {"end": 0}. A slot reads it
 * once its sender has proved itself, and bounds it all the same. Tests:
 * tests/unit/test_mpi_order.c, tests/fuzz/fuzz_mpi_order.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;

#define MPI_ORDER_BYTES_MAX (256u * 1024)
#define MPI_ORDER_COMMAND_MAX (120u * 1024) /* Linux takes no argument of 128 KiB */
#define MPI_ORDER_ENV_MAX 512

struct mpi_order {
    bool end;       /* the slot ends, with: */
    uint8_t status; /* 0 to 255 */
    char *command;  /* for /bin/sh -c; owned; NULL: end */
    char **env;     /* NAME=VALUE, [n_env]; owned */
    size_t n_env;
};

/* mpi_order_takes - a variable that goes along with a command: those by which the parts of an MPI
 * library are set up. Everything else is the environment of the slot itself. */
bool mpi_order_takes(const char *name, size_t length);

/* mpi_order_write - the bytes of an order, new; -E2BIG, -EINVAL (no UTF-8) */
int mpi_order_write(const struct mpi_order *order, char **ret, size_t *ret_size,
                    struct edl_error *error);

/* mpi_order_read - -EINVAL, -E2BIG; ret is untouched then; else mpi_order_clear */
int mpi_order_read(const void *bytes, size_t size, struct mpi_order *ret, struct edl_error *error);
void mpi_order_clear(struct mpi_order *order);
