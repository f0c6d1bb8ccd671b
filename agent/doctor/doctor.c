/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.c - program edl-doctor: whether this machine can be a node, in words; run by `edl doctor`
 *
 * Needs no agent and changes nothing. Takes the options of edl-agent, and reads its files, so that
 * it looks at the same things as the agent. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/doctor/gather.h"
#include "agent/layout.h"
#include "agent/options.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

/* In the order in which it is gathered and told; the machine first, whose kernel others look at. */
static const struct {
    void (*gather)(const struct doctor_context *context, struct doctor_facts *facts);
    void (*judge)(const struct doctor_facts *facts, struct findings *findings);
} groups[] = {
    { gather_machine, judge_machine },   { gather_cgroups, judge_cgroups },
    { gather_systemd, judge_systemd },   { gather_gpus, judge_gpus },
    { gather_disks, judge_disks },       { gather_accounts, judge_accounts },
    { gather_drop_ins, judge_drop_ins }, { gather_reach, judge_reach },
    { gather_clock, judge_clock },
};

static const char help[] =
    "Usage: edl doctor [--json] [--state-dir DIR] [--conf FILE] [--scheduler URL] [--ca FILE]\n"
    "Tells whether this machine can be a node: a line for each thing that it looked at. Nothing "
    "is\n"
    "changed, and edl-agent need not run. edl-doctor itself takes every option of edl-agent.\n"
    "Exit status: 0 no problem (there may be warnings), 1 a problem, 2 wrong input.\n";

static void print_json(const struct findings *findings)
{
    json_t *checks = json_array();
    json_t *json;
    _cleanup_free_ char *text = NULL;

    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->list[i];

        (void)json_array_append_new(checks,
                                    json_pack("{s:s,s:s,s:s,s:s}", "check", finding->check,
                                              "verdict", verdict_name(finding->verdict), "text",
                                              finding->text, "remedy", finding->remedy));
    }
    json = json_pack("{s:o,s:I,s:I}", "checks", checks, "warnings",
                     (json_int_t)findings_count(findings, VERDICT_WARNING), "problems",
                     (json_int_t)findings_count(findings, VERDICT_PROBLEM));
    text = json_dumps(json, JSON_INDENT(2));
    json_decref(json);
    (void)puts(text != NULL ? text : "{}");
}

/* One line each, the verdict first: grep '^problem' finds what matters. What others told us may
 * have control characters in it. */
static void print_lines(struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++) {
        struct finding *finding = &findings->list[i];

        for (char *p = finding->text; *p != '\0'; p++)
            *p = (unsigned char)*p < ' ' ? '?' : *p;
        (void)printf("%-8s %s: %s%s%s\n", verdict_name(finding->verdict), finding->check,
                     finding->text, finding->remedy[0] != '\0' ? "; try: " : "", finding->remedy);
    }
}

/* take_json - whether it is there; taken out, as it is no option of an agent's */
static bool take_json(int *argc, char **argv)
{
    int n = 1;
    bool found = false;

    for (int i = 1; i < *argc; i++)
        if (streq(argv[i], "--json"))
            found = true;
        else
            argv[n++] = argv[i];
    argv[n] = NULL;
    *argc = n;
    return found;
}

/* read_options - what is wrong on the command line ends this; what is wrong in agent.conf is a
 * finding, and the rest is looked at as without the file */
static int read_options(int argc, char **argv, struct agent_options *ret, struct edl_error *conf,
                        struct edl_error *error)
{
    _cleanup_free_ char **without = xcalloc((size_t)argc + 2, sizeof *without);
    struct agent_options plain;
    int r;

    memcpy(without, argv, (size_t)argc * sizeof *without);
    without[argc] = (char[]){ "--conf=" };
    r = options_parse(argc + 1, without, &plain, error);
    if (r != 0)
        return r;
    if (options_parse(argc, argv, ret, conf) == 0) {
        options_done(&plain);
        *conf = (struct edl_error){ 0 }; /* of a file that need not be there */
    } else {
        *ret = plain;
    }
    return 0;
}

static int find_own_folder(char **ret)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

    if (n == -1)
        return -errno;
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    *ret = xstrdup(path);
    return 0;
}

static int examine(const struct agent_options *options, const struct edl_error *conf,
                   bool wants_json)
{
    _cleanup_free_ struct doctor_facts *facts = xcalloc(1, sizeof *facts);
    _cleanup_free_ struct findings *findings = xcalloc(1, sizeof *findings);
    _cleanup_free_ char *program_dir = NULL;
    struct doctor_context context = { .options = options };

    if (find_own_folder(&program_dir) < 0)
        program_dir = xstrdup("/usr/bin");
    context.program_dir = program_dir;
    facts->accounts.conf_fault = *conf;
    for (size_t i = 0; i < ELEMENTS(groups); i++)
        groups[i].gather(&context, facts);
    for (size_t i = 0; i < ELEMENTS(groups); i++)
        groups[i].judge(facts, findings);
    if (wants_json)
        print_json(findings);
    else
        print_lines(findings);
    return findings_count(findings, VERDICT_PROBLEM) > 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    bool wants_json = take_json(&argc, argv);
    struct agent_options options;
    struct edl_error conf = { 0 };
    struct edl_error error = { 0 };
    int r;

    log_init("edl-doctor");
    if (argc == 2 && (streq(argv[1], "--help") || streq(argv[1], "--version"))) {
        if (streq(argv[1], "--help"))
            (void)fputs(help, stdout);
        else
            (void)printf("edl-doctor %s\n", EDL_VERSION);
        return 0;
    }
    r = read_options(argc, argv, &options, &conf, &error);
    if (r > 0)
        return 0;
    if (r < 0) {
        (void)fprintf(stderr, "edl doctor: %s\ntry: edl doctor --help\n", error.text);
        return 2;
    }
    r = examine(&options, &conf, wants_json);
    options_done(&options);
    return r;
}
