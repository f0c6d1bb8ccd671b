/* SPDX-License-Identifier: Apache-2.0 */
/* replay_main.c - gives each file named as an argument to a fuzz target, once
 *
 * Linked instead of libFuzzer, so that every build runs the stored corpora as an ordinary test.
 * With EDL_FUZZER it is empty, and the same program is the fuzzer (Makefile.inc). */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"

#define INPUT_BYTES_MAX (4u * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef EDL_FUZZER

static int replay_file(const char *path)
{
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    _cleanup_free_ uint8_t *data = malloc(INPUT_BYTES_MAX);
    _cleanup_free_ uint8_t *exact = NULL;
    size_t size;

    if (file == NULL || data == NULL) {
        (void)fprintf(stderr, "cannot read %s: %s\n", path, strerror(errno));
        return -1;
    }
    size = fread(data, 1, INPUT_BYTES_MAX, file);
    /* of its exact size, so that a sanitizer sees one byte too much */
    exact = malloc(size + (size == 0));
    if (exact == NULL)
        return -1;
    memcpy(exact, data, size);
    (void)LLVMFuzzerTestOneInput(exact, size);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "usage: %s FILE...\n", argv[0]);
        return EXIT_FAILURE;
    }
    for (int i = 1; i < argc; i++)
        if (replay_file(argv[i]) < 0)
            return EXIT_FAILURE;
    (void)printf("%d inputs\n", argc - 1);
    return EXIT_SUCCESS;
}
#endif
