/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_use.c - see gpu_use.h */
#include "agent/idle/gpu_use.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/machine/nvml.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define WORKS_PPM 10000

/* What the helper says, in one message. */
struct answer {
    uint64_t used_us;
    bool works;
};

bool gpu_use_sees_any(const char *visible)
{
    return visible == NULL || visible[strspn(visible, " ,")] != '\0';
}

/* is_visible - by its number in the order of the bus, or by its UUID or the beginning of that */
static bool is_visible(const char *visible, size_t number, const char *uuid)
{
    _cleanup_free_ char *list = xstrdup(visible != NULL ? visible : "");
    char *rest = list, *word;
    char digits[24];

    if (visible == NULL)
        return true;
    (void)snprintf(digits, sizeof digits, "%zu", number);
    while ((word = strsep(&rest, ", ")) != NULL)
        if (streq(word, digits) || (word[0] != '\0' && !isdigit((unsigned char)word[0]) &&
                                    uuid != NULL && strncasecmp(word, uuid, strlen(word)) == 0))
            return true;
    return false;
}

bool gpu_use_of(const json_t *gpus, const char *visible)
{
    size_t i;
    const json_t *gpu;

    json_array_foreach(gpus, i, gpu)
    {
        const char *uuid = json_string_value(json_object_get(gpu, "uuid"));
        const json_t *ppm = json_object_get(gpu, "utilisation_ppm");

        if (json_integer_value(ppm) >= WORKS_PPM && is_visible(visible, i, uuid))
            return true;
    }
    return false;
}

/* ---- in the helper ---- */

static uint64_t own_us(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * USEC_PER_SEC +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

_Noreturn static void help(int fd, pid_t parent)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    struct edl_error error = { 0 };
    struct nvml *nvml = NULL;
    char question;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    if (nvml_open(getenv("EDL_NVML_LIBRARY"), &nvml, &error) < 0)
        (void)log_failure(&error, "GPUs are not seen");
    while (nvml != NULL && read(fd, &question, 1) == 1) {
        json_t *gpus = NULL;
        struct answer answer = { 0 };

        if (nvml_gpus(nvml, &gpus, &error) < 0) {
            (void)log_failure(&error, "GPUs are not seen any more");
            break;
        }
        answer.works = gpu_use_of(gpus, visible);
        answer.used_us = own_us();
        json_decref(gpus);
        if (send(fd, &answer, sizeof answer, MSG_NOSIGNAL) != (ssize_t)sizeof answer)
            break;
    }
    _exit(0);
}

/* ---- in front of it ---- */

void gpu_use_begin(struct gpu_use *use)
{
    int ends[2];
    pid_t parent = getpid();

    *use = (struct gpu_use){ .fd = -1 };
    if (!gpu_use_sees_any(getenv("CUDA_VISIBLE_DEVICES")) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1)
        return;
    use->fd = ends[0];
    use->pid = fork();
    if (use->pid == 0) {
        (void)safe_close(ends[0]);
        help(ends[1], parent);
    }
    (void)safe_close(ends[1]);
    if (use->pid == -1)
        gpu_use_end(use);
}

/* take_answer - false: the helper has ended, so that there is no GPU, or nobody tells of it */
static bool take_answer(struct gpu_use *use)
{
    struct answer answer;
    ssize_t n = recv(use->fd, &answer, sizeof answer, MSG_DONTWAIT);

    if (n == (ssize_t)sizeof answer) {
        use->asked = false;
        use->works = answer.works;
        use->used_us = answer.used_us;
        return true;
    }
    return n == -1 && (errno == EAGAIN || errno == EINTR);
}

bool gpu_use_look(struct gpu_use *use)
{
    bool works;

    if (use->pid <= 0)
        return false;
    if (!take_answer(use)) {
        gpu_use_end(use);
        return false;
    }
    works = use->asked || use->works;
    if (!use->asked)
        use->asked = send(use->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
    return works;
}

void gpu_use_end(struct gpu_use *use)
{
    use->pid = 0;
    use->fd = safe_close(use->fd);
}
