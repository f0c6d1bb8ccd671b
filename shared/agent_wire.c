/* SPDX-License-Identifier: Apache-2.0 */
/* agent_wire.c - see agent_wire.h */
#include "shared/agent_wire.h"

#include <errno.h>
#include <stdbool.h>

#include "shared/error.h"
#include "shared/macro.h"

struct agent_wire agent_wire_own(void)
{
    return (struct agent_wire){ .newest = AGENT_WIRE_NEWEST, .oldest = AGENT_WIRE_OLDEST };
}

json_t *agent_wire_add(json_t *object)
{
    (void)json_object_set_new(object, "wire", json_integer(AGENT_WIRE_NEWEST));
    (void)json_object_set_new(object, "wire_oldest", json_integer(AGENT_WIRE_OLDEST));
    return object;
}

static int read_version(const json_t *object, const char *key, json_int_t otherwise,
                        json_int_t *ret, struct edl_error *error)
{
    const json_t *value = json_object_get(object, key);

    *ret = value == NULL ? otherwise : json_integer_value(value);
    if (value == NULL || (json_is_integer(value) && *ret > 0))
        return 0;
    return edl_error_at(error, -EINVAL, streq(key, "wire") ? "/wire" : "/wire_oldest",
                        "%s is not a number from 1 on", key);
}

int agent_wire_check(const json_t *object, const struct agent_wire *own, enum agent_wire_peer peer,
                     struct edl_error *error)
{
    static const char *const names[][2] = {
        [WIRE_PEER_AGENT] = { "this scheduler", "the agent" },
        [WIRE_PEER_SCHEDULER] = { "this agent", "the scheduler" },
    };
    static const char *const programs[][2] = {
        [WIRE_PEER_AGENT] = { "the scheduler", "edl-agent on that node" },
        [WIRE_PEER_SCHEDULER] = { "edl-agent on this node", "the scheduler" },
    };
    struct agent_wire other;
    bool is_peer_old;
    int r = read_version(object, "wire", 1, &other.newest, error);

    if (r == 0)
        r = read_version(object, "wire_oldest", MIN_OF(other.newest, 1), &other.oldest, error);
    if (r < 0 || (other.newest >= own->oldest && other.oldest <= own->newest))
        return r;
    is_peer_old = other.newest < own->oldest;
    (void)edl_error_set(error, EDL_EWIRE,
                        "%s speaks versions %lld to %lld of their calls, %s %lld to %lld: it is "
                        "too %s",
                        names[peer][0], (long long)own->oldest, (long long)own->newest,
                        names[peer][1], (long long)other.oldest, (long long)other.newest,
                        is_peer_old ? "old" : "new");
    return edl_error_remedy(error, "upgrade %s", programs[peer][is_peer_old]);
}
