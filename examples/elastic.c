/* SPDX-License-Identifier: Apache-2.0 */
/* elastic.c - a whole program that may grow, shrink and lose processes: it counts the bytes of
 * files
 *
 *     cc elastic.c $(pkg-config --cflags --libs edl) -o elastic
 *     edl submit --min 1 --max 4 -- $PWD/elastic /data/part-*
 *
 * Each file is a task. Each process takes tasks until there are none; the sums are in
 * EDL_OUTPUT_DIR/counted, a line per task that counts. */
#include <edl/edl.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

/* The list of tasks is the job's arguments, so all processes would put the same one. */
static int put_dataset(struct edl_client *edl, char **files, size_t n)
{
    struct edl_chunk *chunks = calloc(n, sizeof *chunks);
    struct edl_piece *pieces = calloc(n, sizeof *pieces);
    int r = chunks == NULL || pieces == NULL ? -ENOMEM : edl_dataset_exists(edl);

    for (size_t i = 0; r == 0 && i < n; i++) {
        chunks[i] = (struct edl_chunk){ .path = files[i], .n_records = 1 };
        pieces[i] = (struct edl_piece){ .chunks = &chunks[i], .n_chunks = 1 };
    }
    if (r == 0)
        r = edl_dataset_put(edl, "the files of the command line", pieces, n);
    free(pieces);
    free(chunks);
    return r < 0 ? r : 0;
}

/* What a trainer would train on. */
static int count_bytes(const struct edl_chunk *chunk, long *ret)
{
    FILE *file = fopen(chunk->path, "rb");

    if (file == NULL)
        return -errno;
    *ret = 0;
    while (fgetc(file) != EOF)
        (*ret)++;
    return fclose(file) == 0 ? 0 : -errno;
}

/* One line, written at once, so that those of several processes do not mix. */
static int note(const struct edl_task *task, long n_bytes)
{
    const char *dir = getenv("EDL_OUTPUT_DIR");
    char path[PATH_MAX];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/counted", dir != NULL ? dir : ".");
    file = fopen(path, "ae");
    if (file == NULL)
        return -errno;
    (void)fprintf(file, "%llu %llu %s %ld\n", (unsigned long long)task->pass,
                  (unsigned long long)task->id, task->chunks[0].path, n_bytes);
    return fclose(file) == 0 ? 0 : -errno;
}

static int work(struct edl_client *edl, const struct edl_task *task)
{
    char progress[64];
    long n_bytes;
    int r;

    if (count_bytes(&task->chunks[0], &n_bytes) < 0)
        return edl_task_failed(edl, task, "the file cannot be read");
    r = edl_task_done(edl, task);
    if (r == 0)
        r = note(task, n_bytes);
    (void)snprintf(progress, sizeof progress, "{\"task\": %llu, \"bytes\": %ld}",
                   (unsigned long long)task->id, n_bytes);
    (void)edl_progress(edl, progress); /* for people: it may fail */
    return r == -ESTALE ? 0 : r;       /* somebody else has it by now */
}

static int run(struct edl_client *edl, char **files, size_t n)
{
    int r = put_dataset(edl, files, n);

    while (r == 0) {
        struct edl_task *task = NULL;

        r = edl_task_next(edl, EDL_FOREVER, &task);
        if (r == EDL_NEXT_FINISHED)
            return 0;
        if (r == EDL_NEXT_SAVE_MODEL) /* one of all processes comes here */
            return edl_model_saved(edl, "counted");
        if (r == EDL_NEXT_TASK)
            r = work(edl, task);
        edl_task_free(task);
    }
    return r;
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = on_signal };
    struct edl_client *edl;
    int r;

    if (argc < 2 || edl_client_new(NULL, &edl) < 0) {
        (void)fputs("usage: edl submit -- elastic FILE...\n", stderr);
        return 2;
    }
    (void)sigaction(SIGTERM, &action, NULL);
    edl_client_set_stop(edl, &stop);
    r = run(edl, argv + 1, (size_t)argc - 1);
    if (r < 0 && r != -EINTR)
        (void)fprintf(stderr, "elastic: %s: %s\n", strerror(-r), edl_last_error(edl));
    edl_client_free(edl);
    return r < 0 && r != -EINTR;
}
