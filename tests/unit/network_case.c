/* SPDX-License-Identifier: Apache-2.0 */
/* network_case.c - networks for tests: from a text, or one of those that ship */
#include "tests/unit/network_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct network *network_of(const char *text)
{
    struct network *network = NULL;
    struct edl_error error = { 0 };

    if (network_parse(text, strlen(text), "test.json", NULL, &network, &error) < 0)
        fail_msg("%s", error.text);
    return network;
}

/* "a=1 b=2" */
static void read_arguments(const char *text, struct arguments *ret)
{
    char name[ARGUMENT_NAME_BYTES];
    double value;
    int used;

    while (text != NULL && sscanf(text, " %31[a-z_]=%lf%n", name, &value, &used) == 2) {
        assert_int_equal(arguments_set(ret, name, value, NULL), 0);
        text += used;
    }
}

struct network *network_shipped(const char *name, const char *arguments)
{
    const char *top = getenv("EDL_SOURCE_DIR");
    struct arguments given = { 0 };
    struct network *network = NULL;
    struct edl_error error = { 0 };
    char path[1024], text[65536];
    size_t size;
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/conf/models/%s.json", top != NULL ? top : ".", name);
    file = fopen(path, "r");
    if (file == NULL)
        fail_msg("cannot open %s (EDL_SOURCE_DIR names the sources)", path);
    size = fread(text, 1, sizeof text, file);
    (void)fclose(file);
    read_arguments(arguments, &given);
    if (network_parse(text, size, path, &given, &network, &error) < 0)
        fail_msg("%s", error.text);
    return network;
}

const char *network_refusal(const char *text, struct edl_error *ret)
{
    struct network *network = NULL;

    *ret = (struct edl_error){ 0 };
    if (network_parse(text, strlen(text), "test.json", NULL, &network, ret) >= 0) {
        (void)network_free(network);
        fail_msg("accepted: %s", text);
    }
    return ret->text;
}

uint32_t param_of(const struct network *network, const char *name)
{
    for (uint32_t p = 0; p < network->n_params; p++)
        if (streq(network->params[p].spec.name, name))
            return p;
    fail_msg("no parameter %s", name);
    return 0;
}
