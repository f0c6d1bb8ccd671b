/* SPDX-License-Identifier: Apache-2.0 */
/* procfs_tree.c - see procfs_tree.h
 *
 * The kernel lists the children of each thread (/proc/PID/task/TID/children). One that was made
 * without that (CONFIG_PROC_CHILDREN) leaves no way but through all processes of the machine. */
#include "agent/machine/procfs_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/parse.h"

/* So many are found at most, and root's children are looked at so often: who forks faster than it
 * is found does not hold the caller. */
#define FOUND_MAX 65536
#define ROUNDS 4

/* Numbers that wait to be looked at, and whose children they were. */
struct waiting {
    struct {
        pid_t pid, parent;
    } * list;
    size_t n, room;
};

struct found {
    struct procfs_stat *list;
    size_t n, room;
};

static void waiting_done(struct waiting *waiting)
{
    free(waiting->list);
}

static void found_done(struct found *found)
{
    free(found->list);
}

static void await(struct waiting *waiting, pid_t pid, pid_t parent)
{
    if (waiting->n == waiting->room) {
        waiting->room = waiting->room ? waiting->room * 2 : 64;
        waiting->list = xreallocarray(waiting->list, waiting->room, sizeof *waiting->list);
    }
    waiting->list[waiting->n].pid = pid;
    waiting->list[waiting->n++].parent = parent;
}

static void add(struct found *found, const struct procfs_stat *process)
{
    if (found->n == found->room) {
        found->room = found->room ? found->room * 2 : 64;
        found->list = xreallocarray(found->list, found->room, sizeof *found->list);
    }
    found->list[found->n++] = *process;
}

/* ---- the children of one ---- */

/* take_numbers - each has a blank behind it; 0 is one of another namespace */
static int take_numbers(int fd, pid_t parent, struct waiting *waiting)
{
    char buffer[4096];
    pid_t number = 0;
    ssize_t n;

    while ((n = read(fd, buffer, sizeof buffer)) > 0)
        for (ssize_t i = 0; i < n; i++)
            if (buffer[i] >= '0' && buffer[i] <= '9') {
                number = number * 10 + (buffer[i] - '0');
            } else {
                if (number > 0)
                    await(waiting, number, parent);
                number = 0;
            }
    return n == 0 ? 0 : -errno;
}

static int children_of_thread(pid_t pid, pid_t tid, struct waiting *waiting)
{
    _cleanup_close_ int fd = -1;
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd == -1 ? -errno : take_numbers(fd, pid, waiting);
}

static int children_of(pid_t pid, uint64_t threads, struct waiting *waiting)
{
    _cleanup_closedir_ DIR *tasks = NULL;
    const struct dirent *entry;
    char path[64];
    uint64_t tid;

    if (threads <= 1)
        return children_of_thread(pid, pid, waiting);
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    if (tasks == NULL)
        return -errno;
    while ((entry = readdir(tasks)) != NULL)
        if (parse_u64(entry->d_name, &tid) == 0)
            (void)children_of_thread(pid, (pid_t)tid, waiting);
    return 0;
}

/* ---- where the kernel lists no children ---- */

static int compare_pid(const void *a, const void *b)
{
    const struct procfs_stat *x = a, *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct procfs_stat *find(const struct procfs_stat *list, size_t n, pid_t pid)
{
    const struct procfs_stat key = { .pid = pid };

    return n > 0 ? bsearch(&key, list, n, sizeof *list, compare_pid) : NULL;
}

/* mark_below - which of the list, sorted by pid, descend from root
 * A parent mostly has the lower number: one round finds almost all. */
static void mark_below(const struct procfs_stat *list, size_t n, pid_t root, bool *ret_below)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (size_t i = 0; i < n; i++) {
            const struct procfs_stat *parent;

            if (ret_below[i])
                continue;
            parent = find(list, n, list[i].ppid);
            ret_below[i] = list[i].ppid == root || (parent != NULL && ret_below[parent - list]);
            changed = changed || ret_below[i];
        }
    }
}

static int tree_of_all(pid_t root, struct procfs_stat **ret, size_t *ret_n)
{
    _cleanup_free_ struct procfs_stat *list = NULL;
    _cleanup_free_ bool *below = NULL;
    size_t n = 0, n_below = 0;
    int r = procfs_list(&list, &n);

    if (r < 0)
        return r;
    qsort(list, n, sizeof *list, compare_pid);
    below = xcalloc(n, sizeof *below);
    mark_below(list, n, root, below);
    for (size_t i = 0; i < n; i++)
        if (below[i])
            list[n_below++] = list[i];
    *ret = TAKE_PTR(list);
    *ret_n = n_below;
    return 0;
}

static int children_among_all(struct waiting *waiting)
{
    _cleanup_free_ struct procfs_stat *list = NULL;
    size_t n = 0;
    int r = procfs_list(&list, &n);

    for (size_t i = 0; i < n; i++)
        if (list[i].ppid == getpid())
            await(waiting, list[i].pid, getpid());
    return r;
}

/* ---- from parent to child ---- */

/* take_children - of one that was found. If it is the same afterwards, they were its own. */
static void take_children(const struct procfs_stat *process, struct waiting *waiting)
{
    struct procfs_stat now;
    size_t before = waiting->n;

    (void)children_of(process->pid, process->threads, waiting);
    if (waiting->n > before &&
        (procfs_stat(process->pid, &now) < 0 || now.start_ticks != process->start_ticks))
        waiting->n = before;
}

/* go_down - to all below those that wait, from the idx-th on */
static void go_down(pid_t root, size_t idx, struct waiting *waiting, struct found *found)
{
    struct procfs_stat process;

    for (; idx < waiting->n && found->n < FOUND_MAX; idx++) {
        pid_t parent = waiting->list[idx].parent;

        if (procfs_stat(waiting->list[idx].pid, &process) < 0 ||
            (process.ppid != parent && process.ppid != root))
            continue;
        add(found, &process);
        take_children(&process, waiting);
    }
}

/* sort - and each once: one whose parent died meanwhile is root's child as well */
static void sort(struct found *found)
{
    size_t n = 0;

    if (found->n == 0)
        return;
    qsort(found->list, found->n, sizeof *found->list, compare_pid);
    for (size_t i = 1; i < found->n; i++)
        if (found->list[i].pid != found->list[n].pid)
            found->list[++n] = found->list[i];
    found->n = n + 1;
}

/* drop_found - of those that wait, from the idx-th on */
static void drop_found(size_t idx, struct waiting *waiting, const struct found *found)
{
    size_t n = idx;

    for (size_t i = idx; i < waiting->n; i++)
        if (find(found->list, found->n, waiting->list[i].pid) == NULL)
            waiting->list[n++] = waiting->list[i];
    waiting->n = n;
}

int procfs_tree(pid_t root, struct procfs_stat **ret, size_t *ret_n)
{
    _cleanup_(waiting_done) struct waiting waiting = { 0 };
    _cleanup_(found_done) struct found found = { 0 };
    struct procfs_stat process;
    int r = procfs_stat(root, &process);

    for (int i = 0; r == 0 && i < ROUNDS; i++) {
        size_t before = waiting.n;

        r = children_of(root, process.threads, &waiting);
        if (r == -ENOENT && i == 0 && procfs_stat(root, &process) == 0)
            return tree_of_all(root, ret, ret_n);
        drop_found(before, &waiting, &found);
        if (waiting.n == before)
            break;
        go_down(root, before, &waiting, &found);
        sort(&found);
    }
    if (r < 0)
        return r;
    *ret = TAKE_PTR(found.list);
    *ret_n = found.n;
    return 0;
}

int procfs_children(pid_t **ret, size_t *ret_n)
{
    _cleanup_(waiting_done) struct waiting waiting = { 0 };
    pid_t *list;
    int r = children_of_thread(getpid(), getpid(), &waiting);

    if (r == -ENOENT)
        r = children_among_all(&waiting);
    if (r < 0)
        return r;
    list = xcalloc(waiting.n, sizeof *list);
    for (size_t i = 0; i < waiting.n; i++)
        list[i] = waiting.list[i].pid;
    *ret = list;
    *ret_n = waiting.n;
    return 0;
}
