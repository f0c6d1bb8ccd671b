/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_script.c - scripts with options of their job: #EDL and #SBATCH */
#include "client/job_script.h"
#include "client/job_wrap.h"
#include "client/slurm_wants.h"
#include "client/word_list.h"
#include "tests/unit/client_fixture.h"
#include "tests/unit/test.h"

TEST_EACH(set_up, tear_down);

/* all words with a '|' behind each */
static char *joined(const struct word_list *list)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    for (size_t i = 0; i < list->n; i++)
        (void)fprintf(out, "%s|", list->words[i]);
    (void)fclose(out);
    return text;
}

TEST(test_words_of_a_line)
{
    static const struct {
        const char *line, *words;
    } cases[] = { { " a  b\tc ", "a|b|c|" },
                  { "--name='a b' \"c\"d # e", "--name=a b|cd|" },
                  { "a\\ b '' x#y", "a b||x#y|" },
                  { "\"a\\\"b\" 'c\\'", "a\"b|c\\|" },
                  { "", "" } };
    struct word_list bad = { 0 };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct word_list list = { 0 };
        _cleanup_free_ char *text = NULL;

        assert_int_equal(word_list_split(&list, cases[i].line, strlen(cases[i].line)), 0);
        text = joined(&list);
        assert_string_equal(text, cases[i].words);
        word_list_clear(&list);
    }
    assert_int_equal(word_list_split(&bad, "a 'b", 4), -EINVAL);
    assert_int_equal(word_list_split(&bad, "\"", 1), -EINVAL);
    word_list_clear(&bad);
}

/* what a script's lines say, or the error with its remedy; *ret: what the parser returned */
static char *said(const char *text, int *ret)
{
    struct edl_error error = { 0 };
    struct job_script script;
    char *words;

    *ret = job_script_parse("dir/job.sh", text, strlen(text), false, &script, &error);
    words = *ret < 0 ? text_format("%s; %s", error.text, error.remedy) : joined(&script.words);
    job_script_clear(&script);
    return words;
}

TEST(test_lines_of_slurm_become_options)
{
    static const struct {
        const char *lines, *words;
    } cases[] = {
        { "#SBATCH --job-name=x -a 0-9\n", "--name-like=x|--array=0-9|" },
        { "#SBATCH -n 4 -c 2\n#SBATCH --mem-per-cpu=1G\n",
          "--ntasks=4|--cpu=2|--memory=2147483648|" },
        { "#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --mem=8G\n",
          "--ntasks=8|--memory=2147483648|--gpus=1|" },
        { "#SBATCH --nodes=1\n#SBATCH --gres=gpu:2\n", "--gpus=2|" },
        { "#SBATCH --nodes=2-2 -G 4\n", "--ntasks=2|--gpus=2|" },
        { "#SBATCH -t 1-00:00:00 --time=90\n", "--time=86400s|--time=5400s|" },
        { "#SBATCH --time=UNLIMITED\n", "" },
        { "#SBATCH --nice=5 -d afterok:7 -w n[1-2] -D /x\n",
          "--priority=-5|--dependency=afterok:7|--nodelist=n[1-2]|--workspace=/x|" },
        { "#SBATCH -o out.%j -e err.%j --export=ALL\n",
          "--output=out.%j|--error=err.%j|--export=ALL|" },
        { "#SBATCH --mail-type=END,FAIL\n#SBATCH --mail-user=ann@lab.example\n",
          "--mail-type=END,FAIL|--mail-user=ann@lab.example|" },
        { "##SBATCH --nodes=9\n# SBATCH --nodes=9\n#SBATCHx\n#EDL --min 2 --max '4'\n",
          "--min|2|--max|4|" },
        { "\n  # a\n#SBATCH --ntasks=2\necho\n#SBATCH --ntasks=3\n", "--ntasks=2|" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        _cleanup_free_ char *text = text_format("#!/bin/bash\n%s", cases[i].lines);
        _cleanup_free_ char *wanted = text_format("--name-like=job.sh|%s", cases[i].words);
        int r;
        _cleanup_free_ char *words = said(text, &r);

        if (r != 1 || !streq(words, wanted))
            fail_msg("%s: %d %s", text, r, words);
    }
}

TEST(test_no_line_is_taken_without_effect)
{
    static const struct {
        const char *lines, *said;
    } cases[] = {
        { "#SBATCH -p gpu\n", "line 2: the option -p of Slurm does nothing here; --selector" },
        { "\n#SBATCH --open-mode=append\n", "line 3: the option --open-mode" },
        { "#SBATCH --ntask=4\n", "does nothing here; --ntasks" },
        { "#SBATCH --frobnicate\n", "leave it out" },
        { "#SBATCH --wrap=x\n", "--wrap of Slurm does nothing here; -- sh -c" },
        { "#SBATCH -n 4 --mem=4G\n", "--mem is of a node" },
        { "#SBATCH -n 4 --gres=gpu:4\n", "are of a node" },
        { "#SBATCH --nodes=1 -n 4 --gres=gpu:6\n", "are of a node" },
        { "#SBATCH -n 4 --gpus=6\n", "not even" },
        { "#SBATCH --gres=gpu:a100:1\n", "names a type of GPU" },
        { "#SBATCH --nodes=1-4\n", "--nodes: \"1-4\" does not fit" },
        { "#SBATCH --ntasks=0\n", "does not fit" },
        { "#SBATCH --ntasks=9999\n", "are too many" },
        { "#SBATCH --mem=0\n", "all memory of a node" },
        { "#SBATCH --time=soon\n", "does not fit" },
        { "#SBATCH --ntasks\n", "needs a value" },
        { "#SBATCH --slurm-env=1\n", "takes no value" },
        { "#SBATCH --ntasks=2 x\n", "\"x\" is no option" },
        { "#SBATCH --job-name='x\n", "a quote is not shut" },
        { "#EDL min 2\n", "\"min\" is no option" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        _cleanup_free_ char *text = text_format("#!/bin/bash\n%s", cases[i].lines);
        int r;
        _cleanup_free_ char *words = said(text, &r);

        if (r != -EINVAL || strstr(words, cases[i].said) == NULL)
            fail_msg("%s: %d %s", text, r, words);
    }
}

/* what srun or sbatch reads in front of a command, or the error with its remedy; *ret_n: words */
static char *wanted(char *const *words, size_t n, bool of_batch, size_t *ret_n)
{
    struct slurm_wants wants = { .of_batch = of_batch };
    struct edl_error error = { 0 };
    char *text;

    *ret_n = 0;
    if (slurm_wants_read(&wants, n, words, false, ret_n, &error) < 0)
        text = text_format("%s; %s", error.text, error.remedy);
    else
        text = text_format("tasks %d wait %d", (int)wants.tasks, (int)wants.wait);
    slurm_wants_clear(&wants);
    return text;
}

TEST(test_flags_share_a_word)
{
    static const struct {
        const char *words[4];
        bool of_batch;
        const char *said;
        size_t n;
    } cases[] = {
        { { "-vv", "true" }, false, "tasks 0 wait 0", 1 },
        { { "-lu", "-Qvvn4", "true" }, false, "tasks 4 wait 0", 2 },
        { { "-vn", "3", "true" }, false, "tasks 3 wait 0", 2 },
        { { "-vW", "x.sh" }, true, "tasks 0 wait 1", 1 },
        { { "-vn" }, false, "--ntasks needs a value", 0 },
        { { "-vx" }, false, "the option -x of Slurm does nothing", 0 },
        { { "-v=3" }, false, "the option - of Slurm does nothing", 0 },
        { { "-W", "60", "true" }, false, "--wait: the time for processes", 0 },
        { { "-W60", "true" }, false, "leave it out: the call ends", 0 },
        { { "-vW", "true" }, false, "leave it out: the call ends", 0 },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        char *words[4];
        size_t n = 0, read;
        _cleanup_free_ char *text = NULL;

        for (; n < 4 && cases[i].words[n] != NULL; n++)
            words[n] = xstrdup(cases[i].words[n]);
        text = wanted(words, n, cases[i].of_batch, &read);
        if (strstr(text, cases[i].said) == NULL || read != cases[i].n)
            fail_msg("%s: %zu %s", words[0], read, text);
        while (n > 0)
            free(words[--n]);
    }
}

static char *start_of(const char *text, size_t size, bool always, int *ret)
{
    struct edl_error error = { 0 };
    struct job_script script;
    char *words;

    *ret = job_script_parse("job.sh", text, size, always, &script, &error);
    words = *ret < 0 ? text_format("%s; %s", error.text, error.remedy) : joined(&script.start);
    job_script_clear(&script);
    return words;
}

TEST(test_how_a_script_is_started)
{
    static const struct {
        const char *first, *start;
    } cases[] = {
        { "#!/bin/bash -l", "/bin/bash|-l|-c|" },
        { "#! /usr/bin/env python3", "/usr/bin/env|python3|-c|" },
        { "#!/usr/bin/python3.11", "/usr/bin/python3.11|-c|" },
        { "# none", "/bin/sh|-c|" },
    };
    static const char zero[] = "#!/bin/sh\n#EDL --min 1\n\0";
    _cleanup_free_ char *large = xcalloc(1, 70000);
    int r;

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        _cleanup_free_ char *text = text_format("%s\necho\n", cases[i].first);
        _cleanup_free_ char *words = start_of(text, strlen(text), true, &r);
        _cleanup_free_ char *wanted =
            text_format("%s%s|%s", cases[i].start, text, strstr(words, "python") ? "" : "job.sh|");

        assert_int_equal(r, 1);
        assert_string_equal(words, wanted);
    }
    _cleanup_free_ char *awk = start_of("#!/usr/bin/awk -f\n", 18, true, &r);

    assert_int_equal(r, -EINVAL);
    assert_non_null(strstr(awk, "edl submit -- /usr/bin/awk job.sh"));
    _cleanup_free_ char *dos = start_of("#!/bin/sh\r\n#EDL --min 1\r\n", 25, true, &r);

    assert_int_equal(r, -EINVAL);
    assert_non_null(strstr(dos, "sed -i"));
    _cleanup_free_ char *with_zero = start_of(zero, sizeof zero, true, &r);

    assert_int_equal(r, -EINVAL);
    memset(large, '#', 69999);
    _cleanup_free_ char *too_large = start_of(large, 69999, true, &r);

    assert_int_equal(r, -E2BIG);
    /* without such lines it is whatever it was before: a program in the place of a document */
    _cleanup_free_ char *none = start_of("#!/bin/sh\necho\n#SBATCH -n 2\n", 29, false, &r);

    assert_int_equal(r, 0);
}

TEST(test_files_for_the_output)
{
    const struct job_wrap wrap = { .output = "a b/%x-%j.$(x)`\"", .cpus = "" };
    const struct job_wrap both = { .output = "%%%t", .error = "e", .many = true, .cpus = "" };
    const struct job_wrap none = { .cpus = "" }, bad = { .output = "%q", .cpus = "" };
    const struct job_wrap slurm = { .slurm_env = true, .cpus = "4" };
    _cleanup_json_ json_t *command = json_array(), *second = json_array(), *third = json_array();
    struct edl_error error = { 0 };

    assert_int_equal(job_wrap_add(&none, command, &error), 0);
    assert_int_equal(job_wrap_add(&bad, command, &error), -EINVAL);
    assert_int_equal(json_array_size(command), 0);
    assert_int_equal(job_wrap_add(&wrap, command, &error), 0);
    assert_string_equal(json_string_value(json_array_get(command, 2)),
                        "f=\"a b/$EDL_JOB-$EDL_JOB_ID.\\$(x)\\`\\\"\"; mkdir -p -- \"$(dirname -- "
                        "\"$f\")\" && exec >\"$f\" || exit 73\nexec 2>&1\nexec \"$@\"");
    assert_int_equal(job_wrap_add(&both, second, &error), 0);
    assert_non_null(strstr(json_string_value(json_array_get(second, 2)), "f=\"%$EDL_INDEX\""));
    assert_non_null(strstr(json_string_value(json_array_get(second, 2)), "exec 2>>\"$f\""));
    assert_null(strstr(json_string_value(json_array_get(second, 2)), "2>&1"));
    assert_int_equal(job_wrap_add(&slurm, third, &error), 0);
    assert_non_null(strstr(json_string_value(json_array_get(third, 2)),
                           "export SLURM_ARRAY_TASK_ID=\"$EDL_ARRAY_INDEX\""));
    assert_non_null(strstr(json_string_value(json_array_get(third, 2)), "SLURM_CPUS_PER_TASK=4"));
}

/* A file with that text; the caller frees its path. */
static char *file_of(const struct fixture *fixture, const char *text)
{
    char *path = text_format("%s/my job.sh", fixture->folder);
    FILE *file = fopen(path, "we");

    (void)fputs(text, file);
    (void)fclose(file);
    return path;
}

TEST(test_submit_takes_a_script)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *path =
        file_of(fixture, "#!/bin/bash\n#SBATCH --ntasks=2\n#EDL --priority 3 --no-upload\n"
                         "echo $1 $SLURM_NTASKS\n");
    _cleanup_free_ char *seen = NULL, *err = NULL, *over = NULL;

    assert_int_equal(EDL(NULL, &err, "submit", path, "7"), STATUS_OK);
    seen = asked(fixture);
    assert_non_null(strstr(seen, "\"name\":\"my-job-"));
    assert_non_null(strstr(seen, "\"min\":2,\"max\":2"));
    assert_non_null(strstr(seen, "\"priority\":3"));
    assert_non_null(strstr(seen, "echo $1 $SLURM_NTASKS"));
    assert_non_null(strstr(seen, "my job.sh\",\"7\"]"));
    assert_non_null(strstr(err, "--slurm-env"));
    assert_non_null(strstr(err, "instances: 2, and each runs the script"));
    /* the command line wins */
    assert_int_equal(EDL(NULL, NULL, "--priority", "9", "submit", "-n", "3", path), STATUS_OK);
    over = asked(fixture);
    assert_non_null(strstr(over, "\"min\":3,\"max\":3"));
    assert_non_null(strstr(over, "\"priority\":9"));
    assert_int_equal(EDL(NULL, NULL, "plan", path), STATUS_OK);
}

TEST(test_submit_names_the_line_that_is_wrong)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *path = file_of(fixture, "#EDL --no-upload --mni 2\ntrue\n");
    _cleanup_free_ char *stray = NULL, *word = NULL, *dashes = NULL, *err = NULL, *seen = NULL;

    assert_int_equal(EDL(NULL, &err, "submit", path), STATUS_BAD_INPUT);
    assert_non_null(strstr(err, "there is no option --mni\ntry: --min"));
    free(TAKE_PTR(path));
    path = file_of(fixture, "#EDL --no-upload stray\ntrue\n");
    assert_int_equal(EDL(NULL, &stray, "submit", path), STATUS_BAD_INPUT);
    assert_non_null(strstr(stray, "\"stray\", which is no option"));
    free(TAKE_PTR(path));
    path = file_of(fixture, "#EDL -- rm\ntrue\n");
    assert_int_equal(EDL(NULL, &dashes, "submit", path), STATUS_BAD_INPUT);
    assert_non_null(strstr(dashes, "which is no option"));
    free(TAKE_PTR(path));
    path = file_of(fixture, "#!/bin/sh\ntrue\n");
    assert_int_equal(EDL(NULL, &word, "submit", path), STATUS_BAD_INPUT);
    assert_non_null(strstr(word, "is a program and no document"));
    seen = asked(fixture);
    assert_null(strstr(seen, "POST"));
    assert_int_equal(EDL(NULL, NULL, "submit", "--script", "--no-upload", path), STATUS_OK);
}
