/* SPDX-License-Identifier: Apache-2.0 */
/* host_list.c - see host_list.h
 *
 * One table has the names; each has a function that takes its value. */
#include "shared/host_list.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/account_name.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/literals.h"
#include "shared/macro.h"
#include "shared/nearest.h"
#include "shared/parse.h"
#include "shared/printable.h"

#define HOST_NAME_MAX_BYTES 253 /* RFC 1035 §2.3.4, without the last dot */
#define HOSTS_FORM "write \"user@host\", \"host\" or \"user@host:port\""

struct reading {
    struct host_list *list;
    uint32_t given; /* a bit for each row of the table */
    const char *file;
};

struct setting {
    const char *name;
    enum literal_kind kind; /* of its value */
    int (*take)(struct host_list *list, const struct literal *value,
                const struct literal_place *place, struct edl_error *error);
    const char *example;
};

void host_clear(struct host *host)
{
    free(host->text);
    free(host->user);
    free(host->name);
    *host = (struct host){ 0 };
}

void host_list_clear(struct host_list *list)
{
    for (size_t i = 0; i < list->n_hosts; i++)
        host_clear(&list->hosts[i]);
    free(list->hosts);
    free(list->file);
    free(list->root_dir);
    free(list->nic);
    free(list->ld_library_path);
    *list = (struct host_list){ 0 };
}

/* An IPv6 address, with a scope ("fe80::1%eth0") or without. */
static bool is_address(const char *text, size_t n)
{
    char address[INET6_ADDRSTRLEN] = "";
    struct in6_addr ignored;
    size_t length = strcspn(text, "%");

    length = MIN_OF(length, n);
    for (size_t i = length; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && strchr("%-_.", text[i]) == NULL)
            return false;
    if (length >= sizeof address)
        return false;
    memcpy(address, text, length);
    return inet_pton(AF_INET6, address, &ignored) == 1;
}

/* Of names and addresses; a name that began with '-' would be an option of ssh. */
static bool is_host_name(const char *text, size_t n)
{
    if (n == 0 || n > HOST_NAME_MAX_BYTES)
        return false;
    if (memchr(text, ':', n) != NULL)
        return is_address(text, n);
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && (strchr(".-_", text[i]) == NULL || i == 0))
            return false;
    return true;
}

static int refuse_host(struct edl_error *error, const char *text, const char *why)
{
    char shown[80];

    (void)printable_escape(text, shown, sizeof shown);
    (void)edl_error_set(error, -EINVAL, "\"%s\" is no host: %s", shown, why);
    return edl_error_remedy(error, HOSTS_FORM);
}

/* Where the port begins, behind its colon; NULL: there is none. ::1 is an address, [::1]:22 has a
 * port. */
static const char *port_of(const char *at)
{
    const char *colon = strrchr(at, ':');

    if (*at == '[')
        return colon != NULL && colon[-1] == ']' ? colon + 1 : NULL;
    return colon != NULL && strchr(at, ':') == colon ? colon + 1 : NULL;
}

int host_parse(const char *text, struct host *ret, struct edl_error *error)
{
    const char *at = strrchr(text, '@');
    const char *host = at != NULL ? at + 1 : text;
    const char *port = port_of(host);
    size_t n = port != NULL ? (size_t)(port - 1 - host) : strlen(host);
    _cleanup_free_ char *user = at != NULL ? strndup(text, (size_t)(at - text)) : NULL;
    uint64_t number = 0;

    if (user != NULL && !account_name_valid(user))
        return refuse_host(error, text, "before the @ stands no name of an account");
    if (port != NULL && (parse_u64(port, &number) < 0 || number == 0 || number > UINT16_MAX))
        return refuse_host(error, text, "a port is a number from 1 to 65535");
    if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
        host++;
        n -= 2;
    }
    if (!is_host_name(host, n))
        return refuse_host(error, text, "it has no name or address that can be looked up");
    *ret = (struct host){ .text = xstrdup(text),
                          .user = TAKE_PTR(user),
                          .name = strndup(host, n),
                          .port = (uint16_t)number };
    return 0;
}

static bool same_host(const struct host *a, const struct host *b)
{
    return strcasecmp(a->name, b->name) == 0 &&
           (a->port != 0 ? a->port : 22) == (b->port != 0 ? b->port : 22);
}

static int add_host(struct host_list *list, const struct literal *item, const char *file,
                    struct edl_error *error)
{
    struct literal_place place = { file, item->line, item->column };
    struct host host = { 0 };
    int r;

    if (item->kind != LITERAL_STRING) {
        (void)literal_refuse(&place, error, "HOSTS holds %s, and a host is a string",
                             literal_kind_text(item->kind));
        return edl_error_remedy(error, HOSTS_FORM);
    }
    r = host_parse(item->string, &host, error);
    if (r < 0) {
        edl_error_prefix(error, "%.120s:%u:%u: ", file, item->line, item->column);
        return r;
    }
    host.line = item->line;
    host.column = item->column;
    for (size_t i = 0; i < list->n_hosts; i++)
        if (same_host(&list->hosts[i], &host)) {
            (void)literal_refuse(&place, error,
                                 "the host %s stands in HOSTS twice, first in line %u", host.text,
                                 list->hosts[i].line);
            host_clear(&host);
            return edl_error_remedy(error, "take one of them out");
        }
    list->hosts[list->n_hosts++] = host;
    return 0;
}

static int take_hosts(struct host_list *list, const struct literal *value,
                      const struct literal_place *place, struct edl_error *error)
{
    int r = 0;

    if (value->n_items == 0 || value->n_items > HOST_LIST_MAX) {
        (void)literal_refuse(place, error, "HOSTS has %zu host%s, and 1 to %d are possible",
                             value->n_items, PLURAL(value->n_items), HOST_LIST_MAX);
        return edl_error_remedy(error, "HOSTS = [\"root@n1\", \"root@n2\"]");
    }
    list->hosts = xcalloc(value->n_items, sizeof *list->hosts);
    for (size_t i = 0; i < value->n_items && r >= 0; i++)
        r = add_host(list, &value->items[i], place->file, error);
    return r;
}

static int take_text(char **to, const char *name, const struct literal *value,
                     const struct literal_place *place, struct edl_error *error)
{
    if (value->string[0] == '\0' || !printable_is(value->string)) {
        (void)literal_refuse(place, error, "%s is %s", name,
                             value->string[0] == '\0' ? "empty" : "a text with control characters");
        return edl_error_remedy(error, "give it a value, or leave the line out");
    }
    *to = xstrdup(value->string);
    return 0;
}

static int take_root_dir(struct host_list *list, const struct literal *value,
                         const struct literal_place *place, struct edl_error *error)
{
    const char *path = value->string;

    if (path[0] != '/' || strstr(path, "/../") != NULL ||
        (strlen(path) >= 3 && streq(path + strlen(path) - 3, "/.."))) {
        (void)literal_refuse(place, error, "ROOT_DIR is no absolute path without \"..\"");
        return edl_error_remedy(error, "a folder that is the same on all hosts, like /home/paddle");
    }
    return take_text(&list->root_dir, "ROOT_DIR", value, place, error);
}

static int take_nic(struct host_list *list, const struct literal *value,
                    const struct literal_place *place, struct edl_error *error)
{
    return take_text(&list->nic, "PADDLE_NIC", value, place, error);
}

static int take_library_path(struct host_list *list, const struct literal *value,
                             const struct literal_place *place, struct edl_error *error)
{
    return take_text(&list->ld_library_path, "LD_LIBRARY_PATH", value, place, error);
}

static int take_number(const char *name, const struct literal *value, int64_t least, int64_t most,
                       const struct literal_place *place, struct edl_error *error)
{
    if (value->integer >= least && value->integer <= most)
        return 0;
    (void)literal_refuse(place, error, "%s is %lld", name, (long long)value->integer);
    return edl_error_remedy(error, "a number from %lld to %lld", (long long)least, (long long)most);
}

static int take_port(struct host_list *list, const struct literal *value,
                     const struct literal_place *place, struct edl_error *error)
{
    int r = take_number("PADDLE_PORT", value, 1, UINT16_MAX, place, error);

    list->port = (uint16_t)value->integer;
    return r;
}

static int take_ports_num(struct host_list *list, const struct literal *value,
                          const struct literal_place *place, struct edl_error *error)
{
    list->ports_num = (uint32_t)value->integer;
    return take_number("PADDLE_PORTS_NUM", value, 1, HOST_LIST_PORTS_MAX, place, error);
}

static int take_ports_num_sparse(struct host_list *list, const struct literal *value,
                                 const struct literal_place *place, struct edl_error *error)
{
    list->ports_num_for_sparse = (uint32_t)value->integer;
    return take_number("PADDLE_PORTS_NUM_FOR_SPARSE", value, 0, HOST_LIST_PORTS_MAX, place, error);
}

/* The seeds' file has "False", a string. */
static int take_use_gpu(struct host_list *list, const struct literal *value,
                        const struct literal_place *place, struct edl_error *error)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = { { "True", true }, { "False", false }, { "1", true }, { "0", false } };

    if (value->kind == LITERAL_BOOL ||
        (value->kind == LITERAL_INT && (value->integer == 0 || value->integer == 1))) {
        list->use_gpu = value->boolean || value->integer != 0;
        return 0;
    }
    for (size_t i = 0; i < ELEMENTS(words) && value->kind == LITERAL_STRING; i++)
        if (strcasecmp(value->string, words[i].word) == 0) {
            list->use_gpu = words[i].value;
            return 0;
        }
    (void)literal_refuse(place, error, "PADDLE_USE_GPU is neither true nor false");
    return edl_error_remedy(error, "PADDLE_USE_GPU = \"True\", or \"False\"");
}

static const struct setting settings[] = {
    { "HOSTS", LITERAL_LIST, take_hosts, "HOSTS = [\"root@n1\", \"root@n2\"]" },
    { "ROOT_DIR", LITERAL_STRING, take_root_dir, "ROOT_DIR = \"/home/paddle\"" },
    { "PADDLE_NIC", LITERAL_STRING, take_nic, "PADDLE_NIC = \"eth0\"" },
    { "PADDLE_PORT", LITERAL_INT, take_port, "PADDLE_PORT = 7164" },
    { "PADDLE_PORTS_NUM", LITERAL_INT, take_ports_num, "PADDLE_PORTS_NUM = 2" },
    { "PADDLE_PORTS_NUM_FOR_SPARSE", LITERAL_INT, take_ports_num_sparse,
      "PADDLE_PORTS_NUM_FOR_SPARSE = 2" },
    { "LD_LIBRARY_PATH", LITERAL_STRING, take_library_path,
      "LD_LIBRARY_PATH = \"/usr/local/cuda/lib64:/usr/lib64\"" },
    { "PADDLE_USE_GPU", LITERAL_NONE, take_use_gpu, "PADDLE_USE_GPU = \"False\"" },
};

static bool is_of_kind(const struct setting *setting, const struct literal *value)
{
    if (setting->kind == LITERAL_LIST && value->kind == LITERAL_TUPLE)
        return true;
    return setting->kind == LITERAL_NONE || setting->kind == value->kind;
}

static int refuse_name(const char *name, const struct literal_place *place, struct edl_error *error)
{
    const char *names[ELEMENTS(settings)], *nearest;

    for (size_t i = 0; i < ELEMENTS(settings); i++)
        names[i] = settings[i].name;
    nearest = nearest_word(name, names, ELEMENTS(names));
    (void)literal_refuse(place, error, "%s is no name that is known", name);
    return edl_error_remedy(error, "%s%s; edl-hosts.conf(5) lists all",
                            nearest != NULL ? "write " : "",
                            nearest != NULL ? nearest : "leave it out");
}

static int set(const char *name, const struct literal_place *place, const struct literal *value,
               void *userdata, struct edl_error *error)
{
    struct reading *reading = userdata;
    struct literal_place at = { place->file, value->line, value->column };
    size_t i = 0;

    while (i < ELEMENTS(settings) && !streq(settings[i].name, name))
        i++;
    if (i == ELEMENTS(settings))
        return refuse_name(name, place, error);
    if (reading->given >> i & 1) {
        (void)literal_refuse(place, error, "%s is given twice", name);
        return edl_error_remedy(error, "take one of them out");
    }
    reading->given |= UINT32_C(1) << i;
    if (is_of_kind(&settings[i], value))
        return settings[i].take(reading->list, value, &at, error);
    (void)literal_refuse(&at, error, "%s is %s, and has to be %s", name,
                         literal_kind_text(value->kind), literal_kind_text(settings[i].kind));
    return edl_error_remedy(error, "%s", settings[i].example);
}

int host_list_parse(const char *file, const char *text, size_t size, struct host_list *ret,
                    struct edl_error *error)
{
    struct reading reading = { .list = ret, .file = file };
    int r;

    *ret = (struct host_list){ .file = xstrdup(file), .port = HOST_LIST_PORT, .ports_num = 1 };
    r = literals_read(file, text, size, set, &reading, error);
    if (r < 0)
        return r;
    if (ret->port + ret->ports_num + ret->ports_num_for_sparse > UINT16_MAX + 1) {
        (void)edl_error_set(error, -EINVAL,
                            "%.120s: from PADDLE_PORT %u on, %u port%s end beyond 65535", file,
                            ret->port, ret->ports_num + ret->ports_num_for_sparse,
                            PLURAL(ret->ports_num + ret->ports_num_for_sparse));
        return edl_error_remedy(error, "a smaller PADDLE_PORT: 7164, say");
    }
    if (ret->n_hosts == 0) {
        (void)edl_error_set(error, -EINVAL, "%.120s has no HOSTS", file);
        return edl_error_remedy(error, "add a line: %s", settings[0].example);
    }
    return 0;
}

static int read_text(int fd, const char *file, char **ret, size_t *ret_size,
                     struct edl_error *error)
{
    size_t n = 0;
    ssize_t got;

    *ret = xcalloc(LITERALS_BYTES_MAX + 2, 1);
    do {
        got = read(fd, *ret + n, LITERALS_BYTES_MAX + 1 - n);
        n += got > 0 ? (size_t)got : 0;
    } while ((got == -1 && errno == EINTR) || got > 0);
    *ret_size = n;
    return got == -1 ? edl_error_errno(error, -errno, "cannot read %.120s", file) : 0;
}

int host_list_load(const char *file, struct host_list *ret, struct edl_error *error)
{
    const char *path = file != NULL ? file : HOST_LIST_FILE;
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    _cleanup_free_ char *text = NULL;
    struct stat st;
    size_t size = 0;

    *ret = (struct host_list){ 0 };
    if (fd == -1) {
        (void)edl_error_errno(error, -errno, "cannot open the list of hosts %.120s", path);
        return edl_error_remedy(error,
                                file != NULL
                                    ? "name your conf.py: --conf FILE"
                                    : "name your conf.py with --conf FILE, or write this one: "
                                      "edl-hosts.conf(5)");
    }
    if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
        return edl_error_set(error, -EINVAL, "%.120s is not a file", path);
    if (read_text(fd, path, &text, &size, error) < 0)
        return error->code;
    return host_list_parse(path, text, size, ret, error);
}
