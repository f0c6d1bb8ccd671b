/* SPDX-License-Identifier: Apache-2.0 */
/* test_orders.c - orders, the environment of a process */
#include "scheduler/nodes/log_hub.h"
#include "scheduler/nodes/orders.h"
#include "shared/parse.h"
#include "tests/unit/orders_fixture.h"
#include "tests/unit/test.h"

static void assert_env(const json_t *env, const char *name, const char *expected)
{
    const char *value = json_string_value(json_object_get(env, name));

    if (value == NULL || !streq(value, expected))
        fail_msg("%s is \"%s\", not \"%s\"", name, value != NULL ? value : "(absent)", expected);
}

TEST_EACH(set_up, tear_down);

TEST(test_environment_has_upstreams_values)
{
    static const char *const expected[][2] = {
        { "PADDLE_JOB_NAME", "example" },
        { "TRAINERS", "2" },
        { "PSERVERS", "1" },
        { "ENTRY", "python train.py --x 1" },
        { "TOPOLOGY", "python train.py --x 1" },
        { "TRAINER_PACKAGE", "" },
        { "PADDLE_INIT_PSERVERS", "10.0.0.7" },
        { "PADDLE_INIT_PORT", "20000" },
        { "PADDLE_INIT_TRAINER_COUNT", "2" },
        { "PADDLE_INIT_PORTS_NUM", "1" },
        { "PADDLE_INIT_PORTS_NUM_FOR_SPARSE", "0" },
        { "TRAINER_COUNT", "2" },
        { "PADDLE_INIT_NUM_GRADIENT_SERVERS", "2" },
        { "PADDLE_INIT_NUM_PASSES", "2" },
        { "PADDLE_INIT_USE_GPU", "0" },
        { "PADDLE_INIT_TRAINER_ID", "1" },
        { "POD_IP", "10.0.0.7" },
        { "EDL_JOB_ID", "1" },
        { "EDL_ROLE", "trainer" },
        { "EDL_INDEX", "1" },
        { "EDL_ADDRESS", "10.0.0.7" },
        { "EDL_DATASET", "" },
        { "EDL_PASSES", "2" },
        { "FLAVOUR", "sour" },
    };
    struct fixture *f = *state;
    json_t *env = order_environment(trainer(f, 1));

    for (size_t i = 0; i < ELEMENTS(expected); i++)
        assert_env(env, expected[i][0], expected[i][1]);
    assert_non_null(json_object_get(env, "NAMESPACE"));
    json_decref(env);
}

/* The fixture's job with other servers, which are started. */
static void servers_of(struct fixture *f, const char *pserver)
{
    char text[2048];
    const char *rest = strstr(job_text, "  pserver:\n");

    (void)cluster_free(f->cluster);
    f->cluster = new_cluster();
    (void)snprintf(text, sizeof text,
                   "%.*s  pserver:\n    entrypoint: serve\n"
                   "    resources: {requests: {cpu: 100m}}\n%s",
                   (int)(rest - job_text), job_text, pserver);
    f->job = run_text(f->cluster, text);
}

/* Two servers of a node have two ports, so the list tells them. */
TEST(test_servers_with_ports_of_their_own)
{
    struct fixture *f = *state;
    json_t *env;

    servers_of(f, "    min-instance: 2\n    max-instance: 2\n");
    env = order_environment(trainer(f, 0));
    assert_env(env, "PADDLE_INIT_PSERVERS", "10.0.0.7:20000,10.0.0.7:20001");
    assert_env(env, "PADDLE_INIT_PORT", "20000");
    json_decref(env);
    env = order_environment(f->job->slots[0][1].live);
    assert_env(env, "PADDLE_INIT_PORT", "20001"); /* its own */
    json_decref(env);
}

/* Servers without allocated ports listen where the document says. */
TEST(test_servers_with_the_documents_ports)
{
    struct fixture *f = *state;
    json_t *env;

    servers_of(f, "    ports: 0\n");
    env = order_environment(trainer(f, 0));
    assert_env(env, "PADDLE_INIT_PSERVERS", "10.0.0.7");
    assert_env(env, "PADDLE_INIT_PORT", "7164");
    assert_env(env, "PADDLE_INIT_PORTS_NUM", "2");
    assert_env(env, "PADDLE_INIT_PORTS_NUM_FOR_SPARSE", "1");
    json_decref(env);
}

/* A list without one of them would be another list. */
TEST(test_servers_that_are_nowhere)
{
    struct fixture *f = *state;
    struct process *server = f->job->slots[0][0].live;
    json_t *env;

    f->job->slots[0][0].live = NULL;
    env = order_environment(trainer(f, 0));
    f->job->slots[0][0].live = server;
    assert_null(json_object_get(env, "PADDLE_INIT_PSERVERS"));
    json_decref(env);
}

/* The kernel would not start it: a text of the environment may have less than 128 KiB. */
TEST(test_a_command_that_is_too_long_is_not_in_the_environment)
{
    struct fixture *f = *state;
    struct role_spec *role = &f->job->spec->roles[1];
    char *words[4] = { NULL }, **before = role->argv;
    json_t *env;

    words[0] = xcalloc(1, 20000);
    (void)memset(words[0], 'x', 16383);
    words[1] = xstrdup(words[0]);
    role->argv = words;
    env = order_environment(trainer(f, 0));
    assert_int_equal(strlen(json_string_value(json_object_get(env, "ENTRY"))), 32767);
    json_decref(env);
    words[2] = xstrdup("a");
    env = order_environment(trainer(f, 0));
    assert_null(json_object_get(env, "ENTRY"));
    assert_null(json_object_get(env, "TOPOLOGY"));
    json_decref(env);
    role->argv = before;
    for (size_t i = 0; i < 3; i++)
        free(words[i]);
}

TEST(test_orders_tell_the_umask)
{
    struct fixture *f = *state;
    struct process *process = trainer(f, 0);
    struct job_spec *spec = process->job->spec;

    for (unsigned i = 0; i < 2; i++) {
        json_t *order;

        process->reported = false;
        order = order_to_json(process);
        assert_int_equal(json_integer_value(json_object_get(order, "umask")), i == 0 ? 0022 : 0);
        json_decref(order);
        spec->has_umask = true; /* the second time */
    }
}

static uint64_t number_in(const json_t *env, const char *name)
{
    uint64_t number = 0;

    assert_int_equal(parse_u64(json_string_value(json_object_get(env, name)), &number), 0);
    return number;
}

/* The tutorial's own rule: a trainer takes the files whose number, modulo the count, is its id. */
TEST(test_environment_divides_files_between_trainers)
{
    struct fixture *f = *state;
    struct role_spec *role = &f->job->spec->roles[1];
    unsigned takers[12] = { 0 };

    role->cpu_millicores = 5000;
    role->gpus = 3;
    for (uint32_t i = 0; i < role->min; i++) {
        json_t *env = order_environment(trainer(f, i));

        for (uint64_t file = 0; file < ELEMENTS(takers); file++)
            takers[file] += file % number_in(env, "PADDLE_INIT_TRAINER_COUNT") ==
                            number_in(env, "PADDLE_INIT_TRAINER_ID");
        json_decref(env);
    }
    for (size_t file = 0; file < ELEMENTS(takers); file++)
        assert_int_equal(takers[file], 1);
}

TEST(test_environment_of_the_job_wins_but_not_over_identity)
{
    struct fixture *f = *state;
    json_t *env = order_environment(trainer(f, 0));

    assert_env(env, "RANK", "mine");
    assert_env(env, "EDL_JOB", "example");
    json_decref(env);
}

/* fix - its trainers are as many as they are */
static void fix(struct fixture *f)
{
    struct job *job = trainer(f, 0)->job;
    struct role_spec *role = &job->spec->roles[job_spec_role(job->spec, "trainer")];

    role->max = role->min;
}

TEST(test_environment_of_a_fixed_role_tells_the_world)
{
    static const char *const world[][2] = {
        { "WORLD_SIZE", "2" },
        { "LOCAL_RANK", "1" },
        { "LOCAL_WORLD_SIZE", "2" },
        { "NODE_RANK", "0" },
        { "GROUP_RANK", "0" },
        { "OMPI_COMM_WORLD_RANK", "1" },
        { "OMPI_COMM_WORLD_SIZE", "2" },
        { "OMPI_COMM_WORLD_LOCAL_RANK", "1" },
        { "OMPI_COMM_WORLD_LOCAL_SIZE", "2" },
        { "OMPI_COMM_WORLD_NODE_RANK", "1" },
        { "PET_NNODES", "2" },
        { "PET_NODE_RANK", "1" },
        { "PET_MASTER_ADDR", "10.0.0.7" },
        { "PET_MASTER_PORT", "20031" },
        { "PET_RDZV_CONF", "is_host=0" },
        { "PET_NPROC_PER_NODE", "4" },
    };
    struct fixture *f = *state;
    struct process *first = trainer(f, 0);
    json_t *env;

    first->n_ports = 1;
    first->ports[0] = 20031;
    first->job->spec->roles[first->role].gpus = 4;
    env = order_environment(trainer(f, 1)); /* it is elastic: another world soon */
    for (size_t i = 0; i < ELEMENTS(world); i++)
        assert_null(json_object_get(env, world[i][0]));
    assert_env(env, "MASTER_PORT", "20031");
    json_decref(env);
    fix(f);
    env = order_environment(trainer(f, 1));
    for (size_t i = 0; i < ELEMENTS(world); i++)
        assert_env(env, world[i][0], world[i][1]);
    json_decref(env);
    env = order_environment(first);
    assert_env(env, "PET_RDZV_CONF", "is_host=1");
    json_decref(env);
    first->job->spec->roles[first->role].gpus = 0;
    first->n_ports = 0;
}

TEST(test_environment_lists_allocated_ports)
{
    struct fixture *f = *state;
    struct process *process = trainer(f, 0);
    json_t *env;

    process->n_ports = 2;
    process->ports[0] = 20007;
    process->ports[1] = 65535;
    env = order_environment(process);
    assert_env(env, "EDL_PORTS", "20007,65535");
    json_decref(env);
}

TEST(test_environment_names_where_rank_0_is_met)
{
    struct fixture *f = *state;
    struct process *first = trainer(f, 0);
    json_t *env = order_environment(trainer(f, 1));

    assert_null(json_object_get(env, "MASTER_ADDR")); /* beside servers trainers have no ports */
    assert_null(json_object_get(env, "MASTER_PORT"));
    json_decref(env);
    first->n_ports = 2;
    first->ports[0] = 20031;
    first->ports[1] = 20032;
    for (uint32_t i = 0; i < 2; i++) {
        env = order_environment(trainer(f, i));
        assert_env(env, "MASTER_ADDR", "10.0.0.7");
        assert_env(env, "MASTER_PORT", "20031");
        json_decref(env);
    }
    first->n_ports = 0;
}

TEST(test_environment_counts_devices_that_a_process_sees)
{
    struct fixture *f = *state;
    struct process *process = trainer(f, 1);
    json_t *env;

    fix(f);
    process->gpu_mask = UINT64_C(1) << 5;
    env = order_environment(process);
    assert_env(env, "CUDA_VISIBLE_DEVICES", "5");
    assert_env(env, "RANK", "mine");
    assert_env(env, "WORLD_SIZE", "2");
    assert_env(env, "LOCAL_RANK", "0"); /* torch.cuda.set_device(1) would fail */
    assert_env(env, "LOCAL_WORLD_SIZE", "1");
    assert_env(env, "NODE_RANK", "1");
    assert_env(env, "OMPI_COMM_WORLD_LOCAL_RANK", "0");
    json_decref(env);
    process->gpu_mask = 0;
}

TEST(test_environment_names_teacher_and_checkpoints)
{
    struct fixture *f = *state;
    struct process *process = trainer(f, 0);
    struct job_spec *spec = process->job->spec;
    json_t *env = order_environment(process);
    char folder[100];

    assert_null(json_object_get(env, "EDL_TEACHER"));
    assert_null(json_object_get(env, "EDL_CHECKPOINT_DIR"));
    assert_null(json_object_get(env, "EDL_CHECKPOINT_PERIOD"));
    json_decref(env);
    spec->teacher = xstrdup("old.teacher");
    spec->checkpoint_path = xstrdup("/shared");
    spec->checkpoint_period_us = 1500000;
    env = order_environment(process);
    assert_env(env, "EDL_TEACHER", "old.teacher");
    (void)snprintf(folder, sizeof folder, "/shared/example-%llu",
                   (unsigned long long)process->job->id);
    assert_env(env, "EDL_CHECKPOINT_DIR", folder);
    assert_env(env, "EDL_CHECKPOINT_PERIOD", "1500ms");
    json_decref(env);
}

TEST(test_environment_shows_granted_gpus_only)
{
    struct fixture *f = *state;
    struct process *process = trainer(f, 0);
    json_t *env = order_environment(process);

    assert_env(env, "CUDA_VISIBLE_DEVICES", ""); /* none was granted: it sees none */
    json_decref(env);
    process->gpu_mask = UINT64_C(1) << 63 | 1 << 2 | 1;
    env = order_environment(process);
    assert_env(env, "CUDA_VISIBLE_DEVICES", "0,2,63");
    assert_env(env, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    assert_env(env, "EDL_GPUS", "0,2,63");
    json_decref(env);
    process->gpu_mask = 0;
}

TEST(test_orders_name_every_process_of_the_node)
{
    struct fixture *f = *state;
    json_t *orders = orders_to_json(f->node, NULL, NULL);
    const json_t *processes = json_object_get(orders, "processes");
    const json_t *order = json_array_get(processes, 0);

    assert_int_equal(json_array_size(processes), 3);
    assert_int_equal(json_integer_value(json_object_get(orders, "version")),
                     f->node->orders_version);
    assert_string_equal(json_string_value(json_object_get(order, "desired")), "run");
    assert_int_equal(json_integer_value(json_object_get(order, "grace_us")), 30000000);
    assert_true(json_is_array(json_object_get(order, "argv")));
    assert_true(json_is_object(json_object_get(order, "env")));
    json_decref(orders);
}

TEST(test_orders_tell_what_starts_a_process_until_it_is_reported)
{
    struct fixture *f = *state;
    struct process *process = trainer(f, 0);
    json_t *order;

    process->reported = false;
    order = order_to_json(process);
    assert_non_null(json_object_get(order, "argv"));
    assert_non_null(json_object_get(order, "job"));
    json_decref(order);
    process->reported = true;
    order = order_to_json(process);
    assert_int_equal(json_object_size(order), 6);
    assert_string_equal(json_string_value(json_object_get(order, "desired")), "run");
    json_decref(order);
}

TEST(test_a_process_of_mode_mpi_is_an_instance_of_edl_mpi)
{
    struct fixture *f = *state;
    struct process *process = trainer(f, 0);
    char *const *own = f->job->spec->roles[process->role].argv;
    enum job_mode mode = f->job->spec->mode;
    const json_t *argv;
    json_t *order;

    process->reported = false;
    f->job->spec->mode = JOB_MODE_MPI;
    order = order_to_json(process);
    argv = json_object_get(order, "argv");
    assert_string_equal(json_string_value(json_array_get(argv, 0)), "edl-mpi");
    for (size_t i = 0; own[i] != NULL; i++)
        assert_string_equal(json_string_value(json_array_get(argv, i + 1)), own[i]);
    json_decref(order);
    f->job->spec->mode = mode;
}

TEST(test_orders_stop_what_is_wanted_stopped)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    json_t *orders, *order;
    size_t i;

    assert_int_equal(cluster_kill_job(f->cluster, f->job, "enough", start, &error), 0);
    cluster_plan(f->cluster, start);
    orders = orders_to_json(f->node, NULL, NULL);
    assert_int_equal(json_array_size(json_object_get(orders, "processes")), 3);
    json_array_foreach(json_object_get(orders, "processes"), i, order)
        assert_string_equal(json_string_value(json_object_get(order, "desired")), "stop");
    json_decref(orders);
}

/* What says that it is shared is no path and no name of an archive: an agent that does not know of
 * it refuses it. */
TEST(test_one_workspace_for_all)
{
    static const char archive[] =
        "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct fixture *f = *state;
    struct process *process = trainer(f, 0);
    struct role_spec *role = &f->job->spec->roles[process->role];
    json_t *order;

    process->reported = false;
    f->job->spec->workspace_folder = xstrdup("/home/ann/JOB1");
    order = order_to_json(process);
    assert_string_equal(json_string_value(json_object_get(order, "workspace")), "");
    assert_null(json_object_get(order, "archive")); /* of another role */
    json_decref(order);
    free(role->workspace);
    role->workspace = xstrdup(archive);
    order = order_to_json(process);
    assert_string_equal(json_string_value(json_object_get(order, "workspace")),
                        "workspace-folder:/home/ann/JOB1");
    assert_string_equal(json_string_value(json_object_get(order, "archive")), archive);
    json_decref(order);
    free(f->job->spec->workspace_folder);
    f->job->spec->workspace_folder = NULL;
    order = order_to_json(process);
    assert_string_equal(json_string_value(json_object_get(order, "workspace")), archive);
    assert_null(json_object_get(order, "archive"));
    json_decref(order);
}

TEST(test_orders_tell_of_input_where_the_job_wants_it)
{
    struct fixture *f = *state;
    struct process *process = trainer(f, 0);
    struct role_spec *role = &f->job->spec->roles[process->role];
    json_t *order;

    process->reported = false;
    order = order_to_json(process);
    assert_null(json_object_get(order, "stdin"));
    json_decref(order);
    role->takes_input = true;
    order = order_to_json(process);
    assert_true(json_is_true(json_object_get(order, "stdin")));
    json_decref(order);
    role->takes_input = false;
}
