/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_screen.c - see deploy_screen.h */
#include "client/deploy/deploy_screen.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "client/table_print.h"
#include "client/verb.h"
#include "shared/macro.h"

struct screen {
    const struct deploy_plan *plan;
    const struct screen_row *rows;
    size_t n;
    bool quiet;
    bool moves;               /* the table is redrawn; else a line for each step */
    bool drawn;               /* the cursor stands below it */
    enum deploy_step *shown;  /* of each row, in the other case */
    const char **shown_waits; /* likewise */
    unsigned short columns;
};

static bool fits_terminal(struct screen *screen)
{
    struct winsize size = { 0 };

    if (!isatty(STDERR_FILENO) || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == -1)
        return false;
    screen->columns = size.ws_col;
    return size.ws_col >= 40 && (size_t)size.ws_row > screen->n + 2;
}

struct screen *screen_new(const struct deploy_plan *plan, const struct screen_row *rows, size_t n,
                          bool quiet)
{
    struct screen *screen = xcalloc(1, sizeof *screen);

    screen->plan = plan;
    screen->rows = rows;
    screen->n = n;
    screen->quiet = quiet;
    screen->shown = xcalloc(n, sizeof *screen->shown);
    screen->shown_waits = xcalloc(n, sizeof *screen->shown_waits);
    screen->moves = !quiet && fits_terminal(screen);
    for (size_t i = 0; i < n; i++)
        screen->shown_waits[i] = "";
    return screen;
}

struct screen *screen_free(struct screen *screen)
{
    if (screen == NULL)
        return NULL;
    free(screen->shown);
    free((void *)screen->shown_waits);
    free(screen);
    return NULL;
}

static const char *state_of(const struct screen *screen, const struct screen_row *row, char *buffer,
                            size_t size)
{
    if (row->waiting[0] != '\0')
        (void)snprintf(buffer, size, "waits for %s", row->waiting);
    else if (row->core->step == DEPLOY_UPLOAD && row->to_send_bytes > 0)
        (void)snprintf(buffer, size, "%s, %" PRIu64 " %%", deploy_step_word(DEPLOY_UPLOAD),
                       100 * row->sent_bytes / row->to_send_bytes);
    else
        (void)deploy_core_outcome(screen->plan, row->core, buffer, size);
    return buffer;
}

static void draw(struct screen *screen)
{
    char state[400];
    int width = 4;

    for (size_t i = 0; i < screen->n; i++)
        width = MAX_OF(width, (int)strlen(screen->rows[i].host));
    width = MIN_OF(width, 30);
    if (screen->drawn)
        (void)fprintf(stderr, "\033[%zuA", screen->n);
    for (size_t i = 0; i < screen->n; i++)
        (void)fprintf(stderr, "\r\033[K%-*.*s  %.*s\n", width, width, screen->rows[i].host,
                      (int)screen->columns - width - 3,
                      state_of(screen, &screen->rows[i], state, sizeof state));
    (void)fflush(stderr);
    screen->drawn = true;
}

void screen_row_changed(struct screen *screen, size_t i)
{
    const struct screen_row *row = &screen->rows[i];
    char state[400];

    if (screen->moves) {
        draw(screen);
        return;
    }
    if (screen->quiet ||
        (screen->shown[i] == row->core->step && streq(screen->shown_waits[i], row->waiting)))
        return;
    screen->shown[i] = row->core->step;
    screen->shown_waits[i] = row->waiting;
    (void)fprintf(stderr, "%s: %s\n", row->host, state_of(screen, row, state, sizeof state));
}

void screen_leave(struct screen *screen)
{
    screen->drawn = false;
}

void screen_return(struct screen *screen)
{
    if (screen->moves)
        draw(screen);
}

static void print_findings(const struct screen_row *row)
{
    const char *at = row->core->findings;

    while (at != NULL && *at != '\0') {
        size_t n = strcspn(at, "\n");

        (void)fprintf(stderr, "%s: %.*s\n", row->host, (int)n, at);
        at += n + (at[n] == '\n');
    }
}

static const char *result_word(const struct screen_row *row)
{
    return row->core->step == DEPLOY_DONE     ? row->core->changed ? "changed" : "ok"
           : row->core->step == DEPLOY_FAILED ? "failed"
                                              : "stopped";
}

void screen_end(struct screen *screen)
{
    static const char *const headers[] = { "HOST", "RESULT", "VIA", "TIME", "WHAT", NULL };
    struct table *table = table_new(headers, 0x8);
    char state[400];

    for (size_t i = 0; i < screen->n; i++) {
        const struct screen_row *row = &screen->rows[i];

        table_add(table, "%s", row->host);
        table_add(table, "%s", result_word(row));
        table_add(table, "%s", row->transport[0] != '\0' ? row->transport : "-");
        table_add(table, "%.1fs", (double)row->took_us / 1e6);
        table_add(table, "%s", state_of(screen, row, state, sizeof state));
    }
    table_print(table, stdout);
    (void)table_free(table);
    (void)fflush(stdout);
    for (size_t i = 0; i < screen->n; i++) {
        const struct screen_row *row = &screen->rows[i];

        print_findings(row);
        if (row->why[0] != '\0')
            (void)fprintf(stderr, "%s: by the program ssh: %s\n", row->host, row->why);
        if (row->core->step == DEPLOY_FAILED && row->core->error.remedy[0] != '\0')
            (void)fprintf(stderr, "%s: try: %s\n", row->host, row->core->error.remedy);
    }
}

static json_t *findings_json(const char *at)
{
    json_t *list = json_array();

    while (at != NULL && *at != '\0') {
        size_t n = strcspn(at, "\n");

        (void)json_array_append_new(list, json_stringn(at, n));
        at += n + (at[n] == '\n');
    }
    return list;
}

void screen_json(const struct screen *screen)
{
    json_t *hosts = json_array(), *all;
    char state[400];
    char *text;

    for (size_t i = 0; i < screen->n; i++) {
        const struct screen_row *row = &screen->rows[i];
        const struct deploy_host *core = row->core;

        (void)json_array_append_new(
            hosts,
            json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:b,s:s,s:s,s:o,s:I}", "host", row->host,
                      "node", core->facts.member, "result", result_word(row), "step",
                      deploy_step_word(core->step == DEPLOY_FAILED ? core->failed_in : core->step),
                      "transport", row->transport, "why", row->why, "version",
                      core->facts.installed, "changed", (int)core->changed, "text",
                      state_of(screen, row, state, sizeof state), "remedy", core->error.remedy,
                      "findings", findings_json(core->findings), "took_us",
                      (json_int_t)row->took_us));
    }
    all = json_pack("{s:o}", "hosts", hosts);
    text = json_dumps(all, JSON_INDENT(2));
    (void)puts(text != NULL ? text : "{}");
    free(text);
    json_decref(all);
}
