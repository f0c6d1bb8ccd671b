/* SPDX-License-Identifier: Apache-2.0 */
/* link_told.c - see link_told.h */
#include "agent/link/link_told.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/text_format.h"
#include "shared/whole_file.h"

static void copy_list(const struct server_list *from, struct server_list *ret)
{
    *ret = (struct server_list){ 0 };
    for (size_t i = 0; i < from->n; i++)
        (void)server_list_add(ret, from->urls[i], NULL);
}

static void keep(const struct link_told *told)
{
    _cleanup_free_ char *text = NULL;
    struct edl_error error = { 0 };
    json_t *json =
        json_pack("{s:I,s:o,s:o}", "term", (json_int_t)told->term, "servers",
                  server_list_json(&told->servers), "given", server_list_json(&told->given));

    text = json_dumps(json, JSON_INDENT(1));
    json_decref(json);
    if (text != NULL && told->path != NULL && whole_file_write(told->path, text, 0600, &error) < 0)
        log_warning("%s", error.text);
}

static void take_kept(struct link_told *told, const json_t *json)
{
    struct server_list given, servers;
    json_int_t term = json_integer_value(json_object_get(json, "term"));

    server_list_read(json_object_get(json, "given"), &given);
    server_list_read(json_object_get(json, "servers"), &servers);
    if (server_list_meets(&told->given, &given) || server_list_meets(&told->given, &servers)) {
        told->term = term > 0 ? (uint64_t)term : 0;
        told->servers = servers;
    } else {
        server_list_clear(&servers);
    }
    server_list_clear(&given);
}

void link_told_open(const char *state_dir, const struct server_list *given, struct link_told *ret)
{
    _cleanup_free_ char *text = NULL;
    json_t *json;

    *ret = (struct link_told){ .path = text_format("%s/schedulers.json", state_dir) };
    copy_list(given, &ret->given);
    if (whole_file_read(ret->path, false, &text, NULL) < 0)
        return;
    json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (json == NULL)
        log_warning("%s is damaged; the scheduler tells again what was in it", ret->path);
    take_kept(ret, json);
    json_decref(json);
}

void link_told_close(struct link_told *told)
{
    free(told->path);
    server_list_clear(&told->given);
    server_list_clear(&told->servers);
}

int link_told_term(struct link_told *told, const json_t *answer, struct edl_error *error)
{
    const json_t *value = json_object_get(answer, "term");
    json_int_t term = json_integer_value(value);

    if (value == NULL || (json_is_integer(value) && term == 0))
        return 0;
    if (!json_is_integer(value) || term < 0)
        return edl_error_set(error, -EINVAL, "the scheduler's term is no number above 0");
    if ((uint64_t)term < told->term)
        return edl_error_set(error, EDL_ESTALE,
                             "a scheduler of term %lld answers, and this node has heard of term "
                             "%llu: it does not lead any more",
                             (long long)term, (unsigned long long)told->term);
    if ((uint64_t)term > told->term) {
        told->term = (uint64_t)term;
        keep(told);
    }
    return 0;
}

void link_told_ends(struct link_told *told, const json_t *answer)
{
    if (told->term == 0 || json_integer_value(json_object_get(answer, "term")) != 0)
        return;
    told->term = 0;
    keep(told);
}

bool link_told_servers(struct link_told *told, const json_t *answer)
{
    const json_t *array = json_object_get(answer, "servers");
    struct server_list servers;

    if (!json_is_array(array))
        return false;
    server_list_read(array, &servers);
    if (server_list_equal(&servers, &told->servers)) {
        server_list_clear(&servers);
        return false;
    }
    server_list_clear(&told->servers);
    told->servers = servers;
    keep(told);
    return true;
}
