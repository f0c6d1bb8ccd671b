/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_home.c - see cgroup_home.h */
#include "agent/groups/cgroup_home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "agent/processes/process_group.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

/* Our own, beside those of processes. DelegateSubgroup= of a unit may have put us there already. */
#define AGENT_GROUP "edl-agent"
/* Of all processes, when they are to have what is left over. */
#define IDLE_GROUP "edl-jobs"
#define FOLDER_SIZE (CGROUP_PATH_SIZE + 64)

static void folder_of(char ret[FOLDER_SIZE], const char *root, const char *path)
{
    (void)snprintf(ret, FOLDER_SIZE, "%.60s%s", root, path);
}

static bool is_of_type(const char *path, long magic)
{
    struct statfs fs;

    return statfs(path, &fs) == 0 && fs.f_type == magic;
}

/* can_divide - make groups in it, and move processes between them */
static bool can_divide(const char *folder)
{
    char procs[FOLDER_SIZE + 16];

    (void)snprintf(procs, sizeof procs, "%s/cgroup.procs", folder);
    return access(folder, W_OK) == 0 && access(procs, W_OK) == 0;
}

/* strip - from the group that we move to back to the one that is divided; whether we were there */
static bool strip(char path[CGROUP_PATH_SIZE])
{
    char *name = strrchr(path, '/');

    if (!streq(name, "/" AGENT_GROUP))
        return false;
    name[name == path] = '\0';
    return true;
}

static bool is_delegated(const char *folder)
{
    static const char *const names[] = { "trusted.delegate", "user.delegate" };
    char value;

    for (size_t i = 0; i < ELEMENTS(names); i++)
        if (getxattr(folder, names[i], &value, sizeof value) == sizeof value && value == '1')
            return true;
    return false;
}

static bool systemd_runs(void)
{
    return access("/run/systemd/system", F_OK) == 0;
}

/* ---- what is there ---- */

static void read_words(const char *folder, const char *name, char *ret, size_t size)
{
    char path[FOLDER_SIZE + 32];
    _cleanup_fclose_ FILE *file = NULL;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "re");
    if (file == NULL || fgets(ret, (int)size, file) == NULL)
        ret[0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
}

static void find_controllers(struct cgroup_home *home)
{
    char folder[FOLDER_SIZE], words[256];

    folder_of(folder, cgroup_unified_root(), home->paths.unified);
    read_words(folder, "cgroup.controllers", words, sizeof words);
    for (enum cgroup_controller i = 0; i < CGROUP_CONTROLLERS; i++) {
        const char *name = cgroup_controller_name(i);
        char root[64];

        home->by_unified[i] = home->may_divide && cgroup_has_word(words, name);
        (void)snprintf(root, sizeof root, "%s/%s", cgroup_legacy_root(), name);
        folder_of(folder, root, home->paths.legacy[i]);
        if (home->by_unified[i] || home->paths.legacy[i][0] == '\0' ||
            !is_of_type(root, CGROUP_SUPER_MAGIC) || !can_divide(folder))
            home->paths.legacy[i][0] = '\0';
    }
}

int cgroup_home_find(struct cgroup_home *ret, struct edl_error *error)
{
    struct cgroup_home home = { 0 };
    char folder[FOLDER_SIZE];
    struct utsname machine = { 0 };
    bool was_aside;

    (void)cgroup_paths_of_self(&home.paths);
    *ret = (struct cgroup_home){ 0 };
    if (home.paths.unified[0] == '\0' || !is_of_type(cgroup_unified_root(), CGROUP2_SUPER_MAGIC)) {
        (void)edl_error_set(error, -ENOENT, "control groups of version 2 are not mounted");
        return edl_error_remedy(error, "mount -t cgroup2 none /sys/fs/cgroup");
    }
    was_aside = strip(home.paths.unified);
    folder_of(folder, cgroup_unified_root(), home.paths.unified);
    if (uname(&machine) == -1 || strverscmp(machine.release, "5.14") < 0) {
        (void)edl_error_set(error, -ENOTSUP, "Linux %.60s cannot kill a whole control group",
                            machine.release);
        return edl_error_remedy(error, "run Linux 5.14 or later");
    }
    if (systemd_runs() && !is_delegated(folder)) {
        (void)edl_error_set(error, -EPERM, "the control group %s is systemd's", home.paths.unified);
        return edl_error_remedy(error, "start edl-agent in a unit with Delegate=yes, or with "
                                       "--runtime systemd");
    }
    if (!can_divide(folder)) {
        (void)edl_error_set(error, -EPERM, "the control group %s cannot be written",
                            home.paths.unified);
        return edl_error_remedy(error, "start edl-agent as root, or in a group that its account "
                                       "owns");
    }
    /* Of a service that divides the group that it was put in, systemd could not start the next
     * main process: that group must have no process of its own then. */
    home.may_divide = !systemd_runs() || !cgroup_is_unit(home.paths.unified) || was_aside;
    find_controllers(&home);
    *ret = home;
    return 0;
}

/* ---- making it ready ---- */

static int write_word(const char *folder, const char *name, const char *word)
{
    char path[FOLDER_SIZE + 32];
    _cleanup_close_ int fd = -1;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd != -1 && write(fd, word, strlen(word)) == (ssize_t)strlen(word) ? 0 : -errno;
}

/* move_aside - a group that hands controllers down has no processes of its own but at the root */
static int move_aside(const struct cgroup_home *home, const char *folder)
{
    const char *above = home->paths.unified[1] != '\0' ? home->paths.unified : "";
    char path[CGROUP_PATH_SIZE + 16], file[FOLDER_SIZE + 16];
    int r;

    (void)snprintf(file, sizeof file, "%s/cgroup.type", folder);
    if (access(file, F_OK) == -1) /* only the root has none */
        return 0;
    (void)snprintf(path, sizeof path, "%s/%s", above, AGENT_GROUP);
    r = cgroup_make(path);
    return r < 0 ? r : cgroup_enter(path);
}

static void hand_down(struct cgroup_home *home)
{
    char folder[FOLDER_SIZE], words[256];
    bool is_aside = false;

    folder_of(folder, cgroup_unified_root(), home->paths.unified);
    read_words(folder, "cgroup.subtree_control", words, sizeof words);
    for (enum cgroup_controller i = 0; i < CGROUP_CONTROLLERS; i++) {
        const char *name = cgroup_controller_name(i);
        char word[16];
        int r = 0;

        if (!home->by_unified[i] || cgroup_has_word(words, name))
            continue;
        (void)snprintf(word, sizeof word, "+%s", name);
        if (!is_aside)
            r = move_aside(home, folder);
        is_aside = r == 0;
        if (r == 0)
            r = write_word(folder, "cgroup.subtree_control", word);
        home->by_unified[i] = r == 0;
        if (r < 0)
            log_warning("the %s controller is not to be had in %s (%s): other processes are in "
                        "that control group, or it is not ours to divide",
                        name, home->paths.unified, strerror(-r));
    }
}

static bool is_left(const char *name)
{
    const char *number = strrchr(name, '-');
    char *end;
    long pid;

    if (strncmp(name, PROCESS_GROUP_PREFIX, strlen(PROCESS_GROUP_PREFIX)) != 0 || number == NULL)
        return false;
    pid = strtol(number + 1, &end, 10);
    return *end == '\0' && pid > 0 && kill((pid_t)pid, 0) == -1 && errno == ESRCH;
}

/* sweep - those whose supervisor was killed before it could; one with processes in it stays */
static void sweep(const char *root, const char *path)
{
    char folder[FOLDER_SIZE], left[FOLDER_SIZE + NAME_MAX + 1];
    _cleanup_closedir_ DIR *groups = NULL;
    const struct dirent *entry;

    folder_of(folder, root, path);
    groups = opendir(folder);
    while (groups != NULL && (entry = readdir(groups)) != NULL) {
        if (entry->d_type != DT_DIR || !is_left(entry->d_name))
            continue;
        (void)snprintf(left, sizeof left, "%s/%s", folder, entry->d_name);
        cgroup_remove_folder(left);
    }
}

/* make_idle - a group between the home and those of processes, with all that they are held by in
 * its hierarchy; what its owner says of one that is there already stays */
static int make_idle(const struct cgroup_home *home, char path[CGROUP_PATH_SIZE], const char *root)
{
    char below[CGROUP_PATH_SIZE], folder[FOLDER_SIZE];
    bool is_unified = home->by_unified[CGROUP_CPU];
    int r = 0;

    if (snprintf(below, sizeof below, "%s/%s", path[1] != '\0' ? path : "", IDLE_GROUP) >=
        (int)sizeof below)
        return -ENAMETOOLONG;
    folder_of(folder, root, below);
    if (mkdir(folder, 0755) == 0) {
        r = write_word(folder, "cpu.idle", "1");
        if (r < 0) /* or the next start would take it for its owner's word */
            (void)rmdir(folder);
    } else if (errno != EEXIST) {
        r = -errno;
    }
    if (r < 0)
        return r;
    for (enum cgroup_controller i = 0; is_unified && r == 0 && i < CGROUP_CONTROLLERS; i++) {
        char word[16];

        (void)snprintf(word, sizeof word, "+%s", cgroup_controller_name(i));
        if (home->by_unified[i])
            r = write_word(folder, "cgroup.subtree_control", word);
    }
    if (r == 0)
        (void)snprintf(path, CGROUP_PATH_SIZE, "%s", below);
    return r;
}

static void be_idle(struct cgroup_home *home)
{
    char legacy_root[64];
    int r = -EOPNOTSUPP;

    (void)snprintf(legacy_root, sizeof legacy_root, "%s/%s", cgroup_legacy_root(),
                   cgroup_controller_name(CGROUP_CPU));
    if (home->by_unified[CGROUP_CPU])
        r = make_idle(home, home->paths.unified, cgroup_unified_root());
    else if (home->paths.legacy[CGROUP_CPU][0] != '\0')
        r = make_idle(home, home->paths.legacy[CGROUP_CPU], legacy_root);
    if (r < 0)
        log_warning("processes do not go behind this machine's own work (cpu-idle): no control "
                    "group for them can be idle: %s",
                    strerror(-r));
}

int cgroup_home_open(struct cgroup_home *ret, bool is_idle, struct edl_error *error)
{
    int r = cgroup_home_find(ret, error);

    if (r < 0)
        return r;
    hand_down(ret);
    if (is_idle)
        be_idle(ret);
    sweep(cgroup_unified_root(), ret->paths.unified);
    for (enum cgroup_controller i = 0; i < CGROUP_CONTROLLERS; i++) {
        char root[64];

        (void)snprintf(root, sizeof root, "%s/%s", cgroup_legacy_root(), cgroup_controller_name(i));
        if (ret->paths.legacy[i][0] != '\0')
            sweep(root, ret->paths.legacy[i]);
    }
    return 0;
}

bool cgroup_home_holds(const struct cgroup_home *home, enum cgroup_controller controller)
{
    return home->paths.unified[0] != '\0' &&
           (home->by_unified[controller] || home->paths.legacy[controller][0] != '\0');
}

/* ---- as JSON ---- */

json_t *cgroup_legacy_to_json(const char legacy[CGROUP_CONTROLLERS][CGROUP_PATH_SIZE])
{
    json_t *json = json_object();

    for (enum cgroup_controller i = 0; i < CGROUP_CONTROLLERS; i++)
        if (legacy[i][0] != '\0')
            (void)json_object_set_new(json, cgroup_controller_name(i), json_string(legacy[i]));
    return json;
}

static int take_path(const json_t *json, char ret[CGROUP_PATH_SIZE])
{
    const char *path = json_string_value(json);

    if (path == NULL || path[0] != '/' || strlen(path) >= CGROUP_PATH_SIZE ||
        strstr(path, "/..") != NULL)
        return -EINVAL;
    (void)snprintf(ret, CGROUP_PATH_SIZE, "%s", path);
    return 0;
}

int cgroup_legacy_from_json(const json_t *json, char ret[CGROUP_CONTROLLERS][CGROUP_PATH_SIZE])
{
    int r = 0;

    for (enum cgroup_controller i = 0; r == 0 && i < CGROUP_CONTROLLERS; i++) {
        const json_t *path = json_object_get(json, cgroup_controller_name(i));

        if (path != NULL)
            r = take_path(path, ret[i]);
    }
    return r;
}

json_t *cgroup_home_to_json(const struct cgroup_home *home)
{
    json_t *by_unified = json_array();

    for (enum cgroup_controller i = 0; i < CGROUP_CONTROLLERS; i++)
        if (home->by_unified[i])
            (void)json_array_append_new(by_unified, json_string(cgroup_controller_name(i)));
    return json_pack("{s:s, s:o, s:o}", "unified", home->paths.unified, "by_unified", by_unified,
                     "legacy", cgroup_legacy_to_json(home->paths.legacy));
}

int cgroup_home_from_json(const json_t *json, struct cgroup_home *ret)
{
    size_t i;
    const json_t *word;
    int r;

    *ret = (struct cgroup_home){ 0 };
    r = take_path(json_object_get(json, "unified"), ret->paths.unified);
    if (r == 0)
        r = cgroup_legacy_from_json(json_object_get(json, "legacy"), ret->paths.legacy);
    json_array_foreach(json_object_get(json, "by_unified"), i, word)
    {
        const char *name = json_string_value(word);

        for (enum cgroup_controller c = 0; name != NULL && c < CGROUP_CONTROLLERS; c++)
            ret->by_unified[c] = ret->by_unified[c] || streq(name, cgroup_controller_name(c));
    }
    return r;
}
