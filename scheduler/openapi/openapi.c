/* SPDX-License-Identifier: Apache-2.0 */
/* openapi.c - the API described to programs, out of the route table
 *
 * The table of routes says all that it can; only the shapes of bodies stand in schemas.json, and
 * query keys in a table here. tests/integration/140-openapi.sh holds the running scheduler to every
 * word of it. OpenAPI Specification 3.1.0; schemas are JSON Schema 2020-12. */
#include "scheduler/openapi/openapi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/accounts/auth.h"
#include "shared/http_server.h"
#include "shared/macro.h"

static const char schemas[] =
#include "scheduler/openapi/schemas.inc"
    ;

#define SCHEMA_AT "#/components/schemas/"
#define JSON_MEDIA "application/json"

static json_t *reference(const char *schema)
{
    return json_pack("{s:s+}", "$ref", SCHEMA_AT, schema);
}

/* --- parameters --- */

/* The meaning of a query key; where calls differ, the one with the call's name stands first. */
static const struct {
    const char *name;
    const char *operation; /* NULL: any */
    const char *type;
    const char *words; /* the values that are known, a blank between; NULL: any */
    const char *summary;
} query_keys[] = {
    { "after", "readLogs", "string", NULL, "cursor of the answer before" },
    { "after", "getOrders", "integer", NULL,
      "version that the caller has: answer when it differs" },
    { "after", "listAudit", "integer", NULL, "id of the last entry that the caller has" },
    { "after", NULL, "integer", NULL, "revision of the last event that the caller has" },
    { "array", NULL, "string", NULL, "only the jobs of this array" },
    { "before", NULL, "integer", NULL, "revision of the oldest event that the caller has" },
    { "bins", NULL, "integer", NULL, "into how many equal times it is cut: 1 to 500, 250" },
    { "by", NULL, "string", "user job", "whose series they are: of users, or of jobs" },
    { "bytes", NULL, "integer", NULL, "at most so many" },
    { "cursor", NULL, "string", NULL, "\"next\" of the page before" },
    { "dry_run", NULL, "string", "1 true 0 false", "1: do nothing, tell what it would do" },
    { "fold", NULL, "integer", "0 1",
      "1: of the jobs of an array that were submitted together one alone, with \"array\"" },
    { "folder", NULL, "string", "workspace output",
      "below which one: where the process starts (the default), or its EDL_OUTPUT_DIR" },
    { "follow", NULL, "integer", "0 1", "1: wait until there is something new" },
    { "forget", NULL, "integer", "0 1", "1: nor is it known that the name is to be kept out" },
    { "gone", NULL, "integer", "0 1",
      "1: processes that a lost node kept are given up, its machine is off" },
    { "incarnation", NULL, "integer", NULL, "of this start of the process; none: the last one" },
    { "index", NULL, "integer", NULL, "only the process of this index" },
    { "limit", NULL, "integer", NULL, "at most so many" },
    { "name", NULL, "string", NULL, "only those with this in their name, in any case of letters" },
    { "offset", "pushFile", "integer", NULL, "of the piece; they follow each other" },
    { "offset", NULL, "integer", NULL, "of the first byte" },
    { "order", NULL, "string", "oldest newest", "which come first" },
    { "path", NULL, "string", NULL, "of a file below the folder, as it is listed" },
    { "pattern", NULL, "string", NULL,
      "as of a shell, and * stops at a /; a folder that matches stands for all in it; none: the "
      "files that the job wrote or changed" },
    { "ports", NULL, "string", "own",
      "own: refuse a job whose ports another one has on one of its nodes" },
    { "resource", NULL, "string", "cpu gpus", "what was held" },
    { "role", NULL, "string", NULL, "of this role" },
    { "sums", NULL, "integer", NULL,
      "SHA-256 of the files of at most so many bytes alone: of a large one it takes long" },
    { "since_us", "getAllocationHistory", "integer", NULL,
      "microseconds since 1970; none: an hour before until_us" },
    { "since_us", NULL, "integer", NULL,
      "of times=1: only lines of then or later, as far as the times tell; a chunk of no bytes says"
      " where that begins" },
    { "state", "listJobs", "string", NULL,
      "active (the default), all, over, or states such as running,failed" },
    { "state", "pushFile", "string", "more end gone denied failed",
      "more: others follow, which may take a while when it is empty; of the last three the body is"
      " a sentence" },
    { "state", "listProcesses", "string", "live all", "all: also those that ended" },
    { "times", NULL, "integer", "0 1",
      "1: a line OFFSET BYTES TIME_US in front of bytes that were written together" },
    { "until_us", NULL, "integer", NULL, "microseconds since 1970; none: now" },
    { "user", NULL, "string", NULL, "only this one's" },
    { "wait", NULL, "integer", NULL, "seconds to wait for news, at most 30" },
};

static json_t *words_to_json(const char *words, bool integers)
{
    json_t *array = json_array();

    for (const char *at = words; *at != '\0';) {
        size_t length = strcspn(at, " ");

        (void)json_array_append_new(array, integers ? json_integer(strtoll(at, NULL, 10))
                                                    : json_stringn(at, length));
        at += length + (at[length] == ' ');
    }
    return array;
}

static json_t *query_parameter(const struct http_route *route, const char *name, size_t length)
{
    for (size_t i = 0; i < ELEMENTS(query_keys); i++) {
        json_t *schema;

        if (strlen(query_keys[i].name) != length || strncmp(query_keys[i].name, name, length) != 0)
            continue;
        if (query_keys[i].operation != NULL && !streq(query_keys[i].operation, route->operation))
            continue;
        schema = json_pack("{s:s}", "type", query_keys[i].type);
        if (query_keys[i].words != NULL)
            (void)json_object_set_new(schema, "enum",
                                      words_to_json(query_keys[i].words,
                                                    streq(query_keys[i].type, "integer")));
        return json_pack("{s:s,s:s,s:s,s:o}", "name", query_keys[i].name, "in", "query",
                         "description", query_keys[i].summary, "schema", schema);
    }
    abort(); /* why: a query key of the route table that is not in the table above; a test walks all
              */
}

static void add_parameter(json_t *parameters, const char *in, const char *name, size_t length,
                          const char *summary)
{
    (void)json_array_append_new(parameters,
                                json_pack("{s:s%,s:s,s:b,s:s,s:{s:s}}", "name", name, length, "in",
                                          in, "required", streq(in, "path"), "description", summary,
                                          "schema", "type", "string"));
}

static void add_path_parameters(json_t *parameters, const char *path)
{
    for (const char *at = strchr(path, '{'); at != NULL; at = strchr(at, '{')) {
        size_t length = strcspn(++at, "}");

        add_parameter(parameters, "path", at, length,
                      strncmp(at, "job", length) == 0 ? "number, NAME, or USER/NAME (encoded)"
                                                      : "which one");
    }
}

static json_t *parameters_of(const struct http_route *route)
{
    static const struct {
        uint32_t flag;
        const char *name, *summary;
    } headers[] = {
        { ROUTE_KEYED, "Idempotency-Key",
          "the same key again has the same answer and no second effect, for a day" },
        { ROUTE_MATCHED, "If-Match",
          "the ETag that was seen: refused with 412 when it is another now" },
        { ROUTE_CACHED, "If-None-Match", "the ETag that the caller has: 304 when it is still so" },
        { ROUTE_STREAMED, "Last-Event-ID",
          "of the last event that the caller has; counts more than after" },
        { ROUTE_PROCESS, "X-EDL-Process",
          "for which process a node calls: <job id>.<role>.<index>.<incarnation>" },
    };
    json_t *parameters = json_array();

    add_path_parameters(parameters, route->path);
    for (const char *key = route->query; key != NULL && *key != '\0';) {
        size_t length = strcspn(key, " ");

        (void)json_array_append_new(parameters, query_parameter(route, key, length));
        key += length + (key[length] == ' ');
    }
    for (size_t i = 0; i < ELEMENTS(headers); i++)
        if ((route->flags & headers[i].flag) != 0)
            add_parameter(parameters, "header", headers[i].name, strlen(headers[i].name),
                          headers[i].summary);
    return parameters;
}

/* --- rights --- */

static json_t *callers_of(uint32_t flags)
{
    static const struct {
        uint32_t flag;
        const char *word;
    } words[] = {
        { ROUTE_VIEWER, "viewer" }, { ROUTE_USER, "user" },   { ROUTE_OPERATOR, "operator" },
        { ROUTE_ADMIN, "admin" },   { ROUTE_NODE, "node" },   { ROUTE_PROCESS, "process" },
        { ROUTE_JOIN, "join" },     { ROUTE_LOGIN, "login" }, { ROUTE_PUBLIC, "anybody" },
    };
    json_t *callers = json_array();

    for (size_t i = 0; i < ELEMENTS(words); i++)
        if ((flags & words[i].flag) != 0)
            (void)json_array_append_new(callers, json_string(words[i].word));
    return callers;
}

/* --- bodies and answers --- */

/* JSON is named by its schema, all else by its media type. */
static bool is_media_type(const char *name)
{
    return strchr(name, '/') != NULL;
}

static json_t *content(const char *media, json_t *take_schema)
{
    return json_pack("{s:{s:o}}", media, "schema", take_schema);
}

static json_t *body_of(const struct http_route *route)
{
    json_t *media = is_media_type(route->takes) ? content(route->takes, json_object())
                                                : content(JSON_MEDIA, reference(route->takes));

    if (streq(route->takes, "TrainingJob"))
        (void)json_object_update_new(media, content("application/yaml", reference(route->takes)));
    return json_pack("{s:o,s:I}", "content", media, "x-edl-max-bytes",
                     (json_int_t)route->max_body_bytes);
}

/* Of other bodies, by their media types. */
static json_t *answer_of_media(const char *summary, const char *types)
{
    json_t *all = json_object();

    for (const char *at = types; *at != '\0';) {
        size_t length = strcspn(at, " ");
        char type[64];

        (void)snprintf(type, sizeof type, "%.*s", (int)length, at);
        (void)json_object_update_new(all, content(type, json_pack("{s:s}", "type", "string")));
        at += length + (at[length] == ' ');
    }
    return json_pack("{s:s,s:o}", "description", summary, "content", all);
}

static json_t *header_of(const char *summary)
{
    return json_pack("{s:s,s:{s:s}}", "description", summary, "schema", "type", "string");
}

static json_t *answer(const char *summary, const char *media, json_t *take_schema)
{
    if (take_schema == NULL)
        return json_pack("{s:s}", "description", summary);
    return json_pack("{s:s,s:o}", "description", summary, "content", content(media, take_schema));
}

static json_t *answers_of(const struct http_route *route)
{
    bool streamed = (route->flags & ROUTE_STREAMED) != 0;
    bool cached = (route->flags & ROUTE_CACHED) != 0;
    bool forecast = route->query != NULL && strstr(route->query, "dry_run") != NULL;
    bool is_json = route->gives != NULL && !is_media_type(route->gives);
    json_t *schema = is_json ? reference(route->gives) : NULL;
    json_t *answers = json_object();
    char status[8];

    if (forecast && route->status == 200)
        schema = json_pack("{s:[o,o]}", "oneOf", schema, reference("Forecast"));
    else if (forecast)
        (void)json_object_set_new(answers, "200",
                                  answer("what it would do", JSON_MEDIA, reference("Forecast")));
    (void)snprintf(status, sizeof status, "%u", route->status);
    (void)json_object_set_new(answers, status,
                              is_json || route->gives == NULL
                                  ? answer(route->summary, JSON_MEDIA, schema)
                                  : answer_of_media(route->summary, route->gives));
    if ((route->flags & ROUTE_TAGGED) != 0)
        (void)json_object_set_new(
            json_object_get(answers, status), "headers",
            json_pack("{s:o}", "ETag", header_of(cached ? "for If-None-Match" : "for If-Match")));
    if (cached)
        (void)json_object_set_new(answers, "304", answer("the caller has it", NULL, NULL));
    if (streamed)
        (void)json_object_update_new(json_object_get(json_object_get(answers, status), "content"),
                                     content("text/event-stream",
                                             json_pack("{s:s}", "type", "string")));
    if ((route->flags & ROUTE_FIRST) == 0) {
        json_t *later = answer("the caller has more waiting than its share; nothing was done",
                               "application/problem+json", reference("Problem"));

        (void)json_object_set_new(later, "headers",
                                  json_pack("{s:o}", "Retry-After",
                                            header_of("seconds until it may be asked again")));
        (void)json_object_set_new(answers, "429", later);
    }
    (void)json_object_set_new(answers, "default",
                              answer("what is wrong", "application/problem+json",
                                     reference("Problem")));
    return answers;
}

/* --- the document --- */

/* "/jobs/{job}/why" belongs to "jobs", "/" to "web" */
static json_t *tag_of(const struct http_route *route)
{
    if (route->path[1] == '\0')
        return json_pack("[s]", "web");
    return json_pack("[s%]", route->path + 1, strcspn(route->path + 1, "/"));
}

static json_t *operation_of(const struct http_route *route)
{
    bool is_public = (route->flags & ROUTE_PUBLIC) != 0;
    json_t *operation =
        json_pack("{s:s,s:s,s:o,s:o,s:o,s:o,s:o}", "operationId", route->operation, "summary",
                  route->summary, "tags", tag_of(route), "parameters", parameters_of(route),
                  "x-edl-callers", callers_of(route->flags), "security",
                  is_public ? json_array() : json_pack("[{s:[]}]", "bearer"), "responses",
                  answers_of(route));

    if (route->takes != NULL)
        (void)json_object_set_new(operation, "requestBody", body_of(route));
    return operation;
}

static json_t *paths_of(const struct http_route *routes, size_t n)
{
    json_t *paths = json_object();

    for (size_t i = 0; i < n; i++) {
        json_t *path = json_object_get(paths, routes[i].path);
        char method[16] = "";

        for (size_t c = 0; routes[i].method[c] != '\0' && c + 1 < sizeof method; c++)
            method[c] = (char)(routes[i].method[c] | 0x20); /* ASCII letters, to lower case */
        if (path == NULL) {
            path = json_object();
            (void)json_object_set_new(paths, routes[i].path, path);
        }
        (void)json_object_set_new(path, method, operation_of(&routes[i]));
    }
    return paths;
}

json_t *openapi_document(const struct http_route *routes, size_t n)
{
    json_t *shapes = json_loads(schemas, JSON_REJECT_DUPLICATES, NULL);

    if (shapes == NULL)
        abort(); /* why: it is part of the program, and a test reads it */
    return json_pack("{s:s,s:{s:s,s:s,s:s,s:{s:s}},s:o,s:{s:o,s:{s:{s:s,s:s}}}}", "openapi",
                     "3.1.0", "info", "title", "EDL scheduler", "version", EDL_VERSION,
                     "description",
                     "Elastic deep-learning jobs on plain Linux machines. x-edl-callers names who"
                     " may call: a person's least role, nodes and processes by their credential."
                     " A request whose line and headers do not fit 16 KiB, or that is no HTTP, is"
                     " refused before there is a call: with a short page in HTML, without a"
                     " Content-Type (400, 413, 414, 431, 505).",
                     "license", "name", "Apache-2.0", "paths", paths_of(routes, n), "components",
                     "schemas", shapes, "securitySchemes", "bearer", "type", "http", "scheme",
                     "bearer");
}
