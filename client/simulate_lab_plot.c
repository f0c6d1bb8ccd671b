/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_lab_plot.c - completion times of every policy as a picture: which share of the jobs was
 * done after how long, time in powers of ten; SVG */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "client/simulate_lab.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/trace/trace.h"

#define LEFT 70
#define TOP 30
#define WIDTH 640
#define HEIGHT 360
#define LEGEND 150
#define STEPS 200 /* points of a curve */

/* Told apart by people who see colours differently as well (Okabe and Ito). */
static const char *const colours[] = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999",
};

struct plot {
    const struct lab *lab;
    const struct lab_level *level;
    FILE *file;
    double first, last; /* powers of ten */
};

/* all_times - of one policy over all traces, sorted; new array */
static double *all_times(const struct plot *plot, const struct lab_row *row, size_t *ret_n)
{
    double *times;
    size_t n = 0;

    for (size_t t = 0; t < plot->lab->n_traces; t++)
        n += plot->level->traces[t]->n;
    times = xcalloc(n, sizeof(*times));
    *ret_n = n;
    n = 0;
    for (size_t t = 0; t < plot->lab->n_traces; t++)
        for (size_t i = 0; i < plot->level->traces[t]->n; i++)
            times[n++] = fmax(row->completions_s[t][i], 1e-3);
    sort_numbers(times, n);
    return times;
}

static void set_range(struct plot *plot)
{
    plot->first = INFINITY;
    plot->last = -INFINITY;
    for (size_t i = 0; i < plot->level->n_rows; i++) {
        size_t n;
        double *times = all_times(plot, &plot->level->rows[i], &n);

        plot->first = fmin(plot->first, floor(log10(times[0])));
        plot->last = fmax(plot->last, ceil(log10(times[n - 1])));
        free(times);
    }
    plot->last = fmax(plot->last, plot->first + 1);
}

static double x_of(const struct plot *plot, double seconds)
{
    return LEFT + WIDTH * (log10(seconds) - plot->first) / (plot->last - plot->first);
}

static double y_of(double share)
{
    return TOP + HEIGHT * (1 - share);
}

static void draw_text(const struct plot *plot, double x, double y, const char *anchor,
                      const char *text)
{
    (void)fprintf(plot->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y,
                  anchor, text);
}

static void draw_line(const struct plot *plot, double x1, double y1, double x2, double y2)
{
    (void)fprintf(plot->file,
                  "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                  "stroke=\"#ccc\"/>\n",
                  x1, y1, x2, y2);
}

static void draw_axes(const struct plot *plot)
{
    char text[160];

    for (int i = 0; i <= 4; i++) {
        (void)snprintf(text, sizeof(text), "%d %%", 25 * i);
        draw_line(plot, LEFT, y_of(i / 4.0), LEFT + WIDTH, y_of(i / 4.0));
        draw_text(plot, LEFT - 8, y_of(i / 4.0) + 4, "end", text);
    }
    for (double p = plot->first; p <= plot->last; p++) {
        double x = x_of(plot, pow(10, p));

        (void)snprintf(text, sizeof(text), "%g s", pow(10, p));
        draw_line(plot, x, TOP, x, TOP + HEIGHT);
        draw_text(plot, x, TOP + HEIGHT + 18, "middle", text);
    }
    (void)snprintf(text, sizeof(text),
                   "jobs done after so long: %u node%s with %u place%s, level %s",
                   plot->lab->config.n_nodes, PLURAL(plot->lab->config.n_nodes),
                   plot->lab->config.per_node, PLURAL(plot->lab->config.per_node),
                   plot->level->name);
    draw_text(plot, LEFT, TOP - 12, "start", text);
}

static void draw_curve(const struct plot *plot, size_t i)
{
    const char *colour = colours[i % ELEMENTS(colours)];
    const char *dashes = i < ELEMENTS(colours) ? "none" : "6 3";
    double y = TOP + 16 + 20 * (double)i;
    size_t n;
    double *times = all_times(plot, &plot->level->rows[i], &n);

    (void)fprintf(plot->file,
                  "<polyline fill=\"none\" stroke=\"%s\" stroke-dasharray=\"%s\" "
                  "stroke-width=\"1.5\" points=\"",
                  colour, dashes);
    for (int step = 0; step <= STEPS; step++) {
        double share = (double)step / STEPS;

        (void)fprintf(plot->file, "%.1f,%.1f ", x_of(plot, quantile(times, n, share)), y_of(share));
    }
    (void)fprintf(plot->file,
                  "\"/>\n<rect x=\"%d\" y=\"%.1f\" width=\"14\" height=\"4\" "
                  "fill=\"%s\"/>\n",
                  LEFT + WIDTH + 16, y - 6, colour);
    draw_text(plot, LEFT + WIDTH + 36, y, "start", plot->level->rows[i].policy->name);
    free(times);
}

int lab_plot(const struct lab *lab, const char *path, struct edl_error *error)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");
    struct plot plot = { .lab = lab, .level = &lab->levels[0], .file = file };

    if (file == NULL)
        return edl_error_errno(error, -errno, "%s cannot be written", path);
    set_range(&plot);
    (void)fprintf(file,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "font-family=\"sans-serif\" font-size=\"12\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                  LEFT + WIDTH + LEGEND, TOP + HEIGHT + 40);
    draw_axes(&plot);
    for (size_t i = 0; i < plot.level->n_rows; i++)
        draw_curve(&plot, i);
    (void)fputs("</svg>\n", file);
    if (fflush(file) == 0 && !ferror(file))
        return 0;
    return edl_error_errno(error, -EIO, "%s cannot be written", path);
}
