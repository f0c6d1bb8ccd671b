/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c - the whole API in one table, and the common parts of its handlers */
#include <errno.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/api/api.h"
#include "scheduler/api/workspaces.h"
#include "scheduler/core/core.h"
#include "scheduler/core/events/report_size.h"
#include "scheduler/nodes/sessions.h"
#include "scheduler/scheduler.h"
#include "scheduler/web/web.h"
#include "scheduler/workspaces/archive.h"
#include "shared/clock.h"
#include "shared/document_bounds.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/job_document.h"
#include "shared/macro.h"
#include "shared/report_bounds.h"
#include "shared/workspace_limits.h"

#define KIB 1024
#define NO_BODY 1 /* a body that is not read anyway; 0 would mean the server's default */
#define NODE_BODY (16 * KIB)
#define DATASET_BODY (32 * KIB * KIB) /* piece by piece; --max-job-dataset is less */
#define LOG_BODY (2 * KIB * KIB)      /* 256 KiB of text, escaped */
#define LEASE_BODY (256 * KIB)        /* the tasks that are known */
#define METRICS_BODY (16 * KIB)
#define SESSION_BODY (64 * KIB)
#define SESSION_STREAM ((size_t)INT64_MAX)         /* relayed, and nothing of it is kept */
#define WORKSPACE_BODY WORKSPACE_ARCHIVE_BYTES_MAX /* to a file, piece by piece */

/* A report of thousands of processes is for nodes that have them. */
static void narrow_report(const struct http_request *request, void *userdata,
                          struct document_bounds *bounds)
{
    const struct scheduler *scheduler = userdata;
    const struct node *node = cluster_node(scheduler->cluster, http_request_param(request, "node"));

    if (node != NULL)
        cluster_bound_report(node, bounds);
}

/* clang-format off */
/* One call a block: its name, the role that it needs, its input, its output. */
static const struct http_route table[] = {
    { .method = "GET", .path = "/healthz", .handler = api_healthz, .operation = "getHealth",
      .flags = ROUTE_PUBLIC, .max_body_bytes = NO_BODY, .status = 200, .gives = "Status",
      .summary = "whether it answers" },
    { .method = "GET", .path = "/readyz", .handler = api_readyz, .operation = "getReadiness",
      .flags = ROUTE_PUBLIC, .max_body_bytes = NO_BODY, .status = 200, .gives = "Status",
      .summary = "whether it takes work" },
    { .method = "GET", .path = "/version", .handler = api_version, .operation = "getVersion",
      .flags = ROUTE_PUBLIC, .max_body_bytes = NO_BODY, .status = 200, .gives = "Version",
      .summary = "the scheduler's version" },
    { .method = "GET", .path = "/openapi.json", .handler = api_openapi, .operation = "getApi",
      .flags = ROUTE_PUBLIC, .max_body_bytes = NO_BODY, .status = 200, .gives = "OpenApi",
      .summary = "this document" },
    { .method = "GET", .path = "/", .handler = api_page, .operation = "getPage",
      .flags = ROUTE_PUBLIC | ROUTE_TAGGED | ROUTE_CACHED, .max_body_bytes = NO_BODY,
      .status = 200, .gives = "text/html", .summary = "the cluster to look at in a browser" },
    { .method = "GET", .path = "/web/{asset}", .handler = api_page_asset,
      .operation = "getPageAsset", .flags = ROUTE_PUBLIC | ROUTE_TAGGED | ROUTE_CACHED,
      .max_body_bytes = NO_BODY, .status = 200,
      .gives = "text/css text/javascript image/svg+xml",
      .summary = "the files of that page" },
    { .method = "GET", .path = "/web/lib/{library}", .handler = api_page_library,
      .operation = "getPageLibrary", .flags = ROUTE_PUBLIC | ROUTE_TAGGED | ROUTE_CACHED,
      .max_body_bytes = NO_BODY, .status = 200, .gives = "text/javascript",
      .summary = "a library that the page uses, where it is installed" },
    { .method = "GET", .path = "/metrics", .handler = api_scrape, .operation = "getMetrics",
      .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY, .status = 200, .gives = "text/plain",
      .summary = "figures for Prometheus" },
    { .method = "GET", .path = "/metrics/cluster", .handler = api_scrape_cluster,
      .operation = "getClusterMetrics", .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY,
      .status = 200, .gives = "text/plain",
      .summary = "figures of each node, GPU, group and user, for Prometheus" },
    { .method = "GET", .path = "/backup", .handler = api_backup, .operation = "getBackup",
      .flags = ROUTE_ADMIN, .max_body_bytes = NO_BODY, .status = 200,
      .gives = "application/vnd.sqlite3", .summary = "a copy of the database" },
    { .method = "GET", .path = "/cluster", .handler = api_cluster, .operation = "getCluster",
      .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY, .status = 200, .gives = "Cluster",
      .summary = "nodes, jobs and utilisation in sum" },
    { .method = "GET", .path = "/policy", .handler = api_policy, .operation = "getPolicy",
      .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY, .status = 200, .gives = "Policy",
      .summary = "how what there is is shared, and which other policies there are" },

    { .method = "POST", .path = "/jobs", .handler = api_jobs_submit, .operation = "submitJob",
      .flags = ROUTE_USER | ROUTE_KEYED | ROUTE_TAGGED | ROUTE_DOCUMENT, .max_body_bytes = JOB_DOCUMENT_MAX_BYTES,
      .too_large = JOB_DOCUMENT_REMEDY, .query = "dry_run ports", .takes = "TrainingJob", .status = 201, .gives = "JobAccepted",
      .summary = "submit a job; ?dry_run=1: tell what that would do; ?ports=own: refuse it where a job on its nodes has its ports" },
    { .method = "GET", .path = "/jobs", .handler = api_jobs_list, .operation = "listJobs",
      .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY, .query = "state user name array order fold limit cursor",
      .status = 200, .gives = "JobList", .summary = "jobs, page by page; a page may have fewer than there are, even none, and say what is next" },
    { .method = "GET", .path = "/jobs/{job}", .handler = api_job_show, .operation = "getJob",
      .flags = ROUTE_VIEWER | ROUTE_TAGGED, .max_body_bytes = NO_BODY, .status = 200, .gives = "Job",
      .summary = "one job with its document" },
    { .method = "DELETE", .path = "/jobs/{job}", .handler = api_job_kill, .operation = "killJob",
      .flags = ROUTE_USER | ROUTE_KEYED | ROUTE_MATCHED | ROUTE_TAGGED, .max_body_bytes = NODE_BODY, .takes = "KillJob",
      .status = 202, .gives = "Job", .summary = "stop a job for good" },
    { .method = "DELETE", .path = "/arrays/{array}", .handler = api_array_kill,
      .operation = "killArray", .flags = ROUTE_USER | ROUTE_KEYED, .max_body_bytes = NODE_BODY,
      .takes = "KillJob", .status = 202, .gives = "ArrayKilled",
      .summary = "stop every job of an array for good" },
    { .method = "PATCH", .path = "/jobs/{job}", .handler = api_job_change,
      .operation = "changeJob", .flags = ROUTE_USER | ROUTE_KEYED | ROUTE_MATCHED | ROUTE_TAGGED, .max_body_bytes = NODE_BODY,
      .query = "dry_run", .takes = "ChangeJob", .status = 202, .gives = "Job",
      .summary = "other bounds for a role, another priority or time limit, more jobs of its array at once; ?dry_run=1" },
    { .method = "GET", .path = "/jobs/{job}/processes", .handler = api_job_processes,
      .operation = "listProcesses", .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY,
      .query = "state", .status = 200, .gives = "ProcessList", .summary = "a job's processes" },
    { .method = "GET", .path = "/jobs/{job}/why", .handler = api_job_why,
      .operation = "explainJob", .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY, .status = 200,
      .gives = "Why", .summary = "why a job is in its state" },
    { .method = "GET", .path = "/jobs/{job}/events", .handler = api_job_events,
      .operation = "listJobEvents", .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY,
      .query = "after limit", .status = 200, .gives = "EventList",
      .summary = "the events of a job" },
    { .method = "GET", .path = "/jobs/{job}/resizes", .handler = api_job_resizes,
      .operation = "listResizes", .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY,
      .query = "after", .status = 200, .gives = "ResizeList",
      .summary = "how a job's size changed, and why" },
    { .method = "GET", .path = "/jobs/{job}/history", .handler = api_job_history,
      .operation = "getJobHistory", .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY,
      .query = "bins", .status = 200, .gives = "JobHistory",
      .summary = "a job's processes, progress and speed over time" },
    { .method = "GET", .path = "/jobs/{job}/logs", .handler = api_job_logs,
      .operation = "readLogs", .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY,
      .query = "role index after follow wait", .status = 200, .gives = "LogEntries",
      .summary = "the output of a job's processes" },
    { .method = "GET", .path = "/jobs/{job}/processes/{role}/{index}/files",
      .handler = api_process_files, .operation = "listFiles", .flags = ROUTE_USER,
      .max_body_bytes = NO_BODY, .query = "pattern folder sums", .status = 200,
      .gives = "application/jsonl",
      .summary = "files of a process on its node, a line each with size and SHA-256, and behind"
                 " them a line with \"end\". Without pattern: those that it wrote or changed" },
    { .method = "GET", .path = "/jobs/{job}/processes/{role}/{index}/file",
      .handler = api_process_file, .operation = "readFile", .flags = ROUTE_USER,
      .max_body_bytes = NO_BODY, .query = "path folder offset bytes", .status = 200,
      .gives = "application/octet-stream",
      .summary = "one of these files, from byte offset= on, at most bytes=" },
    { .method = "GET", .path = "/jobs/{job}/processes/{role}/{index}/log",
      .handler = api_process_log, .operation = "readWholeLog", .flags = ROUTE_USER,
      .max_body_bytes = NO_BODY, .query = "offset bytes incarnation times since_us", .status = 200,
      .gives = "application/octet-stream",
      .summary = "all that a process wrote, as far as its node keeps it; or a part of it. With"
                 " times=1 in front of bytes that were written together a line OFFSET BYTES TIME_US"
                 " (0: unknown)" },
    { .method = "POST", .path = "/jobs/{job}/sessions", .handler = api_session_open,
      .operation = "openSession", .flags = ROUTE_USER, .max_body_bytes = SESSION_BODY,
      .takes = "SessionWanted", .status = 201, .gives = "SessionMade",
      .summary = "a program beside a process, a shell, its own output, or a port of it: for its"
                 " owner and operators" },
    { .method = "GET", .path = "/sessions", .handler = api_sessions_list,
      .operation = "listSessions", .flags = ROUTE_USER, .max_body_bytes = NO_BODY, .status = 200,
      .gives = "SessionList",
      .summary = "sessions of one's own and in one's own jobs; operators see all" },
    { .method = "GET", .path = "/sessions/{session}", .handler = api_session_show,
      .operation = "getSession", .flags = ROUTE_USER, .max_body_bytes = NO_BODY, .status = 200,
      .gives = "Session", .summary = "one session; for a minute behind its end why it ended" },
    { .method = "DELETE", .path = "/sessions/{session}", .handler = api_session_end,
      .operation = "endSession", .flags = ROUTE_USER, .max_body_bytes = NO_BODY, .status = 200,
      .gives = "Session", .summary = "a session is over, and its program ends" },
    { .method = "POST", .path = "/sessions/{session}/in", .handler = session_person_in,
      .operation = "sendToSession", .flags = ROUTE_USER | ROUTE_UNSTORED | ROUTE_SESSION,
      .max_body_bytes = SESSION_STREAM, .sink = &session_person_sink,
      .takes = "application/octet-stream", .status = 204,
      .summary = "what a person sends, relayed as it comes; its end is the session's" },
    { .method = "GET", .path = "/sessions/{session}/out", .handler = session_person_out,
      .operation = "readSession", .flags = ROUTE_USER | ROUTE_SESSION, .max_body_bytes = NO_BODY,
      .status = 200, .gives = "application/octet-stream",
      .summary = "what the node sends, as it comes, until the session is over" },
    { .method = "GET", .path = "/events", .handler = api_events, .operation = "listEvents",
      .flags = ROUTE_VIEWER | ROUTE_STREAMED, .max_body_bytes = NO_BODY,
      .query = "after limit wait", .status = 200, .gives = "EventList",
      .summary = "events; long poll, or server-sent events; 410: after= is gone, go on with"
                 " \"after\" of the answer" },

    { .method = "GET", .path = "/jobs/{job}/tasks", .handler = api_job_tasks,
      .operation = "getTasks", .flags = ROUTE_VIEWER | ROUTE_PROCESS, .max_body_bytes = NO_BODY,
      .status = 200, .gives = "Tasks", .summary = "a job's task queue in sum" },
    { .method = "GET", .path = "/jobs/{job}/hosts", .handler = api_job_hosts,
      .operation = "listHosts", .flags = ROUTE_VIEWER | ROUTE_PROCESS, .max_body_bytes = NO_BODY,
      .query = "role", .status = 200, .gives = "HostList",
      .summary = "where the processes of a role are" },
    { .method = "POST", .path = "/jobs/{job}/rendezvous", .handler = api_rendezvous,
      .operation = "meet", .flags = ROUTE_PROCESS, .max_body_bytes = NODE_BODY,
      .takes = "RendezvousWanted", .status = 200, .gives = "Rendezvous",
      .summary = "agree with the others of the role on a generation, or hear that it is over;"
                 " long poll" },
    { .method = "GET", .path = "/jobs/{job}/rendezvous", .handler = api_rendezvous_now,
      .operation = "getGeneration", .flags = ROUTE_PROCESS, .max_body_bytes = NO_BODY, .status = 200,
      .gives = "Generation",
      .summary = "the generation of the caller's role that is there now, without arriving" },
    { .method = "GET", .path = "/jobs/{job}/secret", .handler = api_secret,
      .operation = "getSecret", .flags = ROUTE_PROCESS, .max_body_bytes = NO_BODY, .status = 200,
      .gives = "Secret",
      .summary = "the secret that the processes of a job prove to each other; told to no person" },
    { .method = "PUT", .path = "/jobs/{job}/dataset", .handler = api_dataset_put,
      .operation = "setDataset", .flags = ROUTE_PROCESS, .max_body_bytes = DATASET_BODY,
      .sink = &api_dataset_sink, .takes = "Dataset", .status = 200, .gives = "DatasetSet",
      .summary = "the tasks of a pass; the first one counts" },
    { .method = "GET", .path = "/jobs/{job}/dataset", .handler = api_dataset_get,
      .operation = "getDataset", .flags = ROUTE_VIEWER | ROUTE_PROCESS, .max_body_bytes = NO_BODY,
      .status = 200, .gives = "DatasetKnown", .summary = "whether there is a dataset" },
    { .method = "POST", .path = "/jobs/{job}/tasks/lease", .handler = api_task_lease,
      .operation = "leaseTask", .flags = ROUTE_PROCESS, .max_body_bytes = LEASE_BODY,
      .takes = "LeaseWanted", .status = 200, .gives = "Lease",
      .summary = "a task to train, or several; long poll" },
    { .method = "POST", .path = "/jobs/{job}/tasks/finish", .handler = api_task_finish,
      .operation = "finishTask", .flags = ROUTE_PROCESS, .max_body_bytes = NODE_BODY,
      .takes = "TasksFinished", .status = 200, .gives = "TaskFinished",
      .summary = "a task is trained, or several" },
    { .method = "POST", .path = "/jobs/{job}/tasks/fail", .handler = api_task_fail,
      .operation = "failTask", .flags = ROUTE_PROCESS, .max_body_bytes = NODE_BODY,
      .takes = "TaskFailure", .status = 200, .gives = "Nothing",
      .summary = "a task failed, or is given back" },
    { .method = "POST", .path = "/jobs/{job}/save-model", .handler = api_save_model,
      .operation = "modelSaved", .flags = ROUTE_PROCESS, .max_body_bytes = NODE_BODY,
      .takes = "ModelSaved", .status = 200, .gives = "ModelSaver",
      .summary = "the model is saved; or a program asks whether its process saves it" },
    { .method = "POST", .path = "/jobs/{job}/recovered", .handler = api_recovered,
      .operation = "serverRecovered", .flags = ROUTE_PROCESS, .max_body_bytes = NODE_BODY,
      .takes = "Recovered", .status = 200, .gives = "Nothing",
      .summary = "how a parameter server came back" },
    { .method = "GET", .path = "/jobs/{job}/metrics", .handler = api_job_metrics,
      .operation = "getFigures", .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY, .status = 200,
      .gives = "FiguresKnown", .summary = "the newest figures that a job's processes gave" },
    { .method = "POST", .path = "/jobs/{job}/metrics", .handler = api_metrics,
      .operation = "setFigures", .flags = ROUTE_PROCESS, .max_body_bytes = METRICS_BODY,
      .takes = "Figures", .status = 200, .gives = "Nothing",
      .summary = "figures to show with the job" },

    { .method = "GET", .path = "/services/{name}", .handler = api_service,
      .operation = "getService", .flags = ROUTE_VIEWER | ROUTE_PROCESS, .max_body_bytes = NO_BODY,
      .query = "after wait", .status = 200, .gives = "Service",
      .summary = "the processes that serve; after=VERSION&wait=S: when they change" },
    { .method = "GET", .path = "/services/{name}/secret", .handler = api_service_secret,
      .operation = "getServiceSecret", .flags = ROUTE_PROCESS, .max_body_bytes = NO_BODY,
      .status = 200, .gives = "Secret",
      .summary = "what proves to the processes of a service that its user's own processes ask" },
    { .method = "GET", .path = "/services", .handler = api_services_list,
      .operation = "listServices", .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY,
      .status = 200, .gives = "ServiceList", .summary = "jobs and roles that serve others" },

    { .method = "PUT", .path = "/workspaces/{sha256}", .handler = api_workspace_put,
      .operation = "putWorkspace", .flags = ROUTE_USER, .max_body_bytes = WORKSPACE_BODY,
      .sink = &api_workspace_sink, .takes = "application/octet-stream", .status = 200,
      .gives = "Workspace", .summary = "keep an archive under its SHA-256; one of one's own that is"
                                       " there need not be sent (Expect: 100-continue)" },
    { .method = "GET", .path = "/workspaces/{sha256}", .handler = api_workspace_get,
      .operation = "getWorkspace", .flags = ROUTE_USER | ROUTE_PROCESS,
      .max_body_bytes = NO_BODY, .status = 200, .gives = "application/octet-stream",
      .summary = "an archive of one's own; operators get any, a node those of its"
                                                           " processes" },
    { .method = "GET", .path = "/workspaces", .handler = api_workspaces_list,
      .operation = "listWorkspaces", .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY,
      .status = 200, .gives = "WorkspaceList", .summary = "archives of one's own that are kept; operators see all" },

    { .method = "GET", .path = "/whoami", .handler = api_whoami, .operation = "getCaller",
      .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY, .status = 200, .gives = "Caller",
      .summary = "your name and role here" },
    { .method = "GET", .path = "/users", .handler = api_users_list, .operation = "listUsers",
      .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY, .query = "limit cursor", .status = 200,
      .gives = "UserList", .summary = "people and their roles, page by page" },
    { .method = "POST", .path = "/users", .handler = api_user_add, .operation = "addUser",
      .flags = ROUTE_ADMIN | ROUTE_KEYED | ROUTE_TAGGED, .max_body_bytes = NODE_BODY, .takes = "AddUser",
      .status = 201, .gives = "User", .summary = "a person who may come in" },
    { .method = "GET", .path = "/users/{user}", .handler = api_user_show, .operation = "getUser",
      .flags = ROUTE_VIEWER | ROUTE_TAGGED, .max_body_bytes = NO_BODY, .status = 200, .gives = "User",
      .summary = "one person" },
    { .method = "PATCH", .path = "/users/{user}", .handler = api_user_set,
      .operation = "changeUser", .flags = ROUTE_ADMIN | ROUTE_KEYED | ROUTE_MATCHED | ROUTE_TAGGED, .max_body_bytes = NODE_BODY,
      .takes = "ChangeUser", .status = 200, .gives = "User", .summary = "another role or group" },
    { .method = "DELETE", .path = "/users/{user}", .handler = api_user_remove,
      .operation = "removeUser", .flags = ROUTE_ADMIN | ROUTE_KEYED | ROUTE_MATCHED, .max_body_bytes = NO_BODY,
      .query = "forget", .status = 200, .gives = "UserRemoved",
      .summary = "a person comes in no longer, by token or socket, until added again; jobs"
                 " stay; ?forget=1: nor is it known that the name is to be kept out" },
    { .method = "GET", .path = "/groups", .handler = api_groups_list, .operation = "listGroups",
      .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY, .query = "limit cursor", .status = 200,
      .gives = "GroupList",
      .summary = "groups, the guarantee of each and its sum, page by page" },
    { .method = "POST", .path = "/groups", .handler = api_group_add, .operation = "addGroup",
      .flags = ROUTE_ADMIN | ROUTE_KEYED | ROUTE_TAGGED, .max_body_bytes = NODE_BODY, .takes = "AddGroup",
      .status = 201, .gives = "Group", .summary = "a group of users with a share of the cluster" },
    { .method = "GET", .path = "/groups/{group}", .handler = api_group_show,
      .operation = "getGroup", .flags = ROUTE_VIEWER | ROUTE_TAGGED, .max_body_bytes = NO_BODY, .status = 200,
      .gives = "Group", .summary = "one group" },
    { .method = "PATCH", .path = "/groups/{group}", .handler = api_group_set,
      .operation = "changeGroup", .flags = ROUTE_ADMIN | ROUTE_KEYED | ROUTE_MATCHED | ROUTE_TAGGED,
      .max_body_bytes = NODE_BODY, .takes = "ChangeGroup", .status = 200, .gives = "Group",
      .summary = "another share or weight" },
    { .method = "DELETE", .path = "/groups/{group}", .handler = api_group_remove,
      .operation = "removeGroup", .flags = ROUTE_ADMIN | ROUTE_KEYED | ROUTE_MATCHED, .max_body_bytes = NO_BODY,
      .status = 200, .gives = "GroupRemoved", .summary = "a group is no more; its users stay" },
    { .method = "GET", .path = "/tokens", .handler = api_tokens_list, .operation = "listTokens",
      .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY, .status = 200, .gives = "TokenList",
      .summary = "your tokens; an admin sees everybody's" },
    { .method = "POST", .path = "/tokens", .handler = api_token_add, .operation = "addToken",
      .flags = ROUTE_VIEWER, .max_body_bytes = NODE_BODY, .takes = "AddToken", .status = 201,
      .gives = "TokenMade", .summary = "a token of yours, shown this once" },
    { .method = "DELETE", .path = "/tokens/{token}", .handler = api_token_remove,
      .operation = "removeToken", .flags = ROUTE_VIEWER | ROUTE_KEYED | ROUTE_BROWSER, .max_body_bytes = NO_BODY,
      .status = 200, .gives = "TokenRemoved", .summary = "a token is good no longer" },
    { .method = "POST", .path = "/login", .handler = api_login, .operation = "login",
      .flags = ROUTE_LOGIN, .max_body_bytes = NODE_BODY, .takes = "Login", .status = 201,
      .gives = "TokenMade", .summary = "a token for a login code, which is good once" },
    { .method = "GET", .path = "/usage", .handler = api_usage, .operation = "listUsage",
      .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY, .query = "user", .status = 200,
      .gives = "UsageList", .summary = "the grants of each user's jobs, and their use" },
    { .method = "GET", .path = "/history/allocation", .handler = api_history_allocation,
      .operation = "getAllocationHistory", .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY,
      .query = "since_us until_us by resource bins", .status = 200, .gives = "AllocationHistory",
      .summary = "who held what over time: means of equal times, and the resizes of then" },
    { .method = "GET", .path = "/audit", .handler = api_audit, .operation = "listAudit",
      .flags = ROUTE_ADMIN, .max_body_bytes = NO_BODY, .query = "after limit", .status = 200,
      .gives = "AuditList", .summary = "what people changed" },

    { .method = "POST", .path = "/nodes/join", .handler = api_node_join, .operation = "joinNode",
      .flags = ROUTE_JOIN | ROUTE_ADMIN | ROUTE_FIRST, .max_body_bytes = NODE_BODY,
      .takes = "NodeJoin",
      .status = 201, .gives = "NodeJoined", .summary = "a node comes in" },
    { .method = "POST", .path = "/tokens/join", .handler = api_join_token_make,
      .operation = "makeJoinToken", .flags = ROUTE_OPERATOR, .max_body_bytes = NODE_BODY,
      .takes = "JoinTokenWanted", .status = 201, .gives = "JoinTokenMade",
      .summary = "a token with which one node joins, once" },
    { .method = "GET", .path = "/tokens/join", .handler = api_join_tokens_list,
      .operation = "listJoinTokens", .flags = ROUTE_OPERATOR, .max_body_bytes = NO_BODY,
      .status = 200, .gives = "JoinTokenList",
      .summary = "join tokens, without their secrets" },
    { .method = "DELETE", .path = "/tokens/join/{token}", .handler = api_join_token_revoke,
      .operation = "revokeJoinToken", .flags = ROUTE_OPERATOR, .max_body_bytes = NO_BODY,
      .status = 200, .gives = "JoinToken", .summary = "nobody joins with it any more" },
    { .method = "GET", .path = "/schedulers", .handler = api_schedulers_list,
      .operation = "listSchedulers", .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY,
      .status = 200, .gives = "SchedulerList",
      .summary = "the schedulers of the cluster, their leader, and the copies of their database" },
    { .method = "POST", .path = "/schedulers", .handler = api_standby_add,
      .operation = "addStandby", .flags = ROUTE_ADMIN, .max_body_bytes = NODE_BODY,
      .takes = "AddStandby", .status = 201, .gives = "StandbyAdded",
      .summary = "a token with which one more scheduler comes in, once" },
    { .method = "POST", .path = "/schedulers/join", .handler = api_standby_join,
      .operation = "joinStandby", .flags = ROUTE_JOIN, .max_body_bytes = NO_BODY,
      .status = 200, .gives = "StandbyJoined",
      .summary = "all that a scheduler holds besides the database, for the bearer of such a token" },
    { .method = "DELETE", .path = "/schedulers/{scheduler}", .handler = api_standby_remove,
      .operation = "removeStandby", .flags = ROUTE_ADMIN, .max_body_bytes = NO_BODY,
      .status = 200, .gives = "StandbyRemoved",
      .summary = "a standby that is no more is told to nobody; one that is there comes back" },
    { .method = "GET", .path = "/nodes", .handler = api_nodes_list, .operation = "listNodes",
      .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY, .query = "limit cursor", .status = 200,
      .gives = "NodeList", .summary = "nodes, page by page" },
    { .method = "GET", .path = "/nodes/{node}", .handler = api_node_show, .operation = "getNode",
      .flags = ROUTE_VIEWER | ROUTE_TAGGED, .max_body_bytes = NO_BODY, .status = 200, .gives = "Node",
      .summary = "one node" },
    { .method = "GET", .path = "/nodes/{node}/processes", .handler = api_node_processes,
      .operation = "listNodeProcesses", .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY, .status = 200,
      .gives = "ProcessList", .summary = "the live processes on a node, each with its job's user" },
    { .method = "GET", .path = "/nodes/{node}/events", .handler = api_node_events,
      .operation = "listNodeEvents", .flags = ROUTE_VIEWER, .max_body_bytes = NO_BODY,
      .query = "before limit", .status = 200, .gives = "NodeEvents",
      .summary = "the events of a node, the newest first" },
    { .method = "PATCH", .path = "/nodes/{node}", .handler = api_node_set,
      .operation = "changeNode", .flags = ROUTE_OPERATOR | ROUTE_KEYED | ROUTE_MATCHED | ROUTE_TAGGED,
      .max_body_bytes = NODE_BODY, .query = "dry_run", .takes = "ChangeNode", .status = 200,
      .gives = "Node", .summary = "ready, cordoned or draining; ?dry_run=1" },
    { .method = "DELETE", .path = "/nodes/{node}", .handler = api_node_remove,
      .operation = "removeNode", .flags = ROUTE_OPERATOR | ROUTE_KEYED | ROUTE_MATCHED, .max_body_bytes = NO_BODY,
      .query = "gone", .status = 200, .gives = "NodeRemoved", .summary = "forget a node; ?gone=1" },
    { .method = "POST", .path = "/nodes/{node}/report", .handler = api_node_report,
      .operation = "reportNode", .flags = ROUTE_NODE | ROUTE_FIRST | ROUTE_UNSTORED,
      .max_body_bytes = REPORT_BYTES_MOST, .max_values = REPORT_VALUES_MOST, .narrow = narrow_report,
      .too_large = "a report tells of the processes that the node has: restart its agent",
      .takes = "NodeReport", .status = 200, .gives = "ReportHeard",
      .summary = "an agent's view of its node; renews its lease" },
    { .method = "GET", .path = "/nodes/{node}/orders", .handler = api_node_orders,
      .operation = "getOrders", .flags = ROUTE_NODE | ROUTE_FIRST, .max_body_bytes = NO_BODY,
      .query = "after wait", .status = 200, .gives = "Orders",
      .summary = "the orders of a node; long poll" },
    { .method = "POST", .path = "/nodes/{node}/logs", .handler = api_node_logs,
      .operation = "pushLogs", .flags = ROUTE_NODE | ROUTE_UNSTORED, .max_body_bytes = LOG_BODY,
      .takes = "LogPush", .status = 204, .summary = "output of a process" },
    { .method = "POST", .path = "/nodes/{node}/ended-jobs", .handler = api_node_ended_jobs,
      .operation = "askEndedJobs", .flags = ROUTE_NODE | ROUTE_UNSTORED, .max_body_bytes = NODE_BODY,
      .takes = "JobNumbers", .status = 200, .gives = "EndedJobs",
      .summary = "which of these jobs are over, or not known" },
    { .method = "POST", .path = "/nodes/{node}/reads/{read}", .handler = api_node_read,
      .operation = "pushFile", .flags = ROUTE_NODE | ROUTE_UNSTORED,
      .max_body_bytes = FILE_PIECE_BYTES, .query = "state offset", .status = 204,
      .takes = "application/octet-stream", .summary = "a piece of the files that orders ask for" },
    { .method = "POST", .path = "/nodes/{node}/sessions/{session}/in", .handler = session_node_in,
      .operation = "sendFromNode", .flags = ROUTE_NODE | ROUTE_UNSTORED | ROUTE_SESSION,
      .max_body_bytes = SESSION_STREAM, .sink = &session_node_sink,
      .takes = "application/octet-stream", .status = 204,
      .summary = "what the node sends to the person of a session; its end is the session's" },
    { .method = "GET", .path = "/nodes/{node}/sessions/{session}/out", .handler = session_node_out,
      .operation = "readFromPerson", .flags = ROUTE_NODE | ROUTE_SESSION,
      .max_body_bytes = NO_BODY, .status = 200, .gives = "application/octet-stream",
      .summary = "what the person of a session sends, as it comes" },
};
/* clang-format on */

const struct http_route *routes(size_t *ret_n)
{
    *ret_n = ELEMENTS(table);
    return table;
}

struct job *api_job(struct scheduler *scheduler, struct http_request *request)
{
    const char *name = http_request_param(request, "job");
    struct edl_error error = { 0 };
    char user[USER_NAME_MAX + 1];
    struct job *job;
    int r;

    auth_whose(scheduler, request, user);
    r = archive_find_job(scheduler, user, name, &job, &error);

    if (r == 1)
        return job;
    if (r == 0) {
        (void)edl_error_set(&error, -ENOENT, "there is no job \"%s\"", name);
        (void)edl_error_remedy(&error, "`edl ps --all` lists every job");
    }
    refuse_after_commit(scheduler, request, &error);
    return NULL;
}

const struct job *api_job_to_read(struct scheduler *scheduler, struct http_request *request)
{
    struct edl_error error = { 0 };

    if (auth_reader(scheduler, request, &error) == 0)
        return api_job(scheduler, request);
    refuse_after_commit(scheduler, request, &error);
    return NULL;
}

struct node *api_node(struct scheduler *scheduler, struct http_request *request)
{
    const char *name = http_request_param(request, "node");
    struct node *node = cluster_node(scheduler->cluster, name);
    struct edl_error error = { 0 };

    if (node != NULL)
        return node;
    (void)edl_error_set(&error, -ENOENT, "there is no node \"%s\"", name);
    (void)edl_error_remedy(&error, "`edl nodes` lists every node");
    refuse_after_commit(scheduler, request, &error);
    return NULL;
}

int api_wait_us(const struct http_request *request, uint64_t fallback_s, uint64_t *ret_deadline_us,
                struct edl_error *error)
{
    uint64_t wait_s;
    int r = http_request_query_u64(request, "wait", fallback_s, &wait_s, error);

    if (r < 0)
        return r;
    *ret_deadline_us =
        clock_read_us(CLOCK_BOOTTIME) + MIN_OF(wait_s, (uint64_t)POLL_WAIT_MAX_S) * USEC_PER_SEC;
    return 0;
}
