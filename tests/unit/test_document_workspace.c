/* SPDX-License-Identifier: Apache-2.0 */
/* test_document_workspace.c - which workspaces a job document may name */

#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static json_t *wrapped(const char *workspace)
{
    return json_pack("{s:{s:s}, s:{s:{s:s, s:s}}}", "metadata", "name", "a", "spec", "trainer",
                     "entrypoint", "x", "workspace", workspace);
}

static json_t *of_roles(const char *workspace)
{
    return json_pack("{s:s, s:[{s:s, s:s, s:[s]}]}", "name", "a", "roles", "role", "w", "workspace",
                     workspace, "command", "x");
}

/* No shell stands between a document and the nodes, and none has the folder where it was written.
 */
TEST(test_whole_paths_only)
{
    static const struct {
        const char *workspace, *remedy; /* NULL: it is taken */
    } cases[] = {
        { "", NULL },
        { "/srv/train", NULL },
        { "/", NULL },
        { "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", NULL },
        { "train_dir", "the whole path" },
        { "./", "the whole path" },
        { "../x", "--upload FOLDER" },
        { "~/x", "the whole path" },
        { "$HOME/x", "the whole path" },
        { "private", "leave workspace out" },
    };

    for (size_t i = 0; i < 2 * ELEMENTS(cases); i++) {
        const char *workspace = cases[i / 2].workspace;
        json_t *document = i % 2 == 0 ? wrapped(workspace) : of_roles(workspace);
        struct job_spec *spec = NULL;
        struct edl_error error = { 0 };
        int r = job_spec_from_document(document, &spec, NULL, &error);

        if (cases[i / 2].remedy == NULL) {
            assert_int_equal(r, 0);
            assert_string_equal(spec->roles[0].workspace, workspace);
            (void)job_spec_free(spec);
        } else {
            assert_int_equal(r, EDL_EBADSPEC);
            assert_int_equal(error_code_http_status(r), 422);
            assert_string_equal(error.pointer,
                                i % 2 == 0 ? "/spec/trainer/workspace" : "/roles/0/workspace");
            assert_non_null(strstr(error.text, "is not an absolute path"));
            assert_non_null(strstr(error.text, workspace));
            assert_non_null(strstr(error.remedy, cases[i / 2].remedy));
        }
        json_decref(document);
    }
}

/* What a version before took is read, or its scheduler could not be started any more. */
TEST(test_stored_document)
{
    json_t *document = of_roles("train_dir");
    struct job_spec *spec = NULL;
    struct edl_error error = { 0 };

    assert_int_equal(job_spec_from_stored(document, &spec, &error), 0);
    assert_string_equal(spec->roles[0].workspace, "train_dir");
    (void)job_spec_free(spec);
    (void)json_object_set_new(document, "passes", json_integer(-1));
    assert_int_equal(job_spec_from_stored(document, &spec, &error), EDL_EBADSPEC);
    json_decref(document);
}
