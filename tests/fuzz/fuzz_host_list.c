/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_host_list.c - any bytes as a conf.py: a refusal names file and remedy, an accepted text
 * holds the promises of host_list.h */
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/host_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct host_list *list)
{
    if (list->n_hosts == 0 || list->n_hosts > HOST_LIST_MAX || list->port == 0 ||
        list->ports_num == 0 || list->ports_num > HOST_LIST_PORTS_MAX ||
        list->ports_num_for_sparse > HOST_LIST_PORTS_MAX)
        abort();
    for (size_t i = 0; i < list->n_hosts; i++)
        if (list->hosts[i].name[0] == '\0' || list->hosts[i].name[0] == '-' ||
            (list->hosts[i].user != NULL && list->hosts[i].user[0] == '-'))
            abort();
    if (list->root_dir != NULL && list->root_dir[0] != '/')
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct host_list list;
    struct edl_error error = { 0 };
    int r = host_list_parse("conf.py", (const char *)data, size, &list, &error);

    if (r == 0)
        check(&list);
    else if (r != error.code || strstr(error.text, "conf.py") == NULL)
        abort();
    host_list_clear(&list);
    return 0;
}
