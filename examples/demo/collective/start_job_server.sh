#!/bin/bash
# The JobServer of a job of three pods: every quarter of an hour one goes, or comes back. Ctrl-C ends it; the job goes on.
# PADDLE_JOBSERVER: http://127.0.0.1:PORT for another port than 8180, here and for the JobClient
exec python3 -m edl.jobserver server --node_ips 127.0.0.1 --pod_num_of_node 3 --time_interval_to_change "${TIME_INTERVAL_TO_CHANGE:-900}"
