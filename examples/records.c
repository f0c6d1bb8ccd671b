/* SPDX-License-Identifier: Apache-2.0 */
/* records.c - a whole program over the records of a data set: it fits a line to points, each a
 * record with x and y
 *
 *     cc records.c $(pkg-config --cflags --libs edl) -o records
 *     ./records 'data/train-*'                                                      # alone
 *     edl submit --min 1 --max 4 --dataset "$PWD/data/train-*" -- $PWD/records
 *
 * It is the same program in both places. In a job the records are dealt out: each is counted once
 * in each pass, whichever processes come, go or are killed. Each process fits a line of its own. */
#include <edl/edl.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASSES 5
#define RATE 0.01

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

/* y = a x + b */
struct line {
    double a, b;
    unsigned long long n; /* records in this pass */
};

static void learn(struct line *line, const char *record, size_t size)
{
    char text[64];
    double x, y, error;

    (void)snprintf(text, sizeof text, "%.*s", (int)size, record);
    if (sscanf(text, "%lf %lf", &x, &y) != 2)
        return;
    error = line->a * x + line->b - y;
    line->a -= RATE * 2 * error * x;
    line->b -= RATE * 2 * error;
    line->n++;
}

static void tell(struct line *line, unsigned long long pass)
{
    (void)printf("pass %llu: %llu records here, y = %.2f x + %.2f\n", pass, line->n, line->a,
                 line->b);
    (void)fflush(stdout);
    line->n = 0;
}

static int save(struct edl_client *edl, const struct line *line)
{
    const char *dir = getenv("EDL_OUTPUT_DIR");
    char path[4096];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/line", dir != NULL ? dir : ".");
    file = fopen(path, "we");
    if (file == NULL)
        return -errno;
    (void)fprintf(file, "%.6f %.6f\n", line->a, line->b);
    if (fclose(file) != 0)
        return -errno;
    return edl_model_saved(edl, path);
}

static int run(struct edl_client *edl, struct edl_records *records)
{
    struct line line = { 0 };

    for (;;) {
        const void *record = NULL;
        size_t size = 0;
        int r = edl_records_next(records, &record, &size);

        if (r == EDL_RECORD)
            learn(&line, record, size);
        else if (r == EDL_RECORD_PASS_END)
            tell(&line, (unsigned long long)edl_records_pass(records));
        else if (r == EDL_RECORD_SAVE_MODEL) /* one of all processes comes here */
            return save(edl, &line);
        else
            return r;
    }
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = on_signal };
    struct edl_client *edl = NULL; /* outside of a job there is none */
    struct edl_records *records;
    int r;

    if (edl_client_new(NULL, &edl) == 0)
        edl_client_set_stop(edl, &stop);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)edl_records_open(edl, argc > 1 ? argv[1] : NULL, EDL_RECORD_AUTO, PASSES, &records);
    r = run(edl, records);
    if (r < 0 && r != -EINTR)
        (void)fprintf(stderr, "records: %s: %s\n", strerror(-r), edl_records_error(records));
    edl_records_close(records); /* what is not consumed goes back at once */
    edl_client_free(edl);
    return r < 0 && r != -EINTR;
}
