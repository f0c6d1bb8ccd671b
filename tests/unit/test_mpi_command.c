/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpi_command.c - whether a command starts mpirun itself, and where its program is */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi/command.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/text_format.h"
#include "tests/unit/test.h"

#define WORDS_MAX 6

TEST(test_which_commands_start_mpirun)
{
    static const struct {
        const char *argv[WORDS_MAX];
        bool launches;
        const char *word;
    } cases[] = {
        { { "mpirun", "-n", "3", "./solver" }, true, "mpirun" },
        { { "/opt/openmpi/bin/mpirun", "./solver" }, true, "/opt/openmpi/bin/mpirun" },
        { { "mpiexec.hydra", "./solver" }, true, "mpiexec.hydra" },
        { { "mpirun.mpich", "./solver" }, true, "mpirun.mpich" },
        { { "orterun", "./solver" }, true, "orterun" },
        { { "./run.sh", "3" }, true, "mpirun" },
        { { "bash", "run.sh" }, true, "mpirun" },
        { { "/bin/sh", "-c", "cd /data && exec mpirun.openmpi -n 3 ./solver" },
          true,
          "mpirun.openmpi" },
        { { "/bin/sh", "-c", "./start.sh $WORLD_SIZE" }, true, "mpirun" },
        { { "env", "X=1", "mpiexec", "./solver" }, true, "mpiexec" },
        { { "/bin/sh", "-c", "./solver --steps 3" }, false, "mpirun" },
        { { "./solver" }, false, "mpirun" },
        { { "python3", "train.py", "mpirun" }, false, "mpirun" },
        { { "./mpirunner" }, false, "mpirun" },
        { { "./solver", "setup.sh" }, false, "mpirun" },
        { { "timeout", "60", "./solver" }, false, "mpirun" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        char *argv[WORDS_MAX + 1] = { NULL };
        _cleanup_free_ char *word = NULL;

        for (size_t j = 0; j < WORDS_MAX && cases[i].argv[j] != NULL; j++)
            argv[j] = (char *)(uintptr_t)cases[i].argv[j];
        assert_int_equal(mpi_command_launches(argv, &word), cases[i].launches);
        assert_string_equal(word, cases[i].word);
    }
}

static void write_to(const char *path, const char *text, mode_t mode)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* A script without a suffix is looked into; a program is not. */
TEST(test_a_script_is_looked_into)
{
    static const struct {
        const char *text;
        bool launches;
    } cases[] = {
        { "#!/bin/bash\nset -e\nmpirun.mpich -n 3 ./solver\n", true },
        { "#!/bin/sh\nexec ./solver\n", false },
        { "\177ELF mpirun", false },
        { "", false },
    };
    char folder[] = "/tmp/edl-test-XXXXXX";
    _cleanup_free_ char *path = NULL;

    assert_non_null(mkdtemp(folder));
    path = text_format("%s/start", folder);
    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        char *argv[] = { path, NULL };
        _cleanup_free_ char *word = NULL;

        write_to(path, cases[i].text, 0755);
        assert_int_equal(mpi_command_launches(argv, &word), cases[i].launches);
        assert_string_equal(word, i == 0 ? "mpirun.mpich" : "mpirun");
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

TEST(test_a_program_is_found)
{
    char folder[] = "/tmp/edl-test-XXXXXX";
    _cleanup_free_ char *program = NULL, *data = NULL, *folders = NULL, *found = NULL;

    assert_non_null(mkdtemp(folder));
    program = text_format("%s/mpirun", folder);
    data = text_format("%s/mpiexec", folder);
    folders = text_format("/nowhere:%s", folder);
    write_to(program, "#!/bin/sh\n", 0755);
    write_to(data, "text", 0644);
    found = mpi_program_find("mpirun", folders);
    assert_non_null(found);
    assert_string_equal(found, program);
    assert_null(mpi_program_find("mpiexec", folders));
    assert_null(mpi_program_find("mpirun", "/nowhere"));
    assert_null(mpi_program_find(folder, folders)); /* a folder is no program */
    assert_int_equal(unlink(program), 0);
    assert_int_equal(unlink(data), 0);
    assert_int_equal(rmdir(folder), 0);
}

TEST(test_what_does_not_is_put_behind_mpirun)
{
    char solver[] = "./solver", option[] = "--fast", count[] = "3";
    char *argv[] = { solver, option, NULL };
    _cleanup_free_ char **words = mpi_command_wrap(argv, count);

    assert_string_equal(words[0], "mpirun");
    assert_string_equal(words[1], "-n");
    assert_string_equal(words[2], "3");
    assert_ptr_equal(words[3], solver);
    assert_ptr_equal(words[4], option);
    assert_null(words[5]);
}
