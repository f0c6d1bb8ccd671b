/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_document.c - job documents: defaults, every rule broken once, and back again unchanged
 */
#include "shared/job_document.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/document_bounds.h"
#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "tests/unit/document_fixture.h"
#include "tests/unit/test.h"

#ifndef EXAMPLES
#define EXAMPLES "conf/examples"
#endif

#define ARCHIVE "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct job_spec *read_good(const char *text, char *ignored, size_t ignored_size)
{
    struct edl_error error;
    struct job_spec *spec = read_spec(text, strlen(text), ignored, ignored_size, &error);

    if (spec == NULL)
        fail_msg("%s: %s (%s)", text, error.text, error.pointer);
    return spec;
}

static char *read_example(const char *name)
{
    char path[512], *text = xcalloc(1, 8192);
    _cleanup_fclose_ FILE *file = NULL;

    (void)snprintf(path, sizeof path, "%s/%s", EXAMPLES, name);
    file = fopen(path, "re");
    if (file == NULL)
        fail_msg("cannot open %s", path);
    assert_true(fread(text, 1, 8191, file) > 0);
    return text;
}

/* check_round_trip - writing and reading gives the same, and the second time nothing is ignored */
static void check_round_trip(const struct job_spec *spec)
{
    json_t *first = job_spec_to_document(spec), *second, *ignored = NULL;
    struct job_spec *back = NULL;
    struct edl_error error;

    if (job_spec_from_document(first, &back, &ignored, &error) < 0)
        fail_msg("%s (%s)", error.text, error.pointer);
    assert_int_equal(json_array_size(ignored), 0);
    second = job_spec_to_document(back);
    assert_true(json_equal(first, second));
    assert_int_equal(back->grace_us, spec->grace_us);
    assert_int_equal(back->restart_backoff_us, spec->restart_backoff_us);
    for (size_t i = 0; i < spec->n_roles; i++) {
        assert_string_equal(back->roles[i].name, spec->roles[i].name);
        assert_true(labels_equal(role_selector(&back->roles[i]), role_selector(&spec->roles[i])));
    }
    if (!job_spec_equal(back, spec))
        fail_msg("%s is read back as another", spec->name);
    json_decref(first);
    json_decref(second);
    json_decref(ignored);
    (void)job_spec_free(back);
}

TEST(test_example)
{
    _cleanup_free_ char *text = read_example("example.yaml");
    char ignored[256];
    struct job_spec *spec = read_good(text, ignored, sizeof ignored);
    const struct role_spec *pserver = &spec->roles[0], *trainer = &spec->roles[1];

    assert_string_equal(ignored, "/spec/image");
    assert_string_equal(spec->name, "example");
    assert_int_equal(spec->mode, JOB_MODE_PSERVER);
    assert_true(spec->fault_tolerant);
    assert_int_equal(spec->passes, 2); /* from trainer.passes */
    assert_int_equal(spec->port, 7164);
    assert_int_equal(spec->grace_us, 30 * USEC_PER_SEC);
    assert_int_equal(spec->restart_max, 10);
    assert_int_equal(spec->tries_at_once, 3);
    assert_int_equal(spec->restart_backoff_us, USEC_PER_SEC);
    assert_int_equal(spec->n_roles, 2);
    assert_string_equal(pserver->name, "pserver"); /* listed second, started first */
    assert_string_equal(pserver->argv[0], "edl-pserver");
    assert_null(pserver->argv[1]);
    assert_int_equal(pserver->cpu_millicores, 500);
    assert_int_equal(pserver->memory_bytes, UINT64_C(600) << 20);
    assert_int_equal(pserver->n_ports, 1);
    assert_string_equal(trainer->argv[0], "/bin/sh");
    assert_string_equal(trainer->argv[1], "-c");
    assert_string_equal(trainer->argv[2], "edl-trainer");
    assert_null(trainer->argv[3]);
    assert_int_equal(trainer->min, 2);
    assert_int_equal(trainer->max, 10);
    assert_int_equal(trainer->cpu_millicores, 200);
    assert_int_equal(trainer->memory_bytes, UINT64_C(200) << 20);
    assert_int_equal(trainer->n_ports, 0);
    assert_string_equal(trainer->workspace, "");
    check_round_trip(spec);
    (void)job_spec_free(spec);
}

TEST(test_flat)
{
    _cleanup_free_ char *text = read_example("hostname.json");
    char ignored[256];
    struct job_spec *spec = read_good(text, ignored, sizeof ignored);

    assert_string_equal(ignored, "");
    assert_int_equal(spec->mode, JOB_MODE_COLLECTIVE);
    assert_false(spec->fault_tolerant);
    assert_int_equal(spec->restart_max, 0);
    assert_int_equal(spec->passes, 0); /* it says none, so its data set may */
    assert_int_equal(job_spec_passes(spec), 1);
    assert_null(spec->dataset);
    assert_int_equal(spec->roles[0].min, 2);
    assert_int_equal(spec->roles[0].max, 2);
    assert_int_equal(spec->roles[0].n_ports, 1);
    assert_string_equal(spec->roles[0].argv[0], "hostname");
    check_round_trip(spec);
    (void)job_spec_free(spec);
}

TEST(test_everything)
{
    static const char text[] =
        "apiVersion: paddlepaddle.org/v1\nkind: TrainingJob\n"
        "metadata: {name: a-1, namespace: x, labels: {a: b}}\n"
        "spec:\n"
        "  mode: pserver\n  priority: -5\n  on_disconnect: keep\n  parking: never\n  user: ann\n  "
        "umask: '0007'\n  "
        "autoclean: false\n "
        " grace: "
        "1500001us\n  passes: 3\n"
        "  restart: {max: 4, backoff: 0.25}\n  env: {A: '1', _B2: 'x=y'}\n  dataset: /d/*\n"
        "  teacher: old.teacher\n  checkpoint: {path: /shared, period: 90s}\n"
        "  hostNetwork: true\n  VolumeMounts:\n  master: {resources: {limits: {cpu: 1}}}\n"
        "  fault_tolerant: true\n"
        "  trainer:\n    command: [prog, '', a b]\n    etcd-endpoint: x\n    passes: 3\n    stdin: "
        "true\n"
        "    min-instance: 3\n    max-instance: 4\n"
        "    resources:\n      limits: {cpu: 2, memory: 1Gi, nvidia.com/gpu: '1'}\n"
        "      requests: {cpu: 1.5}\n"
        "  pserver: {min-instance: 2, max-instance: 5, node-selector: {disk/type: ''}}\n"
        "  nodeSelector: {rack: r9}\n"
        "  roles: [{role: helper, entrypoint: h, ports: 3, gpus: 2, memory: 4194304, stdin: "
        "false,\n"
        "           nodeSelector: {rack: r1, gpu: a100}}]\n";
    char ignored[512];
    struct job_spec *spec = read_good(text, ignored, sizeof ignored);
    const struct role_spec *trainer = &spec->roles[1];

    assert_string_equal(ignored, "/metadata/namespace /metadata/labels /spec/hostNetwork "
                                 "/spec/VolumeMounts /spec/master /spec/trainer/etcd-endpoint "
                                 "/spec/nodeSelector /spec/trainer/resources/limits/cpu");
    assert_int_equal(spec->priority, -5);
    assert_true(spec->keep_remains);
    assert_true(spec->keep_cut_off);
    assert_int_equal(spec->parking, JOB_PARKING_NEVER);
    assert_string_equal(spec->user, "ann");
    assert_int_equal(job_spec_umask(spec), 0007);
    assert_int_equal(spec->grace_us, 1500001);
    assert_int_equal(spec->restart_max, 4);
    assert_int_equal(spec->tries_at_once, 0); /* its owner says how often */
    assert_int_equal(spec->restart_backoff_us, 250000);
    assert_int_equal(spec->passes, 3);
    assert_string_equal(spec->teacher, "old.teacher");
    assert_string_equal(spec->checkpoint_path, "/shared");
    assert_int_equal(spec->checkpoint_period_us, 90000000);
    assert_int_equal(spec->n_env, 2);
    assert_string_equal(spec->env[1].name, "_B2");
    assert_string_equal(spec->env[1].value, "x=y");
    assert_int_equal(spec->roles[0].min, 2);
    assert_int_equal(spec->roles[0].max, 5);
    assert_int_equal(spec->roles[0].cpu_millicores, 1000);
    assert_int_equal(trainer->cpu_millicores, 1500);
    assert_int_equal(trainer->memory_bytes, UINT64_C(1)
                                                << 30); /* the limit, for want of a request */
    assert_int_equal(trainer->gpus, 1);
    assert_string_equal(trainer->argv[1], "");
    assert_string_equal(trainer->argv[2], "a b");
    assert_true(trainer->takes_input);
    assert_false(spec->roles[0].takes_input); /* nothing is said */
    assert_false(spec->roles[2].takes_input);
    assert_string_equal(spec->roles[2].name, "helper");
    assert_int_equal(spec->roles[2].n_ports, 3);
    assert_int_equal(spec->roles[2].gpus, 2);
    assert_int_equal(role_selector(&spec->roles[0])->n, 1);
    assert_string_equal(labels_get(role_selector(&spec->roles[0]), "disk/type"), "");
    assert_int_equal(role_selector(trainer)->n, 0);
    assert_int_equal(role_selector(&spec->roles[2])->n, 2);
    assert_string_equal(labels_get(role_selector(&spec->roles[2]), "gpu"), "a100");
    check_round_trip(spec);
    (void)job_spec_free(spec);
}

/* A node for each instance, whose number is the size then, and one folder for the workspace. */
TEST(test_places)
{
    static const char text[] =
        "name: run\nworkspace-folder: /home/paddle/JOB20261126\nfault_tolerant: true\n"
        "trainer: {entrypoint: x, nodes: [n1, n2, n1], min-instance: 2, workspace: " ARCHIVE "}\n"
        "pserver: {nodes: [n3, n.4_x], workspace: " ARCHIVE "}\n"
        "roles: [{role: helper, command: [h], nodes: [a, b, c], max: 2}]\n";
    char ignored[64];
    struct job_spec *spec = read_good(text, ignored, sizeof ignored), *copy = job_spec_copy(spec);
    const struct role_spec *pserver = &spec->roles[0], *trainer = &spec->roles[1];
    const struct role_spec *helper = &spec->roles[2];

    assert_string_equal(ignored, "");
    assert_string_equal(spec->workspace_folder, "/home/paddle/JOB20261126");
    assert_int_equal(pserver->min, 2);
    assert_int_equal(pserver->max, 2);
    assert_string_equal(role_node(pserver, 1), "n.4_x");
    assert_null(role_node(pserver, 2));
    assert_int_equal(trainer->min, 2);
    assert_int_equal(trainer->max, 3);
    assert_string_equal(role_node(trainer, 2), "n1");
    assert_int_equal(helper->min, 2);
    assert_int_equal(helper->max, 2);
    check_round_trip(spec);
    assert_true(job_spec_equal(spec, copy));
    copy->roles[2].takes_input = true;
    assert_false(job_spec_equal(spec, copy));
    copy->roles[2].takes_input = false;
    (void)snprintf(copy->roles[1].nodes[2], 3, "n9");
    assert_false(job_spec_equal(spec, copy));
    (void)snprintf(copy->roles[1].nodes[2], 3, "n1");
    (void)snprintf(copy->workspace_folder, 3, "/x");
    assert_false(job_spec_equal(spec, copy));
    (void)job_spec_free(copy);
    (void)job_spec_free(spec);
}

/* The shape of the older submissions, as its Python module sent it. */
TEST(test_older_submission)
{
    static const char text[] =
        "{\"name\":\"paddle-cluster-job\",\"job_package\":\"/pfs/job\",\"parallelism\":4,\"cpu\":1,"
        "\"gpu\":1,\"memory\":\"1Gi\",\"pservers\":2,\"pscpu\":\"500m\",\"psmemory\":\"2Gi\","
        "\"topology\":\"conf.py\",\"entry\":\"python train.py\",\"dc\":\"meiyan\",\"image\":\"x\","
        "\"passes\":3,\"volumes\":[],\"registry_secret\":null,\"envs\":{\"A\":\"b\"},"
        "\"etcd_image\":\"etcd\",\"min_instance\":1,\"max_instance\":1,\"priority\":7}";
    char ignored[512];
    struct job_spec *spec = read_good(text, ignored, sizeof ignored);
    const struct role_spec *pserver = &spec->roles[0];
    const struct role_spec *trainer = &spec->roles[1];

    assert_string_equal(ignored, "/topology /dc /image /volumes /registry_secret /etcd_image "
                                 "/min_instance /max_instance");
    assert_int_equal(spec->mode, JOB_MODE_PSERVER);
    assert_int_equal(spec->priority, 7);
    assert_int_equal(spec->passes, 3);
    assert_false(spec->fault_tolerant);
    assert_string_equal(spec->env[0].value, "b");
    assert_int_equal(trainer->min, 4);
    assert_int_equal(trainer->max, 4);
    assert_int_equal(trainer->gpus, 1);
    assert_int_equal(trainer->cpu_millicores, 1000);
    assert_int_equal(trainer->memory_bytes, UINT64_C(1) << 30);
    assert_string_equal(trainer->workspace, "/pfs/job");
    assert_string_equal(trainer->argv[2], "python train.py");
    assert_int_equal(pserver->min, 2);
    assert_int_equal(pserver->cpu_millicores, 500);
    assert_int_equal(pserver->memory_bytes, UINT64_C(2) << 30);
    assert_string_equal(pserver->argv[0], "edl-pserver");
    check_round_trip(spec);
    (void)job_spec_free(spec);
}

/* Sizes of older submissions: what is left out, and what counts. */
TEST(test_older_sizes)
{
    static const struct {
        const char *keys, *ignored;
        uint32_t min, max, pservers;
    } rows[] = {
        { "\"parallelism\":3", "", 3, 3, 3 }, /* pservers default to parallelism */
        { "\"parallelism\":3,\"pservers\":0", "", 3, 3, 0 },
        { "\"min_instance\":2,\"max_instance\":5,\"fault_tolerant\":true", "", 2, 5, 2 },
        { "\"parallelism\":3,\"min_instance\":2,\"max_instance\":5,\"faulttolerant\":true",
          "/parallelism", 2, 5, 3 },
        { "\"min_instance\":2", "", 2, 2, 2 },
        { "\"pservers\":1", "", 1, 1, 1 },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        char text[256];
        char ignored[128];
        struct job_spec *spec;
        int pserver;

        (void)snprintf(text, sizeof text, "{\"name\":\"a\",\"entry\":\"x\",%s}", rows[i].keys);
        spec = read_good(text, ignored, sizeof ignored);
        pserver = job_spec_role(spec, "pserver");
        assert_string_equal(ignored, rows[i].ignored);
        assert_int_equal(spec->roles[job_spec_role(spec, "trainer")].min, rows[i].min);
        assert_int_equal(spec->roles[job_spec_role(spec, "trainer")].max, rows[i].max);
        assert_int_equal(pserver >= 0 ? spec->roles[pserver].min : 0, rows[i].pservers);
        (void)job_spec_free(spec);
    }
}

/* What comes before and what has to be over: read back as it was written. */
TEST(test_order_in_time)
{
    static const struct {
        const char *deadline;
        uint64_t from_submission_us, wall_us;
    } rows[] = {
        { "8h", 8 * 3600 * USEC_PER_SEC, 0 },
        { "90", 90 * USEC_PER_SEC, 0 },
        { "2026-12-01T18:00:00Z", 0, UINT64_C(1796148000) * USEC_PER_SEC },
        { "2026-12-01T18:00:00.000001+01:00", 0, (UINT64_C(1796148000) - 3600) * USEC_PER_SEC + 1 },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        char text[200];
        char ignored[64];
        struct job_spec *spec;
        struct job_spec *copy;

        (void)snprintf(text, sizeof text,
                       "name: a\ntrainer: {entrypoint: x}\nafter: [prep, 17, '18']\nexpected: "
                       "20m\ndeadline: %s\n",
                       rows[i].deadline);
        spec = read_good(text, ignored, sizeof ignored);
        assert_int_equal(spec->deadline_us, rows[i].from_submission_us);
        assert_int_equal(spec->deadline_wall_us, rows[i].wall_us);
        assert_int_equal(spec->expected_us, 1200 * USEC_PER_SEC);
        assert_string_equal(spec->after[0], "prep");
        assert_string_equal(spec->after[1], "17");
        assert_string_equal(spec->after[2], "18");
        assert_null(spec->after[3]);
        check_round_trip(spec);
        copy = job_spec_copy(spec);
        assert_true(job_spec_equal(spec, copy));
        copy->deadline_wall_us++;
        assert_false(job_spec_equal(spec, copy));
        copy->deadline_wall_us--;
        copy->expected_us++;
        assert_false(job_spec_equal(spec, copy));
        copy->expected_us--;
        copy->after[2][0] = '9';
        assert_false(job_spec_equal(spec, copy));
        (void)job_spec_free(copy);
        (void)job_spec_free(spec);
    }
}

TEST(test_array)
{
    char ignored[64];
    struct job_spec *spec =
        read_good("name: many\narray: 5-1004\ntrainer: {entrypoint: x}\n", ignored, sizeof ignored);
    struct job_spec *element;

    assert_int_equal(spec->array.first, 5);
    assert_int_equal(spec->array.n, 1000);
    check_round_trip(spec);
    element = job_spec_array_element(spec, 999);
    assert_string_equal(element->name, "many-1004");
    assert_string_equal(element->array.name, "many");
    check_round_trip(element);
    assert_false(job_spec_equal(spec, element));
    (void)job_spec_free(element);
    (void)job_spec_free(spec);
    spec = read_good("name: few\narray: 0-9%3\nafter: ['any:many', many]\n"
                     "trainer: {entrypoint: x}\n",
                     ignored, sizeof ignored);
    assert_int_equal(spec->array.n, 10);
    assert_int_equal(spec->array.most, 3);
    assert_true(job_after_is_any(spec->after[0]));
    assert_string_equal(job_after_named(spec->after[0]), "many");
    assert_string_equal(job_after_named(spec->after[1]), "many");
    check_round_trip(spec);
    element = job_spec_array_element(spec, 9);
    assert_int_equal(element->array.most, 3);
    check_round_trip(element);
    (void)job_spec_free(element);
    (void)job_spec_free(spec);
    spec =
        read_good("name: all\narray: 0-9%10\ntrainer: {entrypoint: x}\n", ignored, sizeof ignored);
    assert_int_equal(spec->array.most, 0); /* that is no bound */
    (void)job_spec_free(spec);
}

TEST(test_sweep)
{
    _cleanup_free_ char *text = read_example("sweep.yaml");
    char ignored[64];
    struct job_spec *spec = read_good(text, ignored, sizeof ignored);

    assert_string_equal(ignored, "");
    assert_int_equal(spec->array.n, 10);
    assert_int_equal(spec->deadline_us, 8 * 3600 * USEC_PER_SEC);
    check_round_trip(spec);
    (void)job_spec_free(spec);
}

/* The operator's name for the same shape, and keys of its documents. */
TEST(test_operator_document)
{
    static const char text[] =
        "apiVersion: paddlepaddle.org/v1\nkind: PaddleJob\nmetadata: {name: a}\n"
        "spec:\n  mountPath: /home\n  secrets: [s]\n  serviceAccount: x\n"
        "  trainer: {entrypoint: x, mountPath: /home, secrets: [], serviceAccount: y}\n";
    char ignored[256];
    struct job_spec *spec = read_good(text, ignored, sizeof ignored);

    assert_string_equal(ignored, "/kind /spec/mountPath /spec/secrets /spec/serviceAccount "
                                 "/spec/trainer/mountPath /spec/trainer/secrets "
                                 "/spec/trainer/serviceAccount");
    (void)job_spec_free(spec);
}

/* What an earlier version took is loaded, although it would be refused now. */
TEST(test_stored_amounts)
{
    json_t *document = json_pack("{s:s, s:[{s:s, s:[s], s:s}]}", "name", "a", "roles", "role", "w",
                                 "command", "x", "cpu", "0m");
    struct job_spec *spec = NULL;

    assert_int_equal(job_spec_from_document(document, &spec, NULL, NULL), EDL_EBADSPEC);
    assert_int_equal(job_spec_from_stored(document, &spec, NULL), 0);
    assert_int_equal(spec->roles[0].cpu_millicores, 0);
    (void)job_spec_free(spec);
    json_decref(document);
    document = json_pack("{s:s, s:[{s:s, s:[s], s:i}]}", "name", "a", "roles", "role", "w",
                         "command", "x", "memory", 64);
    assert_int_equal(job_spec_from_document(document, &spec, NULL, NULL), EDL_EBADSPEC);
    assert_int_equal(job_spec_from_stored(document, &spec, NULL), 0);
    assert_int_equal(spec->roles[0].memory_bytes, 64);
    (void)job_spec_free(spec);
    json_decref(document);
}

/* What a version before took is read, or its scheduler could not be started any more. */
TEST(test_stored_document_of_mode_mpi)
{
    struct edl_error error = { 0 };
    struct job_spec *spec = NULL;
    json_t *document = json_pack("{s:s,s:s,s:b,s:[{s:s,s:s,s:i,s:i,s:i}]}", "name", "old", "mode",
                                 "mpi", "fault_tolerant", 1, "roles", "role", "trainer",
                                 "entrypoint", "x", "min", 1, "max", 3, "ports", 0);

    assert_int_equal(job_spec_from_document(document, &spec, NULL, &error), EDL_EBADSPEC);
    assert_int_equal(job_spec_from_stored(document, &spec, &error), 0);
    assert_int_equal(spec->roles[0].max, 3);
    (void)job_spec_free(spec);
    json_decref(document);
}

/* The files alone, or files and what is said of their tasks, each of which may be absent. */
TEST(test_dataset_with_rules)
{
    static const struct {
        const char *text, *files;
        bool shuffled;
        uint64_t seed;
        uint32_t task_records, tries;
    } good[] = {
        { "/data/train-*", "/data/train-*", false, 0, 0, 0 },
        { "{files: /data/train-*}", "/data/train-*", false, 0, 0, 0 },
        { "{files: /data/train-*, shuffle: 0}", "/data/train-*", true, 0, 0, 0 },
        { "{shuffle: 9223372036854775807}", NULL, true, INT64_MAX, 0, 0 },
        { "{task_records: 1, tries: 1000}", NULL, false, 0, 1, 1000 },
        { "{files: /d, shuffle: 7, task_records: 16777216, tries: 1}", "/d", true, 7, 16777216, 1 },
        { "{}", NULL, false, 0, 0, 0 },
    };
    static const char *const bad[][2] = {
        { "{\"files\":7}", "/dataset/files" },
        { "{\"shuffle\":-1}", "/dataset/shuffle" },
        { "{\"shuffle\":\"yes\"}", "/dataset/shuffle" },
        { "{\"shuffel\":1}", "/dataset/shuffel" },
        { "{\"task_records\":0}", "/dataset/task_records" },
        { "{\"task_records\":16777217}", "/dataset/task_records" },
        { "{\"tries\":0}", "/dataset/tries" },
        { "{\"tries\":1001}", "/dataset/tries" },
        { "[\"/a\"]", "/dataset" },
    };
    struct job_spec *spec = NULL;

    for (size_t i = 0; i < ELEMENTS(good); i++) {
        char text[200], ignored[16];

        (void)snprintf(text, sizeof text, "name: a\ndataset: %s\ntrainer: {entrypoint: x}\n",
                       good[i].text);
        spec = read_good(text, ignored, sizeof ignored);
        if (good[i].files == NULL)
            assert_null(spec->dataset);
        else
            assert_string_equal(spec->dataset, good[i].files);
        assert_int_equal(spec->shuffled, good[i].shuffled);
        assert_int_equal(spec->shuffle_seed, good[i].seed);
        assert_int_equal(spec->task_records, good[i].task_records);
        assert_int_equal(spec->task_tries, good[i].tries);
        check_round_trip(spec);
        spec = job_spec_free(spec);
    }
    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        json_t *document = json_pack("{s:s, s:o, s:{s:s}}", "name", "a", "dataset",
                                     json_loads(bad[i][0], 0, NULL), "trainer", "entrypoint", "x");
        struct edl_error error = { 0 };

        assert_int_equal(job_spec_from_document(document, &spec, NULL, &error), EDL_EBADSPEC);
        assert_string_equal(error.pointer, bad[i][1]);
        assert_string_not_equal(error.remedy[0] != '\0' ? error.remedy : error.text, "");
        json_decref(document);
    }
}

/* What only containers need is said wherever it stands; master is said once, as a whole. */
TEST(test_container_keys)
{
    static const char text[] =
        "metadata: {name: a, uid: x, annotations: {}}\n"
        "spec:\n  image: i\n  imagePullSecrets: [{name: s}]\n  volumes: []\n  hostNetwork: true\n"
        "  affinity: {}\n"
        "  trainer: {entrypoint: x, image: i, volumeMounts: [], replicaSpec: {}}\n"
        "  pserver: {imagePullPolicy: Always, host_network: true}\n"
        "  master: {image: i, etcd-endpoint: e, resources: {limits: {cpu: 1}}}\n";
    char ignored[512];
    struct job_spec *spec = read_good(text, ignored, sizeof ignored);

    assert_string_equal(ignored,
                        "/metadata/uid /metadata/annotations /spec/image /spec/imagePullSecrets "
                        "/spec/volumes /spec/hostNetwork /spec/affinity /spec/trainer/image "
                        "/spec/trainer/volumeMounts /spec/trainer/replicaSpec "
                        "/spec/pserver/imagePullPolicy /spec/pserver/host_network /spec/master");
    (void)job_spec_free(spec);
}

/* Brackets and commas inside a text are no values. room: JOB_DOCUMENT_MAX_BYTES */
static void check_values(char *room)
{
    char *end = stpcpy(room, "{\"a\":[\",[{,\\\",\"");
    json_t *document = NULL;
    struct edl_error error = { 0 };

    for (unsigned i = 0; i < JOB_DOCUMENT_MAX_VALUES - 3; i++) /* and the two around them */
        end = stpcpy(end, ",{}");
    (void)stpcpy(end, "]}");
    assert_int_equal(json_values_at_most(room, strlen(room)), 2 * JOB_DOCUMENT_MAX_VALUES - 3);
    (void)memset(room, 0, JOB_DOCUMENT_MAX_BYTES);
    end = stpcpy(room, "{\"a\":[\",[{,\\\",\"");
    for (unsigned i = 0; i < JOB_DOCUMENT_MAX_VALUES - 3; i++)
        end = stpcpy(end, ",1");
    (void)stpcpy(end, "]}");
    assert_int_equal(job_document_parse(room, strlen(room), &job_document_bounds, &document,
                                        &error),
                     0);
    json_decref(document);
    (void)stpcpy(end, ",1]}");
    assert_int_equal(job_document_parse(room, strlen(room), &job_document_bounds, &document,
                                        &error),
                     -E2BIG);
    assert_string_equal(error.text, "the document has more than 16384 values");
    assert_string_equal(error.remedy, JOB_DOCUMENT_REMEDY);
}

TEST(test_parse)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        { "", "the document is empty" },
        { " \n\t", "the document is empty" },
        { "{\"a\":1,\"a\":2}", "line 1, column" },
        { "{\n\"a\":}", "line 2, column" },
        { "{\"a\":\"\\u0000\"}", "line 1, column" },
        { "{\"a\":99999999999999999999}", "line 1, column" },
        { "a: [", "line 2, column 1" },
    };
    char ignored[64], *large = xcalloc(1, JOB_DOCUMENT_MAX_BYTES + 2);
    struct edl_error error;

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        assert_null(read_spec(rows[i].text, strlen(rows[i].text), ignored, sizeof ignored, &error));
        if (error.code != EDL_EBADSPEC || strstr(error.text, rows[i].expected) != error.text)
            fail_msg("%s: %s", rows[i].text, error.text);
    }
    /* what curl -d makes of a file */
    assert_null(read_spec("name: atrainer:  x: 1", 21, ignored, sizeof ignored, &error));
    assert_non_null(strstr(error.remedy, "--data-binary"));
    assert_null(read_spec("a: [\n", 5, ignored, sizeof ignored, &error));
    assert_string_equal(error.remedy, "");
    memset(large, ' ', JOB_DOCUMENT_MAX_BYTES + 1);
    assert_null(read_spec(large, JOB_DOCUMENT_MAX_BYTES + 1, ignored, sizeof ignored, &error));
    assert_int_equal(error.code, -E2BIG);
    assert_string_equal(error.text, "the document has more than 262144 bytes");
    assert_string_equal(error.remedy, JOB_DOCUMENT_REMEDY);
    check_values(large);
    free(large);
    assert_null(read_spec("just text", 9, ignored, sizeof ignored, &error));
    assert_string_equal(error.text, "document: an object is expected, found text \"just text\"");
    assert_null(read_spec("\0{}", 3, ignored, sizeof ignored, &error)); /* NUL is not a blank */
    assert_int_equal(error.code, EDL_EBADSPEC);
}

/* Values that no parser lets through can still come from a program that builds the document itself.
 */
TEST(test_built_document)
{
    json_t *document = json_pack("{s:s, s:[{s:s, s:[s#]}]}", "name", "a", "roles", "role", "w",
                                 "command", "x\0y", 3);
    struct job_spec *spec = NULL;
    struct edl_error error = { 0 };

    assert_int_equal(job_spec_from_document(document, &spec, NULL, &error), EDL_EBADSPEC);
    assert_string_equal(error.pointer, "/roles/0/command/0");
    assert_string_equal(error.text, "text must not contain NUL");
    json_decref(document);
}

/* Pointers and names much longer than the error object are cut, not overrun. */
TEST(test_long_key)
{
    char text[5000], ignored[64];
    struct edl_error error;

    for (size_t n = 100; n < 4000; n += 37) {
        (void)snprintf(text, sizeof text, "{\"name\":\"a\",\"%0*d~/\":1}", (int)n, 0);
        assert_null(read_spec(text, strlen(text), ignored, sizeof ignored, &error));
        assert_int_equal(error.code, EDL_EBADSPEC);
    }
}
