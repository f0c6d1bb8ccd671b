/* SPDX-License-Identifier: Apache-2.0 */
/* test_document_refused.c - what a job document may not say: where the error points, and its remedy
 */
#include <stdint.h>
#include <string.h>

#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "tests/unit/document_fixture.h"
#include "tests/unit/test.h"

struct refusal {
    const char *json, *pointer, *text, *remedy; /* text and remedy: part of it */
};

#define TRAINER(keys) "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"trainer\":{" keys "}}}"
#define SPEC(keys) "{\"metadata\":{\"name\":\"a\"},\"spec\":{" keys "}}"
#define OLDER(keys) "{\"name\":\"a\",\"parallelism\":2," keys "}"
#define FLAT(keys) "{\"name\":\"a\"," keys "}"
#define ARCHIVE "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER_ARCHIVE "sha256:0000000000000000000000000000000000000000000000000000000000000000"
#define FOLDER(path)                                                                               \
    FLAT("\"workspace-folder\":\"" path "\",\"roles\":[{\"role\":\"w\",\"command\":[\"x\"],"       \
         "\"workspace\":\"" ARCHIVE "\"}]")

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
      "cpu: an amount of CPU like 2, 0.5 or 200m is expected, found number 0", "a core then" },
    { FLAT("\"roles\":[{\"role\":\"w\",\"command\":[\"x\"],\"cpu\":\"0m\"}]"), "/roles/0/cpu",
      "found text \"0m\"", "a core then" },
    { OLDER("\"entry\":\"x\",\"pscpu\":0"), "/pscpu", "found number 0", "a core then" },
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
    { FLAT("\"roles\":[{\"role\":\"w\",\"command\":[\"x\"],\"memory\":64}]"), "/roles/0/memory",
      "64 is less than 4Mi, the least that a process needs", "64 is 64 bytes: write 64Mi or 64Gi" },
    { TRAINER("\"resources\":{\"limits\":{\"memory\":\"4194303\"}}"),
      "/spec/trainer/resources/limits/memory", "4194303 is less than 4Mi", "write 4Mi or more" },
    { OLDER("\"entry\":\"x\",\"psmemory\":\"64Ki\""), "/psmemory", "64Ki is less than 4Mi",
      "write 4Mi or more, or leave the key out" },
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
    /* the node of each instance */
    { TRAINER("\"entrypoint\":\"x\",\"nodes\":\"n1\""), "/spec/trainer/nodes",
      "an array is expected", "" },
    { TRAINER("\"entrypoint\":\"x\",\"nodes\":[]"), "/spec/trainer/nodes", "found 0",
      "leave nodes out" },
    { TRAINER("\"entrypoint\":\"x\",\"nodes\":[\"n1\",\"n 2\"]"), "/spec/trainer/nodes/1",
      "\"n 2\" cannot be the name of a node", "edl nodes" },
    { TRAINER("\"entrypoint\":\"x\",\"nodes\":[\"n1\",7]"), "/spec/trainer/nodes/1",
      "text is expected, found number 7", "" },
    { TRAINER("\"entrypoint\":\"x\",\"nodes\":[\"n1\",\"n1\"],\"min-instance\":3"),
      "/spec/trainer/min-instance", "trainer has 2 nodes for 3 instances",
      "make min-instance at most 2" },
    { "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"fault_tolerant\":true,\"trainer\":{"
      "\"entrypoint\":\"x\",\"nodes\":[\"n1\",\"n2\"],\"max-instance\":5}}}",
      "/spec/trainer/max-instance", "trainer has 2 nodes for 5 instances",
      "make max-instance at most 2" },
    { TRAINER("\"entrypoint\":\"x\",\"nodes\":[\"n1\",\"n2\"],\"min-instance\":1"),
      "/spec/trainer/max-instance", "should equal to min-instances", "fault_tolerant: true" },
    { FLAT("\"roles\":[{\"role\":\"w\",\"command\":[\"x\"],\"nodes\":[\"n1\"],\"max\":2,"
           "\"min\":2}]"),
      "/roles/0/min", "w has 1 node for 2 instances", "make min at most 1" },
    { "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"fault_tolerant\":true,\"pserver\":{"
      "\"nodes\":[\"n1\",\"n2\"],\"min-instance\":1,\"max-instance\":2},\"trainer\":{"
      "\"entrypoint\":\"x\"}}}",
      "/spec/pserver/max-instance", "have one number", "make max-instance 1" },
    /* one folder for the workspace */
    { FOLDER("job"), "/workspace-folder", "not an absolute path", "/home/ann/a" },
    { FOLDER("/home/../root"), "/workspace-folder", "\"..\"", "/home/ann/a" },
    { FOLDER("/home/ann/"), "/workspace-folder", "empty", "" },
    { FOLDER("/"), "/workspace-folder", "empty", "" },
    { FOLDER("/home/./ann"), "/workspace-folder", "\".\"", "" },
    { FOLDER("/home/a\\u001bb"), "/workspace-folder", "control character", "" },
    { FLAT("\"workspace-folder\":\"/home/ann/j\",\"roles\":[{\"role\":\"w\",\"command\":[\"x\"]}]"),
      "/workspace-folder", "no role has an archive", "--upload" },
    { FLAT("\"workspace-folder\":\"/home/ann/j\",\"roles\":[{\"role\":\"w\",\"command\":[\"x\"],"
           "\"workspace\":\"" ARCHIVE "\"},{\"role\":\"v\",\"command\":[\"x\"],"
           "\"workspace\":\"" OTHER_ARCHIVE "\"}]"),
      "/workspace-folder", "two archives", "the same workspace" },
    /* names and keys */
    { "{\"metadata\":{\"name\":\"my.job_1\"},\"spec\":{\"trainer\":{\"entrypoint\":\"x\"}}}",
      "/metadata/name", "\"my.job_1\" cannot name a job",
      "'.' and '_' are not allowed): my-job-1" },
    { "{\"name\":\"1a\",\"roles\":[{\"role\":\"w\",\"command\":[\"x\"]}]}", "/name", "\"1a\"",
      ": a" },
    { "{\"spec\":{\"trainer\":{\"entrypoint\":\"x\"}}}", "/metadata/name", "missing", "" },
    { "{\"name\":\"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg\","
      "\"roles\":[{\"role\":\"w\",\"command\":[\"x\"]}]}",
      "/name", "more than 63 characters: 64", "" },
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
    /* MPI ends all of a program when one of its processes is lost */
    { SPEC("\"mode\":\"mpi\",\"fault_tolerant\":true,\"trainer\":{\"entrypoint\":\"x\"}"),
      "/spec/fault_tolerant", "mode mpi cannot lose or gain processes",
      "leave fault_tolerant out" },
    { SPEC("\"mode\":\"mpi\",\"trainer\":{\"entrypoint\":\"x\",\"min-instance\":2,"
           "\"max-instance\":3}"),
      "/spec/trainer/max-instance", "mode mpi cannot lose or gain processes",
      "set max-instance to 2" },
    { SPEC("\"mode\":\"mpi\",\"trainer\":{\"entrypoint\":\"x\",\"ports\":0}"),
      "/spec/trainer/ports", "mode mpi needs a port", "leave ports out" },
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
    { TRAINER("\"entrypoint\":\"x\"},\"user\":\"a:b\",\"env\":{"), "/spec/user",
      "cannot be the name of an account", "as the account database has it" },
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
    { TRAINER("\"entrypoint\":\"x\"},\"parking\":\"nevr\",\"env\":{"), "/spec/parking",
      "allowed or never is expected", "write never" },
    { SPEC("\"trainer\":{\"entrypoint\":\"x\",\"stdin\":\"yes\"}"), "/spec/trainer/stdin",
      "expected", "" },
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

TEST(test_refused)
{
    char ignored[512];

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
