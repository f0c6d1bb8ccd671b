/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_path.c - paths and links in a workspace: whether they stay inside */
#include "shared/workspace_path.h"

#include <string.h>

static bool is_dotdot(const char *part, size_t n)
{
    return n == 2 && strncmp(part, "..", 2) == 0;
}

/* depth_of - how deep a relative path ends that starts at depth; -1: it leaves on the way */
static int depth_of(const char *path, int depth)
{
    while (*path != '\0') {
        size_t n = strcspn(path, "/");

        if (is_dotdot(path, n))
            depth--;
        else if (n > 0 && !(n == 1 && path[0] == '.'))
            depth++;
        if (depth < 0)
            return -1;
        path += n + (path[n] == '/');
    }
    return depth;
}

bool workspace_path_stays(const char *path)
{
    if (path[0] == '/')
        return false;
    while (*path != '\0') {
        size_t n = strcspn(path, "/");

        if (is_dotdot(path, n))
            return false;
        path += n + (path[n] == '/');
    }
    return true;
}

/* A link through another link may land elsewhere than its names say: "a -> b/..", where b is a link
 * to c/d. So ".." counts only before the first name; behind one it is refused. */
bool workspace_link_stays(const char *path, const char *target)
{
    int depth = depth_of(path, 0) - 1;

    if (target[0] == '\0' || target[0] == '/' || depth < 0)
        return false;
    while (strncmp(target, "../", 3) == 0 || strncmp(target, "./", 2) == 0) {
        depth -= target[1] == '.';
        target += strcspn(target, "/") + 1;
    }
    if (strcmp(target, "..") == 0)
        depth--;
    else if (!workspace_path_stays(target))
        return false;
    return depth >= 0;
}

/* is_python - "python", "python3.12", "python3.13t", "python3-dbg", "pypy3.10" */
static bool is_python(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;

    return (strncmp(name, "python", 6) == 0 || strncmp(name, "pypy", 4) == 0) &&
           name[strspn(name, "0123456789.abcdefghijklmnopqrstuvwxyz-")] == '\0';
}

bool workspace_link_is_interpreter(const char *path, const char *target)
{
    const char *slash = strrchr(path, '/');
    bool in_bin = slash != NULL && slash - path >= 4 && strncmp(slash - 4, "/bin", 4) == 0;

    return in_bin && is_python(path) && target[0] == '/' && is_python(target) &&
           workspace_path_stays(target + 1);
}
