// SPDX-License-Identifier: Apache-2.0
// calls.js - every call that the page makes: a path of the route table and the query keys it gives. A test holds this to
// the API's description, so it is written as JSON.
export const calls = {
    "version": {"path": "/version", "query": []},
    "health": {"path": "/healthz", "query": []},
    "schedulers": {"path": "/schedulers", "query": []},
    "caller": {"path": "/whoami", "query": []},
    "cluster": {"path": "/cluster", "query": []},
    "nodes": {"path": "/nodes", "query": ["cursor"]},
    "events": {"path": "/events", "query": ["after", "limit", "wait"]},
    "jobs": {"path": "/jobs", "query": ["state", "user", "name", "array", "order", "fold", "limit", "cursor"]},
    "job": {"path": "/jobs/{job}", "query": []},
    "why": {"path": "/jobs/{job}/why", "query": []},
    "processes": {"path": "/jobs/{job}/processes", "query": ["state"]},
    "jobEvents": {"path": "/jobs/{job}/events", "query": ["after", "limit"]},
    "logs": {"path": "/jobs/{job}/logs", "query": ["follow", "wait", "after"]},
    "log": {"path": "/jobs/{job}/processes/{role}/{index}/log", "query": ["incarnation", "times", "offset", "bytes"]},
    "node": {"path": "/nodes/{node}", "query": []},
    "nodeProcesses": {"path": "/nodes/{node}/processes", "query": []},
    "nodeEvents": {"path": "/nodes/{node}/events", "query": ["limit"]},
    "login": {"method": "POST", "path": "/login", "query": []},
    "removeToken": {"method": "DELETE", "path": "/tokens/{token}", "query": []},
    "allocation": {"path": "/history/allocation", "query": ["since_us", "by", "resource", "bins"]},
    "history": {"path": "/jobs/{job}/history", "query": ["bins"]}
};
