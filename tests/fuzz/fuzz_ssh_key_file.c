/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ssh_key_file.c - any bytes as a key file, private and public */
#include <stdlib.h>

#include "client/ssh/ssh_key_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ssh_key_file file;

    if (ssh_key_file_read((const char *)data, size, &file) && file.blob != NULL &&
        file.blob_size == 0)
        abort();
    ssh_key_file_clear(&file);
    (void)ssh_key_public_read((const char *)data, size, &file);
    ssh_key_file_clear(&file);
    return 0;
}
