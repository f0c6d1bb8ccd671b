/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - the handlers of the route table (routes.c), and their common parts
 *
 * A handler reads at once, or changes the core and answers after the commit. userdata is the
 * scheduler. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

struct edl_error;
struct token;
struct http_request;
struct http_route;
struct http_sink;
struct job;
struct node;
struct process;
struct process_report;
struct scheduler;

/* routes - the whole API */
const struct http_route *routes(size_t *ret_n);

/* api_job - the job that {job} names, or NULL with the request answered (404, and what to type).
 * One that is over may be of the archive (archive_find_job): then it is valid until the next look
 * there */
struct job *api_job(struct scheduler *scheduler, struct http_request *request);
/* api_job_to_read - the same for people, and for its own processes as long as they live */
const struct job *api_job_to_read(struct scheduler *scheduler, struct http_request *request);
struct node *api_node(struct scheduler *scheduler, struct http_request *request);

/* api_point_into_flat - the core points into a wrapped document; where there is none, its keys
 * stand at the top */
void api_point_into_flat(struct edl_error *error);

/* api_wait_us - deadline of a long poll: ?wait=S up to POLL_WAIT_MAX_S from now; fallback_s when
 * absent */
int api_wait_us(const struct http_request *request, uint64_t fallback_s, uint64_t *ret_deadline_us,
                struct edl_error *error);

/* api/cluster.c */
void api_healthz(struct http_request *request, void *userdata);
void api_readyz(struct http_request *request, void *userdata);
void api_version(struct http_request *request, void *userdata);
void api_cluster(struct http_request *request, void *userdata);
void api_policy(struct http_request *request, void *userdata);
void api_openapi(struct http_request *request, void *userdata);

/* api/users.c */
void api_whoami(struct http_request *request, void *userdata);
void api_users_list(struct http_request *request, void *userdata);
void api_user_add(struct http_request *request, void *userdata);
void api_user_show(struct http_request *request, void *userdata);
void api_user_set(struct http_request *request, void *userdata);
void api_user_remove(struct http_request *request, void *userdata);
/* api/groups.c */
void api_groups_list(struct http_request *request, void *userdata);
void api_group_add(struct http_request *request, void *userdata);
void api_group_show(struct http_request *request, void *userdata);
void api_group_set(struct http_request *request, void *userdata);
void api_group_remove(struct http_request *request, void *userdata);

/* api/users.c, api/usage.c */
void api_tokens_list(struct http_request *request, void *userdata);
void api_token_add(struct http_request *request, void *userdata);
void api_token_remove(struct http_request *request, void *userdata);
/* api_token_json - a token as the API shows it, without its secret */
json_t *api_token_json(const struct token *token);
void api_usage(struct http_request *request, void *userdata);
void api_audit(struct http_request *request, void *userdata);

/* api/metrics.c */
void api_scrape(struct http_request *request, void *userdata);
void api_scrape_cluster(struct http_request *request, void *userdata);

/* api/backup.c */
void api_backup(struct http_request *request, void *userdata);

/* api/jobs.c */
void api_jobs_submit(struct http_request *request, void *userdata);
void api_job_show(struct http_request *request, void *userdata);
void api_job_kill(struct http_request *request, void *userdata);
void api_array_kill(struct http_request *request, void *userdata);
void api_job_change(struct http_request *request, void *userdata);
void api_job_processes(struct http_request *request, void *userdata);

/* api/job_list.c */
void api_jobs_list(struct http_request *request, void *userdata);

/* api/why.c */
void api_job_why(struct http_request *request, void *userdata);

/* api/tasks.c: the calls of processes */
void api_job_tasks(struct http_request *request, void *userdata);
void api_job_hosts(struct http_request *request, void *userdata);
/* api_process_call - one call of a process: the caller, its body, the core's part, and the answer
 * (NULL: error is it), which goes out after the commit */
typedef json_t *(*process_call_fn)(struct scheduler *scheduler, struct process *process,
                                   const json_t *body, struct edl_error *error);
void api_process_call(struct http_request *request, struct scheduler *scheduler,
                      process_call_fn fn);
void api_task_lease(struct http_request *request, void *userdata);
void api_task_finish(struct http_request *request, void *userdata);
void api_task_fail(struct http_request *request, void *userdata);
void api_save_model(struct http_request *request, void *userdata);
void api_metrics(struct http_request *request, void *userdata);
void api_recovered(struct http_request *request, void *userdata);
void api_job_metrics(struct http_request *request, void *userdata);

/* api/datasets.c: the same */
extern const struct http_sink api_dataset_sink;
void api_dataset_put(struct http_request *request, void *userdata);
void api_dataset_get(struct http_request *request, void *userdata);

/* api/rendezvous.c */
void api_rendezvous(struct http_request *request, void *userdata);
void api_rendezvous_now(struct http_request *request, void *userdata);
/* api_rendezvous_forget - what is kept of answers of before: before each commit and behind it, as
 * one that fails takes back what was agreed */
void api_rendezvous_forget(struct scheduler *scheduler);

/* api/secret.c */
void api_secret(struct http_request *request, void *userdata);
void api_service_secret(struct http_request *request, void *userdata);
/* api_secret_make - each of the n jobs that were just submitted gets a secret, the first in *first
 */
void api_secret_make(struct scheduler *scheduler, const struct job *first, uint32_t n);

/* api/services.c */
void api_service(struct http_request *request, void *userdata);
void api_services_list(struct http_request *request, void *userdata);
/* api_service_job - the job of a service, as that user names it; -ENOENT: there is none, or it is
 * over */
int api_service_job(struct scheduler *scheduler, const char *user, const char *name,
                    struct job **ret, struct edl_error *error);

/* api/events.c */
void api_events(struct http_request *request, void *userdata);
void api_job_events(struct http_request *request, void *userdata);

/* api/history.c */
void api_history_allocation(struct http_request *request, void *userdata);
void api_job_history(struct http_request *request, void *userdata);

/* api/resizes.c */
void api_job_resizes(struct http_request *request, void *userdata);

/* api/files.c */
void api_process_files(struct http_request *request, void *userdata);
void api_process_file(struct http_request *request, void *userdata);
void api_process_log(struct http_request *request, void *userdata);
void api_node_read(struct http_request *request, void *userdata);

/* api/schedulers.c */
void api_schedulers_list(struct http_request *request, void *userdata);
void api_standby_add(struct http_request *request, void *userdata);
void api_standby_join(struct http_request *request, void *userdata);
void api_standby_remove(struct http_request *request, void *userdata);

/* api/sessions.c */
void api_session_open(struct http_request *request, void *userdata);
void api_sessions_list(struct http_request *request, void *userdata);
void api_session_show(struct http_request *request, void *userdata);
void api_session_end(struct http_request *request, void *userdata);

/* api/ended.c */
#define ENDED_JOBS_MAX 1000 /* that are asked for at once */
void api_node_ended_jobs(struct http_request *request, void *userdata);

/* api/logs.c */
void api_job_logs(struct http_request *request, void *userdata);
void api_node_logs(struct http_request *request, void *userdata);
/* api_logs_note_silence - the process that the report names ended on node and wrote nothing */
void api_logs_note_silence(struct scheduler *scheduler, const struct node *node,
                           const struct process_report *report);

/* api_check_node_name - -EINVAL */
int api_check_node_name(const char *name, struct edl_error *error);

/* api/login.c */
#define LOGIN_CODE_S UINT64_C(86400) /* unless ttl_s says another time */
#define LOGIN_CODE_MAX_S (7 * UINT64_C(86400))
#define TOKEN_TTL_MAX_S (10 * 365 * UINT64_C(86400))
#define BROWSER_TOKEN_S (30 * UINT64_C(86400)) /* what POST /login gives a browser, the same */
#define BROWSER_TOKEN_MAX_S (90 * UINT64_C(86400))
/* login_url - how other machines reach this scheduler, for the line `edl login URL`; a browser may
 * be on its own machine
 * EDL_EBADTRANSITION when none does: an account of its own machine needs no code */
int login_url(struct scheduler *scheduler, bool is_browser, const char **ret_url,
              struct edl_error *error);
void api_login(struct http_request *request, void *userdata);

/* api/join_tokens.c */
void api_join_token_make(struct http_request *request, void *userdata);
void api_join_tokens_list(struct http_request *request, void *userdata);
void api_join_token_revoke(struct http_request *request, void *userdata);

/* api/orders.c */
void api_node_orders(struct http_request *request, void *userdata);

/* api/nodes.c */
void api_node_join(struct http_request *request, void *userdata);
void api_node_report(struct http_request *request, void *userdata);
/* api_reports_are_late - those that wait for the turn in flight get their lease alone, and are told
 * that nothing is stored yet */
void api_reports_are_late(struct scheduler *scheduler);
/* api_late_report - late_reports_take's: the turn is back in which the report came; userdata is the
 * scheduler */
void api_late_report(void *userdata, const char *name, const json_t *body);
void api_nodes_list(struct http_request *request, void *userdata);
void api_node_show(struct http_request *request, void *userdata);
void api_node_set(struct http_request *request, void *userdata);
void api_node_remove(struct http_request *request, void *userdata);
/* api/node_parts.c */
void api_node_processes(struct http_request *request, void *userdata);
void api_node_events(struct http_request *request, void *userdata);
