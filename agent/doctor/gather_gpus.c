/* SPDX-License-Identifier: Apache-2.0 */
/* gather_gpus.c - GPUs, asked of edl-prober as the agent does, and the kernel's view of them */
#include "agent/doctor/gather.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/options.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define PATIENCE_US (10 * USEC_PER_SEC)
#define ANSWER_MAX ((size_t)256 * 1024)
#define COMPLAINT_MAX ((size_t)4096)

enum { ASK, ANSWER, COMPLAINT, PIPES };

/* ---- what the kernel shows ---- */

static bool reads(const char *device, const char *file, const char *beginning)
{
    _cleanup_free_ char *path = text_format("/sys/bus/pci/devices/%s/%s", device, file);
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    char text[32] = "";

    return f != NULL && fgets(text, sizeof text, f) != NULL &&
           strncmp(text, beginning, strlen(beginning)) == 0;
}

/* NVIDIA's vendor number, and the class of displays and 3D controllers */
static unsigned count_on_bus(void)
{
    _cleanup_closedir_ DIR *folder = opendir("/sys/bus/pci/devices");
    const struct dirent *entry;
    unsigned count = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL)
        count += entry->d_name[0] != '.' && reads(entry->d_name, "vendor", "0x10de") &&
                 reads(entry->d_name, "class", "0x03");
    return count;
}

static void read_module(char ret[FACT_SIZE])
{
    _cleanup_fclose_ FILE *file = fopen("/sys/module/nvidia/version", "re");

    if (file == NULL || fgets(ret, FACT_SIZE, file) == NULL)
        ret[0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
}

/* ---- edl-prober ---- */

struct text {
    char *at; /* NUL-terminated */
    size_t n, most;
};

static int start(const struct doctor_context *context, int ends[PIPES][2], pid_t *ret)
{
    static const int theirs[PIPES] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
    const struct agent_options *o = context->options;
    _cleanup_free_ char *program = text_format("%s/edl-prober", context->program_dir);
    const char *argv[] = { "edl-prober", "--versions", o->state_dir,
                           o->output_dir != NULL ? o->output_dir : o->state_dir, NULL };
    posix_spawn_file_actions_t actions;
    int r;

    (void)posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < PIPES; i++)
        (void)posix_spawn_file_actions_adddup2(&actions, ends[i][i != ASK], theirs[i]);
    /* why the cast: it writes to none of them */
    r = posix_spawn(ret, program, &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

/* take - false: that was all */
static bool take(int fd, struct text *text)
{
    ssize_t n = read(fd, text->at + text->n, text->most - text->n);

    if (n <= 0)
        return false;
    text->n += (size_t)n;
    return text->n < text->most;
}

/* listen - until both are at their end; false: they were not in time */
static bool listen_to(const int fds[2], struct text texts[2])
{
    uint64_t deadline_us = clock_read_us(CLOCK_BOOTTIME) + PATIENCE_US;
    struct pollfd polls[2] = { { fds[0], POLLIN, 0 }, { fds[1], POLLIN, 0 } };

    while (polls[0].fd != -1 || polls[1].fd != -1) {
        uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

        if (now_us >= deadline_us ||
            poll(polls, 2, (int)((deadline_us - now_us) / USEC_PER_MSEC) + 1) == 0)
            return false;
        for (size_t i = 0; i < 2; i++)
            if (polls[i].revents != 0 && !take(polls[i].fd, &texts[i]))
                polls[i].fd = -1;
    }
    return true;
}

static void read_answer(const char *text, struct gpu_facts *ret)
{
    json_t *json = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
    const json_t *gpus = json_object_get(json, "gpus");
    const json_t *versions = json_object_get(json, "gpu_versions");
    const char *driver = json_string_value(json_object_get(versions, "driver"));
    const char *nvml = json_string_value(json_object_get(versions, "nvml"));

    ret->has_nvml = json_is_array(gpus);
    ret->n = (unsigned)json_array_size(gpus);
    (void)snprintf(ret->driver, sizeof ret->driver, "%s", driver != NULL ? driver : "");
    (void)snprintf(ret->nvml, sizeof ret->nvml, "%s", nvml != NULL ? nvml : "");
    json_decref(json);
}

/* What it logs last, without the time and its name. */
static void read_complaint(char *text, char ret[FACT_SIZE])
{
    static const char name[] = "edl-prober: ";
    char *line, *behind;

    for (size_t n = strlen(text); n > 0 && text[n - 1] == '\n'; n--)
        text[n - 1] = '\0';
    line = strrchr(text, '\n');
    line = line != NULL ? line + 1 : text;
    behind = strstr(line, name);
    if (line[0] == '<' && line[1] != '\0' && line[2] == '>')
        line += 3; /* for the journal */
    (void)snprintf(ret, FACT_SIZE, "%.250s", behind != NULL ? behind + sizeof name - 1 : line);
}

/* One that hangs in the kernel is left behind: it ends when it can. */
static void end(pid_t pid, bool in_time)
{
    _cleanup_close_ int pidfd = pidfd_open(pid, 0);
    struct pollfd gone = { pidfd, POLLIN, 0 };

    if (!in_time)
        (void)kill(pid, SIGKILL); /* our child, not waited for: the number is its own */
    if (pidfd == -1 || poll(&gone, 1, 1000) == 1)
        (void)waitpid(pid, NULL, 0);
}

static void converse(int ends[PIPES][2], pid_t pid, struct gpu_facts *ret)
{
    _cleanup_free_ char *answer = xcalloc(ANSWER_MAX + 1, 1);
    _cleanup_free_ char *complaint = xcalloc(COMPLAINT_MAX + 1, 1);
    struct text texts[2] = { { answer, 0, ANSWER_MAX }, { complaint, 0, COMPLAINT_MAX } };
    bool asked = write(ends[ASK][1], "\n", 1) == 1;

    ends[ASK][1] = safe_close(ends[ASK][1]); /* it ends behind its first answer */
    ret->timed_out = asked && !listen_to((int[]){ ends[ANSWER][0], ends[COMPLAINT][0] }, texts);
    end(pid, !ret->timed_out);
    read_complaint(complaint, ret->complaint);
    if (!ret->timed_out)
        read_answer(answer, ret);
}

static void ask_prober(const struct doctor_context *context, struct gpu_facts *ret)
{
    int ends[PIPES][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
    int r = 0;
    pid_t pid;

    for (size_t i = 0; r == 0 && i < PIPES; i++)
        r = pipe2(ends[i], O_CLOEXEC) == 0 ? 0 : -errno;
    if (r == 0)
        r = start(context, ends, &pid);
    ends[ASK][0] = safe_close(ends[ASK][0]);
    ends[ANSWER][1] = safe_close(ends[ANSWER][1]);
    ends[COMPLAINT][1] = safe_close(ends[COMPLAINT][1]);
    ret->prober_missing = r < 0;
    if (r < 0)
        (void)snprintf(ret->complaint, sizeof ret->complaint, "%s", strerror(-r));
    else
        converse(ends, pid, ret);
    for (size_t i = 0; i < PIPES; i++)
        for (size_t k = 0; k < 2; k++)
            (void)safe_close(ends[i][k]);
}

void gather_gpus(const struct doctor_context *context, struct doctor_facts *all)
{
    struct gpu_facts *ret = &all->gpus;

    ret->on_bus = count_on_bus();
    read_module(ret->module);
    ret->is_given = context->options->gpus_given;
    ret->given = context->options->gpus;
    ask_prober(context, ret);
}
