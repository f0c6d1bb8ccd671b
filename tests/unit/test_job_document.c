/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_document.c - job documents: defaults, every rule broken once, and back again unchanged
 */
#include "shared/job_document.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

#ifndef EXAMPLES
#define EXAMPLES "conf/examples"
#endif

/* read_spec - text to spec; NULL with error set. *ret_ignored: space-separated pointers */
static struct job_spec *read_spec(const char *text, size_t size, char *ignored, size_t ignored_size,
                                  struct edl_error *error)
{
    json_t *document = NULL, *list = NULL, *pointer;
    struct job_spec *spec = NULL;
    size_t i;

    *error = (struct edl_error){ 0 };
    ignored[0] = '\0';
    if (job_document_parse(text, size, &document, error) < 0)
        return NULL;
    if (job_spec_from_document(document, &spec, &list, error) == 0) {
        json_array_foreach(list, i, pointer)
        {
            size_t used = strlen(ignored);

            (void)snprintf(ignored + used, ignored_size - used, "%s%s", i > 0 ? " " : "",
                           json_string_value(pointer));
        }
        json_decref(list);
    }
    json_decref(document);
    return spec;
}

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

static void test_example(void **state)
{
    _cleanup_free_ char *text = read_example("example.yaml");
    char ignored[256];
    struct job_spec *spec = read_good(text, ignored, sizeof ignored);
    const struct role_spec *pserver = &spec->roles[0], *trainer = &spec->roles[1];

    (void)state;
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

static void test_flat(void **state)
{
    _cleanup_free_ char *text = read_example("hostname.json");
    char ignored[256];
    struct job_spec *spec = read_good(text, ignored, sizeof ignored);

    (void)state;
    assert_string_equal(ignored, "");
    assert_int_equal(spec->mode, JOB_MODE_COLLECTIVE);
    assert_false(spec->fault_tolerant);
    assert_int_equal(spec->restart_max, 0);
    assert_int_equal(spec->passes, 1);
    assert_null(spec->dataset);
    assert_int_equal(spec->roles[0].min, 2);
    assert_int_equal(spec->roles[0].max, 2);
    assert_int_equal(spec->roles[0].n_ports, 1);
    assert_string_equal(spec->roles[0].argv[0], "hostname");
    check_round_trip(spec);
    (void)job_spec_free(spec);
}

static void test_everything(void **state)
{
    static const char text[] =
        "apiVersion: paddlepaddle.org/v1\nkind: TrainingJob\n"
        "metadata: {name: a-1, namespace: x, labels: {a: b}}\n"
        "spec:\n"
        "  mode: pserver\n  priority: -5\n  on_disconnect: keep\n  user: ann\n  umask: '0007'\n  "
        "autoclean: false\n "
        " grace: "
        "1500001us\n  passes: 3\n"
        "  restart: {max: 4, backoff: 0.25}\n  env: {A: '1', _B2: 'x=y'}\n  dataset: /d/*\n"
        "  teacher: old.teacher\n  checkpoint: {path: /shared, period: 90s}\n"
        "  hostNetwork: true\n  VolumeMounts:\n  master: {resources: {limits: {cpu: 1}}}\n"
        "  fault_tolerant: true\n"
        "  trainer:\n    command: [prog, '', a b]\n    etcd-endpoint: x\n    passes: 3\n"
        "    min-instance: 3\n    max-instance: 4\n"
        "    resources:\n      limits: {cpu: 2, memory: 1Gi, nvidia.com/gpu: '1'}\n"
        "      requests: {cpu: 1.5}\n"
        "  pserver: {min-instance: 2, max-instance: 5, node-selector: {disk/type: ''}}\n"
        "  nodeSelector: {rack: r9}\n"
        "  roles: [{role: helper, entrypoint: h, ports: 3, gpus: 2, memory: 4096,\n"
        "           nodeSelector: {rack: r1, gpu: a100}}]\n";
    char ignored[512];
    struct job_spec *spec = read_good(text, ignored, sizeof ignored);
    const struct role_spec *trainer = &spec->roles[1];

    (void)state;
    assert_string_equal(ignored, "/metadata/namespace /metadata/labels /spec/hostNetwork "
                                 "/spec/VolumeMounts /spec/master /spec/trainer/etcd-endpoint "
                                 "/spec/nodeSelector /spec/trainer/resources/limits/cpu");
    assert_int_equal(spec->priority, -5);
    assert_true(spec->keep_remains);
    assert_true(spec->keep_cut_off);
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
    assert_int_equal(spec->roles[0].cpu_millicores, 100);
    assert_int_equal(trainer->cpu_millicores, 1500);
    assert_int_equal(trainer->memory_bytes, UINT64_C(1)
                                                << 30); /* the limit, for want of a request */
    assert_int_equal(trainer->gpus, 1);
    assert_string_equal(trainer->argv[1], "");
    assert_string_equal(trainer->argv[2], "a b");
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

/* The shape of the older submissions, as its Python module sent it. */
static void test_older_submission(void **state)
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

    (void)state;
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
static void test_older_sizes(void **state)
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

    (void)state;
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
static void test_order_in_time(void **state)
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

    (void)state;
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

static void test_array(void **state)
{
    char ignored[64];
    struct job_spec *spec =
        read_good("name: many\narray: 5-1004\ntrainer: {entrypoint: x}\n", ignored, sizeof ignored);
    struct job_spec *element;

    (void)state;
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
}

static void test_sweep(void **state)
{
    _cleanup_free_ char *text = read_example("sweep.yaml");
    char ignored[64];
    struct job_spec *spec = read_good(text, ignored, sizeof ignored);

    (void)state;
    assert_string_equal(ignored, "");
    assert_int_equal(spec->array.n, 10);
    assert_int_equal(spec->deadline_us, 8 * 3600 * USEC_PER_SEC);
    check_round_trip(spec);
    (void)job_spec_free(spec);
}

/* The operator's name for the same shape, and keys of its documents. */
static void test_operator_document(void **state)
{
    static const char text[] =
        "apiVersion: paddlepaddle.org/v1\nkind: PaddleJob\nmetadata: {name: a}\n"
        "spec:\n  mountPath: /home\n  secrets: [s]\n  serviceAccount: x\n"
        "  trainer: {entrypoint: x, mountPath: /home, secrets: [], serviceAccount: y}\n";
    char ignored[256];
    struct job_spec *spec = read_good(text, ignored, sizeof ignored);

    (void)state;
    assert_string_equal(ignored, "/kind /spec/mountPath /spec/secrets /spec/serviceAccount "
                                 "/spec/trainer/mountPath /spec/trainer/secrets "
                                 "/spec/trainer/serviceAccount");
    (void)job_spec_free(spec);
}

/* What an earlier version took is loaded, although it would be refused now. */
static void test_stored_amounts(void **state)
{
    json_t *document = json_pack("{s:s, s:[{s:s, s:[s], s:s}]}", "name", "a", "roles", "role", "w",
                                 "command", "x", "cpu", "0m");
    struct job_spec *spec = NULL;

    (void)state;
    assert_int_equal(job_spec_from_document(document, &spec, NULL, NULL), EDL_EBADSPEC);
    assert_int_equal(job_spec_from_stored(document, &spec, NULL), 0);
    assert_int_equal(spec->roles[0].cpu_millicores, 0);
    (void)job_spec_free(spec);
    json_decref(document);
}

/* Who says nothing of memory asks for some all the same: by its cores or its GPUs. */
static void test_memory_by_default(void **state)
{
    static const char text[] = "name: a\nroles:\n"
                               "- {role: small, command: [x]}\n"
                               "- {role: large, command: [x], cpu: 2500m, gpus: 1}\n"
                               "- {role: devices, command: [x], gpus: 4}\n"
                               "- {role: says, command: [x], cpu: 8, memory: 1Mi}\n";
    static const uint64_t mib[] = { 256, 2560, 4096, 1 };
    char ignored[16];
    struct job_spec *spec = read_good(text, ignored, sizeof ignored);

    (void)state;
    assert_int_equal(job_spec_ask_for_memory(spec), 7);
    for (size_t i = 0; i < ELEMENTS(mib); i++)
        assert_int_equal(spec->roles[i].memory_bytes, mib[i] << 20);
    assert_int_equal(job_spec_ask_for_memory(spec), 0);
    (void)job_spec_free(spec);
}

/* What only containers need is said wherever it stands; master is said once, as a whole. */
static void test_container_keys(void **state)
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

    (void)state;
    assert_string_equal(ignored,
                        "/metadata/uid /metadata/annotations /spec/image /spec/imagePullSecrets "
                        "/spec/volumes /spec/hostNetwork /spec/affinity /spec/trainer/image "
                        "/spec/trainer/volumeMounts /spec/trainer/replicaSpec "
                        "/spec/pserver/imagePullPolicy /spec/pserver/host_network /spec/master");
    (void)job_spec_free(spec);
}

struct refusal {
    const char *json, *pointer, *text, *remedy; /* text and remedy: part of it */
};

#define TRAINER(keys) "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"trainer\":{" keys "}}}"
#define SPEC(keys) "{\"metadata\":{\"name\":\"a\"},\"spec\":{" keys "}}"
#define OLDER(keys) "{\"name\":\"a\",\"parallelism\":2," keys "}"
#define FLAT(keys) "{\"name\":\"a\"," keys "}"

static const struct refusal refusals[] = {
    /* elastic without fault_tolerant, in both forms */
    { TRAINER("\"entrypoint\":\"x\",\"min-instance\":2,\"max-instance\":3"),
      "/spec/trainer/max-instance",
      "max-instances should equal to min-instances when fault_tolerant is disabled",
      "fault_tolerant: true" },
    { FLAT("\"roles\":[{\"role\":\"w\",\"command\":[\"x\"],\"min\":1,\"max\":2}]"), "/roles/0/max",
      "max-instances should equal to min-instances when fault_tolerant is disabled", "max to 1" },
    /* archives of workspaces have one spelling */
    { TRAINER("\"entrypoint\":\"x\",\"workspace\":\"sha256:ABC\""), "/spec/trainer/workspace",
      "this is not the name of an archive", "64 digits" },
    { FLAT("\"roles\":[{\"role\":\"w\",\"command\":[\"x\"],\"workspace\":\"sha256:\"}]"),
      "/roles/0/workspace", "this is not the name of an archive", "edl submit --upload" },
    /* numbers */
    { TRAINER("\"entrypoint\":\"x\",\"min-instance\":5,\"max-instance\":2"),
      "/spec/trainer/max-instance", "trainer.min-instance is 5 but max-instance is 2",
      "at least 5" },
    { TRAINER("\"min-instance\":0"), "/spec/trainer/min-instance",
      "min-instance: a whole number from 1 to 1024 is expected, found number 0",
      "write 1 or more, or leave the key out" },
    { TRAINER("\"resources\":{\"requests\":{\"cpu\":0}}"), "/spec/trainer/resources/requests/cpu",
      "cpu: an amount of CPU like 2, 0.5 or 200m is expected, found number 0", "100m then" },
    { FLAT("\"roles\":[{\"role\":\"w\",\"command\":[\"x\"],\"cpu\":\"0m\"}]"), "/roles/0/cpu",
      "found text \"0m\"", "100m then" },
    { OLDER("\"entry\":\"x\",\"pscpu\":0"), "/pscpu", "found number 0", "100m then" },
    { TRAINER("\"max-instance\":1025"), "/spec/trainer/max-instance", "found number 1025", "" },
    { TRAINER("\"min-instance\":-1"), "/spec/trainer/min-instance", "found number -1", "" },
    { TRAINER("\"min-instance\":9223372036854775807"), "/spec/trainer/min-instance", "1 to 1024",
      "" },
    { TRAINER("\"min-instance\":\"2\""), "/spec/trainer/min-instance", "found text \"2\"", "" },
    { TRAINER("\"min-instance\":2.5"), "/spec/trainer/min-instance", "found number 2.5", "" },
    { TRAINER("\"resources\":{\"requests\":{\"cpu\":\"fast\"}}"),
      "/spec/trainer/resources/requests/cpu", "amount of CPU like 2, 0.5 or 200m", "" },
    { TRAINER("\"resources\":{\"requests\":{\"cpu\":-1}}"), "/spec/trainer/resources/requests/cpu",
      "found number -1", "" },
    { TRAINER("\"resources\":{\"requests\":{\"cpu\":1000001}}"),
      "/spec/trainer/resources/requests/cpu", "1000001 is outside", "" },
    { TRAINER("\"resources\":{\"requests\":{\"memory\":\"2Ei\"}}"),
      "/spec/trainer/resources/requests/memory", "2Ei is outside", "" },
    { TRAINER("\"resources\":{\"requests\":{\"memory\":true}}"),
      "/spec/trainer/resources/requests/memory", "found true", "" },
    { TRAINER("\"resources\":{\"limits\":{\"gpu\":\"-1\"}}"), "/spec/trainer/resources/limits/gpu",
      "from 0 to 64", "" },
    { TRAINER(
          "\"entrypoint\":\"x\",\"resources\":{\"requests\":{\"cpu\":2},\"limits\":{\"cpu\":1}}"),
      "/spec/trainer/resources/limits/cpu", "smaller than the request", "" },
    { SPEC("\"port\":65536"), "/spec/port", "from 1 to 65535", "" },
    { SPEC("\"passes\":0"), "/spec/passes", "from 1", "" },
    { SPEC("\"passes\":2,\"trainer\":{\"entrypoint\":\"x\",\"passes\":3}"), "/spec/passes",
      "two different", "" },
    { SPEC("\"grace\":\"soon\""), "/spec/grace", "a time like 30s", "" },
    { SPEC("\"grace\":\"25h\""), "/spec/grace", "25h is outside", "" },
    { SPEC("\"restart\":{\"max\":-1}"), "/spec/restart/max", "from 0", "" },
    { SPEC("\"fault_tolerant\":\"yes\""), "/spec/fault_tolerant", "true or false is expected", "" },
    { TRAINER("\"resources\":{\"limits\":{\"nvidia.com/gpu\":65}}"),
      "/spec/trainer/resources/limits/nvidia.com~1gpu", "from 0 to 64 is expected, found number 65",
      "a process runs on one node" },
    { FLAT("\"roles\":[{\"role\":\"w\",\"command\":[\"x\"],\"ports\":9}]"), "/roles/0/ports", "9",
      "" },
    { FLAT("\"roles\":[{\"role\":\"w\",\"command\":[\"x\"],\"memory\":\"65Ti\"}]"),
      "/roles/0/memory", "65Ti", "" },
    { FLAT("\"roles\":[{\"role\":\"w\",\"command\":[\"x\"],\"gpus\":65}]"), "/roles/0/gpus",
      "from 0 to 64", "ask for more processes" },
    /* labels */
    { TRAINER("\"entrypoint\":\"x\",\"node-selector\":{\"Rack\":\"r1\"}"),
      "/spec/trainer/node-selector/Rack", "cannot be a label's name", "edl nodes" },
    { TRAINER("\"entrypoint\":\"x\",\"nodeSelector\":{\"a/b\":\"x y\"}"),
      "/spec/trainer/nodeSelector/a~1b", "\"x y\" cannot be the value of label a/b", "edl nodes" },
    { TRAINER("\"entrypoint\":\"x\",\"node-selector\":{\"rack\":1}"),
      "/spec/trainer/node-selector/rack", "text is expected, found number 1", "quotes" },
    { TRAINER("\"entrypoint\":\"x\",\"node-selector\":{\"rack\":true}"),
      "/spec/trainer/node-selector/rack", "text is expected, found true", "quotes" },
    { TRAINER("\"entrypoint\":\"x\",\"node-selector\":{\"rack\":null}"),
      "/spec/trainer/node-selector/rack", "text is expected, found null", "" },
    { FLAT(
          "\"roles\":[{\"role\":\"w\",\"command\":[\"x\"],\"node-selector\":{\"a\":\"\",\"b\":\"\","
          "\"c\":\"\",\"d\":\"\",\"e\":\"\",\"f\":\"\",\"g\":\"\",\"h\":\"\",\"i\":\"\"}}]"),
      "/roles/0/node-selector/i", "more than 8 labels", "fewer" },
    { TRAINER("\"entrypoint\":\"x\",\"node-selector\":[]"), "/spec/trainer/node-selector",
      "an object is expected", "" },
    { TRAINER("\"entrypoint\":\"x\",\"nodeSelector\":{},\"node-selector\":{}"),
      "/spec/trainer/nodeSelector", "both given", "keep one" },
    /* names and keys */
    { "{\"metadata\":{\"name\":\"my.job_1\"},\"spec\":{\"trainer\":{\"entrypoint\":\"x\"}}}",
      "/metadata/name", "\"my.job_1\" cannot name a job",
      "'.' and '_' are not allowed): my-job-1" },
    { "{\"name\":\"1a\",\"roles\":[{\"role\":\"w\",\"command\":[\"x\"]}]}", "/name", "\"1a\"",
      ": a" },
    { "{\"spec\":{\"trainer\":{\"entrypoint\":\"x\"}}}", "/metadata/name", "missing", "" },
    { "{\"name\":\"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg\","
      "\"roles\":[{\"role\":\"w\",\"command\":[\"x\"]}]}",
      "/name", "64 characters, 63 are allowed", "" },
    { TRAINER("\"min_instance\":1"), "/spec/trainer/min_instance", "unknown key \"min_instance\"",
      "\"min-instance\"" },
    { SPEC("\"tranier\":{}"), "/spec/tranier", "unknown key", "\"trainer\"" },
    { SPEC("\"xyz/~\":1"), "/spec/xyz~1~0", "unknown key", "known here: trainer, pserver, roles" },
    { "{\"kind\":\"TrainingJob\",\"metdata\":{}}", "/metdata", "unknown key", "\"metadata\"" },
    { "{\"kind\":\"Pod\",\"spec\":{}}", "/kind", "kind \"Pod\" is not known", "TrainingJob" },
    { "{\"apiVersion\":\"v1\",\"spec\":{}}", "/apiVersion", "\"v1\"", "paddlepaddle.org/v1" },
    { "{\"kind\":\"TrainingJob\"}", "/spec", "spec is missing", "" },
    { "{\"metadata\":[],\"spec\":{}}", "/metadata", "an object is expected, found an array", "" },
    { "{\"name\":\"a\"}", "/trainer", "no role", "add trainer" },
    { SPEC("\"deadline\":\"soon\""), "/spec/deadline", "a time like 30s", "2026-12-01T18:00:00Z" },
    { SPEC("\"deadline\":\"2026-12-01T18:00:00\""), "/spec/deadline", "a time like",
      "with its time zone" },
    { SPEC("\"deadline\":0"), "/spec/deadline", "0 is outside", "at most 10 years" },
    { SPEC("\"expected\":\"soon\""), "/spec/expected", "a time like 30s", "" },
    { SPEC("\"expected\":0"), "/spec/expected", "0 is outside", "" },
    { SPEC("\"after\":\"a\""), "/spec/after", "an array is expected", "" },
    { TRAINER("\"entrypoint\":\"x\"},\"after\":[\"a\",0],\"env\":{"), "/spec/after/1",
      "text is expected, found number 0", "" },
    { TRAINER("\"entrypoint\":\"x\"},\"after\":[\"\"],\"env\":{"), "/spec/after/0",
      "name or number of a job", "" },
    { SPEC("\"array\":3"), "/spec/array", "text is expected, found number 3", "" },
    { FLAT("\"trainer\":{\"entrypoint\":\"x\"},\"array\":\"3\""), "/array", "FIRST-LAST",
      "array: 0-99" },
    { FLAT("\"trainer\":{\"entrypoint\":\"x\"},\"array\":\"3-2\""), "/array", "FIRST-LAST", "" },
    { FLAT("\"trainer\":{\"entrypoint\":\"x\"},\"array\":\"-2\""), "/array", "FIRST-LAST", "" },
    { FLAT("\"trainer\":{\"entrypoint\":\"x\"},\"array\":\"0-1000\""), "/array", "at most 1000",
      "" },
    { FLAT("\"trainer\":{\"entrypoint\":\"x\"},\"array\":\"999999-1000000\""), "/array",
      "up to 999999", "" },
    { FLAT("\"trainer\":{\"entrypoint\":\"x\"},\"array\":\"0-99999999999999999999\""), "/array",
      "FIRST-LAST", "" },
    { "{\"name\":\"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgg\","
      "\"trainer\":{\"entrypoint\":\"x\"},\"array\":\"0-9\"}",
      "/array", "too long", "shorten" },
    { FLAT("\"trainer\":{\"entrypoint\":\"x\"},\"array\":{\"name\":\"b\",\"index\":0,\"jobs\":1}"),
      "/array", "not the array of that job", "" },
    { FLAT("\"trainer\":{\"entrypoint\":\"x\"},\"array\":{}"), "/array",
      "not the array of that job", "" },
    { SPEC("\"mode\":\"fast\",\"trainer\":{\"entrypoint\":\"x\"}"), "/spec/mode", "not known",
      "collective" },
    { SPEC("\"mode\":\"pserver\",\"trainer\":{\"entrypoint\":\"x\"}"), "/spec/mode",
      "no role is a pserver", "" },
    { SPEC("\"mode\":\"collective\",\"trainer\":{\"entrypoint\":\"x\"},\"pserver\":{}"),
      "/spec/mode", "needs mode pserver", "" },
    { SPEC("\"pserver\":{}"), "/spec/trainer", "a trainer is missing", "" },
    /* roles and commands */
    { TRAINER(""), "/spec/trainer/entrypoint", "command to run is missing", "add entrypoint" },
    { TRAINER("\"entrypoint\":\"x\",\"command\":[\"y\"]"), "/spec/trainer/command", "both given",
      "" },
    { TRAINER("\"command\":[]"), "/spec/trainer/command", "1 to 1024 arguments", "" },
    { TRAINER("\"command\":[\"\"]"), "/spec/trainer/command/0", "name is empty", "" },
    { TRAINER("\"command\":[\"a\",1]"), "/spec/trainer/command/1", "text is expected", "" },
    { TRAINER("\"command\":\"a\""), "/spec/trainer/command", "an array is expected", "" },
    { FLAT("\"roles\":{}"), "/roles", "an array is expected", "" },
    { FLAT("\"roles\":[1]"), "/roles/0", "an object is expected", "" },
    { FLAT("\"roles\":[{\"command\":[\"x\"]}]"), "/roles/0", "role's name is missing", "" },
    { FLAT("\"roles\":[{\"role\":\"A b\"}]"), "/roles/0", "\"A b\" cannot name a role",
      "lower-case" },
    { FLAT("\"trainer\":{},\"roles\":[{\"role\":\"trainer\"}]"), "/roles/0",
      "given twice, also as /trainer", "" },
    { FLAT("\"roles\":[{\"role\":\"a\"},{\"role\":\"b\"},{\"role\":\"c\"},{\"role\":\"d\"},{"
           "\"role\":\"e\"},"
           "{\"role\":\"f\"},{\"role\":\"g\"},{\"role\":\"h\"},{\"role\":\"i\"}]"),
      "/roles/8", "at most 8 roles", "" },
    /* older submissions: pointers name their own keys */
    { OLDER("\"cpu\":1"), "/entry", "command to run is missing", "add entry: \"COMMAND\"" },
    { OLDER("\"entry\":\"x\",\"min_instance\":1,\"max_instance\":2"), "/max_instance",
      "fault_tolerant is disabled", "fault_tolerant: true" },
    { OLDER("\"entry\":\"x\",\"min_instance\":3,\"max_instance\":2"), "/max_instance",
      "min_instance is 3 but max_instance is 2", "at least 3" },
    { OLDER("\"paralelism\":1"), "/paralelism", "unknown key", "\"parallelism\"" },
    { OLDER("\"psmemory\":\"much\""), "/psmemory", "amount of memory", "" },
    { OLDER("\"pservers\":-1"), "/pservers", "from 0 to 1024", "" },
    { OLDER("\"entry\":\"x\",\"env\":{},\"envs\":{}"), "/envs", "both given", "" },
    { OLDER("\"entry\":\"x\",\"envs\":{\"A\":1}"), "/envs/A", "text is expected", "quotes" },
    { OLDER("\"entry\":\"x\",\"trainer\":{}"), "/parallelism", "unknown key", "" },
    /* keys that are known and not carried out */
    { TRAINER("\"entrypoint\":\"x\"},\"user\":\"a b\",\"env\":{"), "/spec/user",
      "cannot be the name of an account", "as of a Unix account" },
    { TRAINER("\"entrypoint\":\"x\"},\"user\":\"\",\"env\":{"), "/spec/user", "cannot be", "" },
    { SPEC("\"user\":7"), "/spec/user", "text is expected", "" },
    { TRAINER("\"entrypoint\":\"x\"},\"umask\":\"0o22\",\"env\":{"), "/spec/umask",
      "octal digits are expected", "\"0022\"" },
    { TRAINER("\"entrypoint\":\"x\"},\"umask\":\"1000\",\"env\":{"), "/spec/umask",
      "at most \"0777\"", "" },
    { SPEC("\"umask\":22"), "/spec/umask", "text is expected", "quotes" },
    { TRAINER("\"entrypoint\":\"x\"},\"checkpoint\":{\"path\":\"shared\"},\"env\":{"),
      "/spec/checkpoint/path", "an absolute path", "all nodes see" },
    { TRAINER("\"entrypoint\":\"x\"},\"checkpoint\":{\"every\":3},\"env\":{"),
      "/spec/checkpoint/every", "unknown key", "path, period" },
    { TRAINER("\"entrypoint\":\"x\"},\"teacher\":\"a.b.c\",\"env\":{"), "/spec/teacher",
      "cannot be the name of a service", "JOB.ROLE" },
    { SPEC("\"teacher\":{}"), "/spec/teacher", "text is expected", "" },
    { TRAINER("\"entrypoint\":\"x\"},\"on_disconnect\":\"kepe\",\"env\":{"), "/spec/on_disconnect",
      "stop or keep is expected", "write stop" },
    { SPEC("\"master\":{\"imagee\":1}"), "/spec/master/imagee", "unknown key", "\"image\"" },
    { SPEC("\"pserver\":{\"imagePullSecret\":1}"), "/spec/pserver/imagePullSecret", "unknown key",
      "\"imagePullSecrets\"" },
    /* env */
    { SPEC("\"trainer\":{\"entrypoint\":\"x\"},\"env\":{\"A=B\":\"x\"}"), "/spec/env/A=B",
      "cannot name a variable", "" },
    { SPEC("\"trainer\":{\"entrypoint\":\"x\"},\"env\":{\"\":\"x\"}"), "/spec/env/",
      "cannot name a variable", "" },
    { SPEC("\"trainer\":{\"entrypoint\":\"x\"},\"env\":{\"A\":1}"), "/spec/env/A",
      "text is expected, found number 1", "quotes" },
};

static void test_refused(void **state)
{
    char ignored[512];

    (void)state;
    for (size_t i = 0; i < ELEMENTS(refusals); i++) {
        const struct refusal *row = &refusals[i];
        struct edl_error error;
        struct job_spec *spec =
            read_spec(row->json, strlen(row->json), ignored, sizeof ignored, &error);

        if (spec != NULL)
            fail_msg("accepted: %s", row->json);
        if (error.code != EDL_EBADSPEC || !streq(error.pointer, row->pointer) ||
            strstr(error.text, row->text) == NULL || strstr(error.remedy, row->remedy) == NULL)
            fail_msg("%s\n%d: %s (%s) %s", row->json, error.code, error.text, error.pointer,
                     error.remedy);
    }
}

static void test_parse(void **state)
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

    (void)state;
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
    free(large);
    assert_null(read_spec("just text", 9, ignored, sizeof ignored, &error));
    assert_string_equal(error.text, "document: an object is expected, found text \"just text\"");
    assert_null(read_spec("\0{}", 3, ignored, sizeof ignored, &error)); /* NUL is not a blank */
    assert_int_equal(error.code, EDL_EBADSPEC);
}

/* Values that no parser lets through can still come from a program that builds the document itself.
 */
static void test_built_document(void **state)
{
    json_t *document = json_pack("{s:s, s:[{s:s, s:[s#]}]}", "name", "a", "roles", "role", "w",
                                 "command", "x\0y", 3);
    struct job_spec *spec = NULL;
    struct edl_error error = { 0 };

    (void)state;
    assert_int_equal(job_spec_from_document(document, &spec, NULL, &error), EDL_EBADSPEC);
    assert_string_equal(error.pointer, "/roles/0/command/0");
    assert_string_equal(error.text, "text must not contain NUL");
    json_decref(document);
}

/* Pointers and names much longer than the error object are cut, not overrun. */
static void test_long_key(void **state)
{
    char text[5000], ignored[64];
    struct edl_error error;

    (void)state;
    for (size_t n = 100; n < 4000; n += 37) {
        (void)snprintf(text, sizeof text, "{\"name\":\"a\",\"%0*d~/\":1}", (int)n, 0);
        assert_null(read_spec(text, strlen(text), ignored, sizeof ignored, &error));
        assert_int_equal(error.code, EDL_EBADSPEC);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),        cmocka_unit_test(test_flat),
        cmocka_unit_test(test_everything),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_parse),          cmocka_unit_test(test_built_document),
        cmocka_unit_test(test_long_key),       cmocka_unit_test(test_older_submission),
        cmocka_unit_test(test_older_sizes),    cmocka_unit_test(test_container_keys),
        cmocka_unit_test(test_order_in_time),  cmocka_unit_test(test_array),
        cmocka_unit_test(test_sweep),          cmocka_unit_test(test_operator_document),
        cmocka_unit_test(test_stored_amounts), cmocka_unit_test(test_memory_by_default),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
