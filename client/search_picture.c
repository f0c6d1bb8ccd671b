/* SPDX-License-Identifier: Apache-2.0 */
/* search_picture.c - see search_picture.h */
#include "client/search_picture.h"

#include <inttypes.h>
#include <math.h>

#include "client/json_read.h"
#include "client/search_core.h"
#include "client/search_jobs.h"
#include "client/search_space.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define WIDTH 860
#define LEFT 80
#define RIGHT 30
#define TOP 50
#define HEIGHT 240
#define GAP 90 /* between the two pictures */
#define TICKS 4
#define SHORT_S 20

struct picture {
    const struct search_space *space;
    const struct search_trials *trials;
    FILE *out;
    double least, most; /* of the results */
    double last_s;      /* when the last of them ended, since the first was submitted */
    size_t n;           /* that have one */
};

static double result_of(const struct picture *picture, size_t i)
{
    const struct search_trial *trial = &picture->trials->trials[i];
    double result =
        trial->state == SEARCH_TRIAL_FAILED ? NAN : search_result(picture->space, trial);

    return isfinite(result) ? result : NAN;
}

/* seconds_of - when it ended, or now that it goes on: its last figures */
static double seconds_of(const struct picture *picture, size_t i)
{
    const json_t *job = picture->trials->jobs[i].newest.json;
    uint64_t end_us = json_u64(job, "ended_us"), first_us = picture->trials->first_us;

    if (end_us == 0)
        end_us = json_u64(job, "started_us") + json_u64(job, "lasted_us");
    return end_us > first_us ? (double)(end_us - first_us) / (double)USEC_PER_SEC : 0;
}

static void measure(struct picture *picture)
{
    picture->least = INFINITY;
    picture->most = -INFINITY;
    for (size_t i = 0; i < picture->trials->n; i++) {
        double result = result_of(picture, i);

        if (isnan(result))
            continue;
        picture->n++;
        picture->least = fmin(picture->least, result);
        picture->most = fmax(picture->most, result);
        picture->last_s = fmax(picture->last_s, seconds_of(picture, i));
    }
    if (picture->n == 0)
        picture->least = picture->most = 0;
    if (picture->most <= picture->least) {
        picture->least -= 0.5;
        picture->most += 0.5;
    }
    picture->last_s = fmax(picture->last_s, 1);
}

/* share_of - 0 the worst result, 1 the best one */
static double share_of(const struct picture *picture, double result)
{
    double share = (result - picture->least) / (picture->most - picture->least);

    return picture->space->is_maximised ? share : 1 - share;
}

/* colour_of - from yellow to dark blue: told apart in grey as well, and by all eyes */
static const char *colour_of(const struct picture *picture, double result)
{
    static const char *const colours[] = { "#e8c547", "#b5b35c", "#7c9d6f",
                                           "#4a837f", "#2c6184", "#1c3d7a" };
    double share = share_of(picture, result);
    size_t n = ELEMENTS(colours);
    size_t i = (size_t)fmin(fmax(share * (double)n, 0), (double)(n - 1));

    return colours[i];
}

/* ---- elements ---- */

static void draw_text(const struct picture *picture, double x, double y, const char *anchor,
                      const char *text)
{
    (void)fprintf(picture->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    for (const char *c = text; *c != '\0'; c++)
        switch (*c) {
        case '&':
            (void)fputs("&amp;", picture->out);
            break;
        case '<':
            (void)fputs("&lt;", picture->out);
            break;
        case '>':
            (void)fputs("&gt;", picture->out);
            break;
        default:
            (void)fputc((unsigned char)*c < ' ' ? '?' : *c, picture->out);
        }
    (void)fputs("</text>\n", picture->out);
}

static void draw_line(const struct picture *picture, double x1, double y1, double x2, double y2)
{
    (void)fprintf(picture->out,
                  "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#bbb\"/>\n", x1,
                  y1, x2, y2);
}

/* ---- the metric over time ---- */

static double x_of(const struct picture *picture, double seconds)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * seconds / picture->last_s;
}

static double y_of(const struct picture *picture, double result)
{
    return TOP + HEIGHT * (picture->most - result) / (picture->most - picture->least);
}

static void draw_axes(const struct picture *picture)
{
    char text[64], time[32];

    for (int i = 0; i <= TICKS; i++) {
        double result = picture->least + (picture->most - picture->least) * i / TICKS;
        double seconds = picture->last_s * i / TICKS;

        draw_line(picture, LEFT, y_of(picture, result), WIDTH - RIGHT, y_of(picture, result));
        (void)snprintf(text, sizeof text, "%.4g", result);
        draw_text(picture, LEFT - 8, y_of(picture, result) + 4, "end", text);
        if (picture->last_s < SHORT_S)
            (void)snprintf(time, sizeof time, "%.2gs", seconds);
        else
            (void)text_duration((uint64_t)(seconds * (double)USEC_PER_SEC), time, sizeof time);
        draw_text(picture, x_of(picture, seconds), TOP + HEIGHT + 18, "middle", time);
    }
}

static int by_end(const void *a, const void *b, void *userdata)
{
    double left = seconds_of(userdata, *(const size_t *)a);
    double right = seconds_of(userdata, *(const size_t *)b);

    return (left > right) - (left < right);
}

/* draw_over_time - each result when it came, and the best one until then as a line of steps */
static void draw_over_time(struct picture *picture)
{
    _cleanup_free_ size_t *order = xcalloc(picture->trials->n, sizeof *order);
    _cleanup_free_ char *title =
        text_format("%s of %zu trial%s over time; the line is the best until then",
                    picture->space->metric, picture->n, PLURAL(picture->n));
    double best = NAN;

    draw_text(picture, LEFT, TOP - 20, "start", title);
    draw_axes(picture);
    for (size_t i = 0; i < picture->trials->n; i++)
        order[i] = i;
    qsort_r(order, picture->trials->n, sizeof *order, by_end, picture);
    (void)fputs("<path fill=\"none\" stroke=\"#d55e00\" stroke-width=\"2\" d=\"", picture->out);
    for (size_t k = 0; k < picture->trials->n; k++) {
        double result = result_of(picture, order[k]);
        double x = x_of(picture, seconds_of(picture, order[k]));

        if (isnan(result))
            continue;
        if (isnan(best))
            (void)fprintf(picture->out, "M%.1f %.1f", x, y_of(picture, result));
        else if (share_of(picture, result) > share_of(picture, best))
            (void)fprintf(picture->out, "H%.1fV%.1f", x, y_of(picture, result));
        else
            continue;
        best = result;
    }
    if (!isnan(best))
        (void)fprintf(picture->out, "H%d", WIDTH - RIGHT);
    (void)fputs("\"/>\n", picture->out);
    for (size_t i = 0; i < picture->trials->n; i++) {
        double result = result_of(picture, i);

        if (!isnan(result))
            (void)fprintf(picture->out,
                          "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"><title>trial %u: "
                          "%.6g</title></circle>\n",
                          x_of(picture, seconds_of(picture, i)), y_of(picture, result),
                          colour_of(picture, result), picture->trials->trials[i].number, result);
    }
}

/* ---- parallel coordinates ---- */

#define AXES_TOP (TOP + HEIGHT + GAP)

static double axis_x(const struct picture *picture, unsigned axis)
{
    return LEFT +
           (double)(WIDTH - LEFT - RIGHT - 40) * axis / MAX_OF(picture->space->n_parameters, 1U);
}

/* axis_y - where a trial crosses it: the last axis is the result */
static double axis_y(const struct picture *picture, size_t i, unsigned axis)
{
    const struct search_trial *trial = &picture->trials->trials[i];
    double share;

    if (axis == picture->space->n_parameters)
        return AXES_TOP +
               HEIGHT * (picture->most - result_of(picture, i)) / (picture->most - picture->least);
    if (!search_is_active(picture->space, axis, trial->values))
        return AXES_TOP + HEIGHT + 16; /* below the axis */
    share = search_to_unit(&picture->space->parameters[axis], trial->values[axis]);
    return AXES_TOP + HEIGHT * (1 - share);
}

static void draw_ends(const struct picture *picture, unsigned axis)
{
    const struct search_parameter *parameter = &picture->space->parameters[axis];
    double x = axis_x(picture, axis);

    if (parameter->kind == SEARCH_CHOICE) {
        for (unsigned level = 0; level < parameter->n_levels; level++) {
            _cleanup_free_ char *text = search_value_text(parameter, level);
            double y = AXES_TOP + HEIGHT * (1 - search_to_unit(parameter, level));

            draw_text(picture, x - 6, y + 4, "end", text);
        }
        return;
    }
    for (int i = 0; i < 2; i++) {
        char text[32];

        (void)snprintf(text, sizeof text, "%.4g", i == 0 ? parameter->min : parameter->max);
        draw_text(picture, x - 6, AXES_TOP + (i == 0 ? HEIGHT : 4), "end", text);
    }
}

static void draw_coordinates(const struct picture *picture)
{
    unsigned n = picture->space->n_parameters;
    char text[32];

    for (unsigned axis = 0; axis <= n; axis++) {
        double x = axis_x(picture, axis);

        draw_line(picture, x, AXES_TOP, x, AXES_TOP + HEIGHT);
        draw_text(picture, x, AXES_TOP - 12, "middle",
                  axis == n ? picture->space->metric : picture->space->parameters[axis].name);
        if (axis < n)
            draw_ends(picture, axis);
    }
    for (int i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof text, "%.4g", i == 0 ? picture->most : picture->least);
        draw_text(picture, axis_x(picture, n) + 6, AXES_TOP + (i == 0 ? 4 : HEIGHT), "start", text);
    }
    for (size_t i = 0; i < picture->trials->n; i++) {
        double result = result_of(picture, i);

        if (isnan(result))
            continue;
        (void)fputs("<polyline fill=\"none\" stroke-width=\"1.5\" stroke-opacity=\"0.8\" points=\"",
                    picture->out);
        for (unsigned axis = 0; axis <= n; axis++)
            (void)fprintf(picture->out, "%s%.1f,%.1f", axis > 0 ? " " : "", axis_x(picture, axis),
                          axis_y(picture, i, axis));
        (void)fprintf(picture->out, "\" stroke=\"%s\"><title>trial %u: %.6g</title></polyline>\n",
                      colour_of(picture, result), picture->trials->trials[i].number, result);
    }
}

void search_picture(const struct search_jobs *jobs, const struct search_trials *trials, FILE *out)
{
    struct picture picture = { .space = jobs->record.space, .trials = trials, .out = out };
    int height = AXES_TOP + HEIGHT + 40;

    measure(&picture);
    (void)fprintf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                  "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
                  "<title>search %s</title>\n<rect width=\"100%%\" height=\"100%%\" "
                  "fill=\"white\"/>\n",
                  WIDTH, height, WIDTH, height, jobs->name);
    draw_over_time(&picture);
    draw_coordinates(&picture);
    (void)fputs("</svg>\n", out);
}
