/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - all figures, for those who watch */
#include "scheduler/api/api.h"

#include "scheduler/json/exposition.h"
#include "scheduler/metrics.h"
#include "shared/cleanup.h"
#include "shared/http_server.h"

void api_scrape(struct http_request *request, void *userdata)
{
    _cleanup_free_ char *text = metrics_text(userdata);

    http_reply_text(request, 200, EXPOSITION_TYPE, text);
}

void api_scrape_cluster(struct http_request *request, void *userdata)
{
    _cleanup_free_ char *text = metrics_cluster_text(userdata);

    http_reply_text(request, 200, EXPOSITION_TYPE, text);
}
