/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_orders.c - any bytes as the scheduler's answer to an agent that asks for orders
 *
 * Accepted orders are planned, and each order made into a process folder as the agent does it. A
 * scheduler that was taken over is nobody to trust: no order makes a folder outside of those that
 * are there for jobs, or chooses the control group. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/environment.h"
#include "agent/files/file_request.h"
#include "agent/layout.h"
#include "agent/link/orders.h"
#include "agent/processes/process_dir.h"
#include "agent/session/session_request.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[64];
static struct layout layout;
static struct environment_facts facts;

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st;
    (void)flag;
    /* what is there from the beginning stays: the root and its folders */
    return at->level > 1 ? remove(path) : 0;
}

static int remove_all(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st;
    (void)flag;
    (void)at;
    return remove(path);
}

static void remove_root(void)
{
    (void)nftw(root, remove_all, 16, FTW_DEPTH | FTW_PHYS);
}

static char *folder(const char *name)
{
    char *path = NULL;

    if (asprintf(&path, "%s/%s", root, name) == -1 || mkdir(path, 0700) == -1)
        abort();
    return path;
}

static void start(void)
{
    (void)snprintf(root, sizeof root, "/tmp/edl-fuzz-orders-XXXXXX");
    if (mkdtemp(root) == NULL)
        abort();
    (void)atexit(remove_root);
    layout = (struct layout){ .node = xstrdup("n1"),
                              .state_dir = xstrdup(root),
                              .runtime_dir = xstrdup(root),
                              .processes_dir = folder("processes"),
                              .logs_dir = folder("logs"),
                              .work_dir = folder("work"),
                              .workspaces_dir = folder("workspaces"),
                              .archives_dir = folder("archives"),
                              .copies_dir = folder("copies"),
                              .output_dir = folder("output"),
                              .socket_path = xstrdup("/socket"),
                              .lease_path = xstrdup("/lease"),
                              .program_dir = xstrdup("/usr/bin") };
    facts = (struct environment_facts){ .boot_id = "boot",
                                        .lease_us = 1,
                                        .accounts = json_object(),
                                        .limits = { .cpu_millicores = UINT64_MAX,
                                                    .memory_bytes = UINT64_MAX,
                                                    .gpus = 2,
                                                    .port_first = 1,
                                                    .port_last = 65535 } };
}

/* The root has its folders, and nothing else has come. */
static void check_root(void)
{
    struct stat st;

    if (stat(root, &st) == -1 || st.st_nlink != 2 + 7)
        abort();
}

static void make(const struct process_id *id, const json_t *order)
{
    _cleanup_free_ char *path = layout_process_dir(&layout, id);
    struct edl_error error = { 0 };
    json_t *document = NULL, *back = NULL;
    int fd;

    if (environment_complete(&layout, id, order, &facts, &document, &error) < 0) {
        if (error.text[0] == '\0')
            abort();
        return;
    }
    if (json_object_get(document, "cgroup") != NULL)
        abort();
    if (process_dir_create(path, document, &error) == 0) {
        fd = process_dir_open(path, &error);
        if (fd < 0 || process_dir_read_order(fd, &back, &error) < 0 || !json_equal(back, document))
            abort();
        json_decref(back);
        (void)safe_close(fd);
    }
    json_decref(document);
}

/* ask - a folder of files that it asks for is one that belongs to the process, or one that any
 * process could be started in */
static void ask(const json_t *entry)
{
    struct edl_error error = { 0 };
    struct file_request request;

    if (file_request_parse(entry, &layout, &request, &error) < 0) {
        if (error.text[0] == '\0')
            abort();
        return;
    }
    if (!request.given && request.root != NULL &&
        (strncmp(request.root, root, strlen(root)) != 0 || strstr(request.root, "/../") != NULL))
        abort();
    file_request_clear(&request);
}

/* look - what a session is asked for is understood whole, or refused with a reason */
static void look(const json_t *entry)
{
    struct edl_error error = { 0 };
    struct session_request request;
    int r = session_request_parse(entry, &request, &error);

    if ((r < 0) != (error.text[0] != '\0'))
        abort();
    if (r == 0 && (request.words == NULL || strlen(request.id) != SESSION_ID_SIZE - 1 ||
                   (request.has_pty && (request.size.rows == 0 || request.size.columns == 0)) ||
                   (request.key != NULL && strpbrk(request.key, "\r\n") != NULL)))
        abort();
    session_request_clear(&request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct edl_error error = { 0 };
    struct orders orders;
    json_t *answer;

    if (root[0] == '\0')
        start();
    answer = json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL);
    if (answer != NULL && orders_parse(answer, &orders, &error) == 0) {
        struct reconcile_action *actions = xcalloc(orders.n + 1, sizeof *actions);
        size_t n = reconcile_plan(orders.list, orders.n, NULL, 0, true, actions);

        for (size_t i = 0; i < n && i < 4; i++)
            if (actions[i].kind == RECONCILE_START)
                make(&orders.list[actions[i].idx_order].id, orders.documents[actions[i].idx_order]);
        free(actions);
        orders_clear(&orders);
        check_root();
        (void)nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    } else if (answer != NULL && error.text[0] == '\0') {
        abort();
    }
    for (size_t i = 0; i < json_array_size(json_object_get(answer, "reads")); i++)
        ask(json_array_get(json_object_get(answer, "reads"), i));
    for (size_t i = 0; i < json_array_size(json_object_get(answer, "sessions")); i++)
        look(json_array_get(json_object_get(answer, "sessions"), i));
    json_decref(answer);
    return 0;
}
