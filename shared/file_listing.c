/* SPDX-License-Identifier: Apache-2.0 */
/* file_listing.c - see file_listing.h */
#include "shared/file_listing.h"

#include <errno.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define PART_MAX 255
#define MODE_BITS 07777

static bool part_allowed(const char *part, size_t n)
{
    return n > 0 && n <= PART_MAX && !(n == 1 && part[0] == '.') &&
           !(n == 2 && part[0] == '.' && part[1] == '.');
}

/* is_text - UTF-8 as JSON takes it, and nothing that moves a cursor */
static bool is_text(const char *path, size_t n)
{
    json_t *text = json_stringn(path, n);
    bool well = text != NULL;

    json_decref(text);
    for (size_t i = 0; well && i < n; i++) {
        unsigned char c = (unsigned char)path[i];

        /* C1 controls are C2 80 .. C2 9F */
        well = c >= 0x20 && c != 0x7f &&
               !(c == 0xc2 && i + 1 < n && (unsigned char)path[i + 1] < 0xa0);
    }
    return well;
}

bool file_path_allowed(const char *path)
{
    size_t size = strlen(path);
    const char *part = path;

    if (size == 0 || size > FILE_PATH_MAX || !is_text(path, size))
        return false;
    for (;;) {
        size_t n = strcspn(part, "/");

        if (!part_allowed(part, n))
            return false;
        if (part[n] == '\0')
            return true;
        part += n + 1;
    }
}

json_t *file_entry_json(const struct file_entry *entry)
{
    const char *sha256 = entry->sha256[0] != '\0' ? entry->sha256 : NULL;

    if (!file_path_allowed(entry->path))
        return NULL;
    return json_pack("{s:s,s:I,s:I,s:i,s:s*}", "path", entry->path, "bytes",
                     (json_int_t)entry->bytes, "mtime_us", (json_int_t)entry->mtime_us, "mode",
                     (int)(entry->mode & MODE_BITS), "sha256", sha256);
}

json_t *file_sums_json(const struct file_sums *sums)
{
    return json_pack("{s:b,s:I,s:I,s:I,s:I,s:I}", "end", 1, "files", (json_int_t)sums->files,
                     "bytes", (json_int_t)sums->bytes, "links", (json_int_t)sums->links, "unnamed",
                     (json_int_t)sums->unnamed, "unreadable", (json_int_t)sums->unreadable);
}

static int number_of(const json_t *object, const char *key, uint64_t *ret, struct edl_error *error)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return edl_error_set(error, -EINVAL, "a line of the list has no \"%s\"", key);
    *ret = (uint64_t)json_integer_value(value);
    return 0;
}

static int parse_sums(const json_t *object, struct file_sums *ret, struct edl_error *error)
{
    struct file_sums sums;
    const struct {
        const char *key;
        uint64_t *to;
    } members[] = { { "files", &sums.files },
                    { "bytes", &sums.bytes },
                    { "links", &sums.links },
                    { "unnamed", &sums.unnamed },
                    { "unreadable", &sums.unreadable } };
    int r = 0;

    for (size_t i = 0; r == 0 && i < ELEMENTS(members); i++)
        r = number_of(object, members[i].key, members[i].to, error);
    if (r < 0)
        return r;
    *ret = sums;
    return 1;
}

static int parse_entry(const json_t *object, struct file_entry *ret, struct edl_error *error)
{
    const char *path = json_string_value(json_object_get(object, "path"));
    const json_t *sum = json_object_get(object, "sha256");
    const char *sha256 = json_string_value(sum);
    struct file_entry entry = { 0 };
    uint64_t mode;
    int r;

    if (path == NULL || !file_path_allowed(path))
        return edl_error_set(error, -EINVAL, "the list names a path that leads elsewhere");
    if (sum != NULL && (sha256 == NULL || !workspace_hex_valid(sha256)))
        return edl_error_set(error, -EINVAL, "the list has a wrong SHA-256 of %.200s", path);
    r = number_of(object, "bytes", &entry.bytes, error);
    if (r == 0)
        r = number_of(object, "mtime_us", &entry.mtime_us, error);
    if (r == 0)
        r = number_of(object, "mode", &mode, error);
    if (r < 0)
        return r;
    memcpy(entry.path, path, strlen(path) + 1);
    if (sha256 != NULL)
        memcpy(entry.sha256, sha256, sizeof entry.sha256);
    entry.mode = (unsigned)(mode & MODE_BITS);
    *ret = entry;
    return 0;
}

int file_listing_parse(const char *line, size_t size, struct file_entry *ret_entry,
                       struct file_sums *ret_sums, struct edl_error *error)
{
    _cleanup_(json_decrefp) json_t *object = NULL;

    if (size <= FILE_LISTING_LINE_BYTES)
        object = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(object))
        return edl_error_set(error, -EINVAL, "a line of the list is no JSON object");
    return json_is_true(json_object_get(object, "end")) ? parse_sums(object, ret_sums, error)
                                                        : parse_entry(object, ret_entry, error);
}

json_t *file_link_json(const char *path, const char *target)
{
    size_t size = target != NULL ? strlen(target) : 0;

    if (path == NULL || !file_path_allowed(path) || size == 0 || size > FILE_LINK_TARGET_MAX ||
        !is_text(target, size))
        return NULL;
    return json_pack("{s:s,s:s}", "path", path, "target", target);
}

json_t *file_listing_links(const char *line, size_t size)
{
    _cleanup_(json_decrefp) json_t *object = NULL;
    json_t *links = json_array(), *link;
    size_t i;

    if (size <= FILE_LISTING_LINE_BYTES)
        object = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
    json_array_foreach(json_object_get(object, "link_list"), i, link)
    {
        json_t *well = file_link_json(json_string_value(json_object_get(link, "path")),
                                      json_string_value(json_object_get(link, "target")));

        if (well != NULL)
            (void)json_array_append_new(links, well);
    }
    return links;
}
