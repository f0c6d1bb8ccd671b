/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_packages.c - see deploy_packages.h
 *
 * One child does all that may take long: a script, which prints a line for each file. */
#include "client/deploy/deploy_packages.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define OUTPUT_MAX_BYTES (256 * 1024)

extern char **environ;

struct deploy_packages {
    packages_fn fn;
    void *userdata;
    char *temporary; /* folder; owned; NULL: none */
    bool given;      /* the folder is the user's */
    char *folder;    /* owned */
    pid_t pid;       /* 0: it was reaped */
    int fd;
    sd_event_source *io, *child;
    char *output; /* owned */
    size_t n_output;
    bool at_end;
    int status;
    struct deploy_package list[DEPLOY_PACKAGES_MAX];
    size_t n;
};

/* $1 the folder, $2 "fetch" or "". Of each name and architecture the newest version; of ours only
 * what a node needs. A line: NAME VERSION ARCH SHA256 BYTES PATH. */
static const char script[] =
    "cd \"$1\" || exit 1\n"
    "if [ \"$2\" = fetch ]; then\n"
    "  for p in edl-agent edl-client edl-trainer python3-edl; do\n"
    "    apt-get -qq download $p >/dev/null 2>&1 || case $p in edl-agent | edl-client) exit 0 ;; "
    "esac\n"
    "  done\n"
    "fi\n"
    "for f in *.deb; do\n"
    "  [ -f \"$f\" ] || continue\n"
    "  v=$(dpkg-deb -W --showformat='${Package} ${Version} ${Architecture}' \"$f\" 2>/dev/null) || "
    "{ echo \"! $PWD/$f\"; continue; }\n"
    "  set -- $v\n"
    "  case $1 in\n"
    "  edl-agent | edl-client | edl-trainer | python3-edl) ;;\n"
    "  edl-* | libedl*) continue ;;\n"
    "  esac\n"
    "  printf '%s %s %s %s %s %s\\n' \"$1\" \"$2\" \"$3\" \"$(sha256sum <\"$f\" | cut -d' ' -f1)\" "
    "\"$(stat -Lc %s \"$f\")\" \"$PWD/$f\"\n"
    "done | sort -k1,1 -k3,3 -k2,2V | awk '$1 \" \" $3 != last && last != \"\" { print line } { "
    "last = "
    "$1 \" \" $3; line = $0 } END { if (last != \"\") print line }'\n";

static bool take_line(struct deploy_packages *packages, char *line)
{
    struct deploy_package *package = &packages->list[packages->n];
    char *fields[6], *rest = line;

    for (size_t i = 0; i < 5; i++) {
        fields[i] = strsep(&rest, " ");
        if (rest == NULL)
            return true; /* not one of ours */
    }
    fields[5] = rest;
    if (packages->n == DEPLOY_PACKAGES_MAX || strlen(fields[3]) != 64)
        return false;
    *package = (struct deploy_package){ .path = xstrdup(fields[5]),
                                        .name = xstrdup(fields[0]),
                                        .version = xstrdup(fields[1]),
                                        .arch = xstrdup(fields[2]),
                                        .bytes = strtoull(fields[4], NULL, 10) };
    memcpy(package->sha256, fields[3], 65);
    packages->n++;
    return true;
}

static int take_output(struct deploy_packages *packages, struct edl_error *error)
{
    char *rest = packages->output, *line;
    bool has_agent = false;

    while (rest != NULL && (line = strsep(&rest, "\n")) != NULL)
        if (strncmp(line, "! ", 2) == 0) {
            (void)edl_error_set(error, -EINVAL, "%.200s is no package that can be read", line + 2);
            return edl_error_remedy(error, "take it out of the folder, or copy it anew");
        } else if (!take_line(packages, line)) {
            (void)edl_error_set(error, -E2BIG, "%s has more than %d packages", packages->folder,
                                DEPLOY_PACKAGES_MAX);
            return edl_error_remedy(error, "keep edl-agent, edl-client, edl-trainer, python3-edl "
                                           "and the packages that they lack at the hosts");
        }
    for (size_t i = 0; i < packages->n; i++)
        has_agent |= streq(packages->list[i].name, "edl-agent");
    if (has_agent || !packages->given)
        return 0;
    (void)edl_error_set(error, -ENOENT, "%s has no package edl-agent", packages->folder);
    return edl_error_remedy(error, "name the folder in which packaging/build put the .deb files");
}

static void finish(struct deploy_packages *packages)
{
    struct edl_error error = { 0 };
    int r;

    if (!packages->at_end || packages->pid != 0)
        return;
    r = take_output(packages, &error);
    packages->fn(r < 0 ? &error : NULL, packages->userdata);
}

static int on_output(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct deploy_packages *packages = userdata;
    ssize_t n;

    (void)revents;
    n = read(fd, packages->output + packages->n_output, OUTPUT_MAX_BYTES - packages->n_output);
    if (n == -1 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n > 0) {
        packages->n_output += (size_t)n;
        return 0;
    }
    packages->output[packages->n_output] = '\0';
    packages->at_end = true;
    (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
    finish(packages);
    return 0;
}

static int on_child(sd_event_source *source, const siginfo_t *info, void *userdata)
{
    struct deploy_packages *packages = userdata;

    (void)source;
    packages->pid = 0;
    packages->status = info->si_status;
    finish(packages);
    return 0;
}

static int spawn(struct deploy_packages *packages, int out)
{
    const char *argv[] = {
        "sh", "-c", script, "sh", packages->folder, packages->given ? "" : "fetch", NULL
    };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int r;

    (void)sigemptyset(&none);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, out, 1);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    r = posix_spawn(&packages->pid, "/bin/sh", &actions, &attributes,
                    (char *const *)(uintptr_t)argv, environ); /* why: it writes to none of them */
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

static int find_folder(struct deploy_packages *packages, const char *folder)
{
    if (folder != NULL) {
        packages->given = true;
        packages->folder = realpath(folder, NULL);
        return packages->folder == NULL ? -errno : 0;
    }
    packages->temporary = xstrdup("/tmp/edl-packages-XXXXXX");
    if (mkdtemp(packages->temporary) == NULL) {
        free(TAKE_PTR(packages->temporary));
        return -errno;
    }
    packages->folder = xstrdup(packages->temporary);
    return 0;
}

int deploy_packages_start(sd_event *event, const char *folder, packages_fn fn, void *userdata,
                          struct deploy_packages **ret, struct edl_error *error)
{
    struct deploy_packages *packages = xcalloc(1, sizeof *packages);
    int pipes[2] = { -1, -1 };
    int r = find_folder(packages, folder);

    packages->fn = fn;
    packages->userdata = userdata;
    packages->fd = -1;
    packages->output = xcalloc(OUTPUT_MAX_BYTES + 1, 1);
    if (r >= 0 && pipe2(pipes, O_CLOEXEC) == -1)
        r = -errno;
    if (r >= 0) {
        packages->fd = pipes[0];
        r = spawn(packages, pipes[1]);
        (void)safe_close(pipes[1]);
    }
    if (r >= 0)
        r = sd_event_add_io(event, &packages->io, packages->fd, EPOLLIN, on_output, packages);
    if (r >= 0)
        r = sd_event_add_child(event, &packages->child, packages->pid, WEXITED, on_child, packages);
    if (r < 0) {
        (void)deploy_packages_free(packages);
        return edl_error_errno(error, r, "looking for packages in %s",
                               folder != NULL ? folder : "a temporary folder");
    }
    *ret = packages;
    return 0;
}

const struct deploy_package *deploy_packages_list(const struct deploy_packages *packages,
                                                  size_t *ret_n)
{
    *ret_n = packages->n;
    return packages->list;
}

static void remove_folder(const char *folder)
{
    _cleanup_closedir_ DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    (void)rmdir(folder);
}

struct deploy_packages *deploy_packages_free(struct deploy_packages *packages)
{
    if (packages == NULL)
        return NULL;
    (void)sd_event_source_disable_unref(packages->io);
    (void)sd_event_source_disable_unref(packages->child);
    (void)safe_close(packages->fd);
    if (packages->pid > 0) {
        (void)kill(packages->pid, SIGKILL);
        (void)waitpid(packages->pid, NULL, 0);
    }
    if (packages->temporary != NULL)
        remove_folder(packages->temporary);
    for (size_t i = 0; i < packages->n; i++) {
        free(packages->list[i].path);
        free(packages->list[i].name);
        free(packages->list[i].version);
        free(packages->list[i].arch);
    }
    free(packages->temporary);
    free(packages->folder);
    free(packages->output);
    free(packages);
    return NULL;
}
