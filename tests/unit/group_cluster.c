/* SPDX-License-Identifier: Apache-2.0 */
/* group_cluster.c - processes on 127.0.0.1 that train as a group, and a pretended scheduler */
#include "tests/unit/group_cluster.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/random.h"

/* ---- what a rank and the scheduler say to each other ---- */

enum note_kind {
    NOTE_ARRIVED = 1,
    NOTE_STEP,
    NOTE_FAILED,
    NOTE_WORLD,
    NOTE_OVER,
    NOTE_LEAVING,
    NOTE_GO,     /* to the next step */
    NOTE_PRESENT /* the generation that is there */
};

struct note {
    enum note_kind kind;
    uint64_t generation; /* of NOTE_ARRIVED: the one that is left */
    unsigned rank, n;
    uint16_t port, ports[CLUSTER_RANKS];
    uint64_t step, stable, hash;
    bool state_came, is_shared, is_by_node;
    uint64_t n_bytes; /* sent over the links to other nodes */
    char text[500];
};

/* ---- a rank ---- */

struct rank_members {
    int fd;
    uint16_t port;
    uint64_t over, watched; /* the last generation that is over; the one that is asked for */
    bool has_world, is_leaving, may_go;
    bool has_present;
    bool is_to_be_cut_off, is_cut_off; /* behind step 1: the next look at its generation fails */
    struct note world, present;
};

static void hear_all(struct rank_members *m)
{
    struct note note;

    while (recv(m->fd, &note, sizeof note, MSG_DONTWAIT) == (ssize_t)sizeof note) {
        if (note.kind == NOTE_OVER)
            m->over = MAX_OF(m->over, note.generation);
        if (note.kind == NOTE_LEAVING)
            m->is_leaving = true;
        if (note.kind == NOTE_PRESENT) {
            m->present = note;
            m->has_present = true;
        }
        if (note.kind == NOTE_GO)
            m->may_go = true;
        if (note.kind == NOTE_WORLD) {
            m->world = note;
            m->has_world = true;
        }
    }
}

static int members_begin(void *self, enum group_wait which, uint64_t generation)
{
    struct rank_members *m = self;
    struct note note = { .kind = NOTE_ARRIVED, .generation = generation, .port = m->port };

    if (which == GROUP_WAIT_OVER)
        m->watched = generation;
    else if (send(m->fd, &note, sizeof note, MSG_NOSIGNAL) < 0)
        return -EIO;
    return 0;
}

static void members_poll(void *self, enum group_wait which, struct pollfd *ret, int *timeout_ms)
{
    const struct rank_members *m = self;

    (void)which;
    (void)timeout_ms;
    *ret = (struct pollfd){ .fd = m->fd, .events = POLLIN };
}

static struct edl_world *world_of(const struct note *note)
{
    struct edl_world *world = xcalloc(1, sizeof *world);
    struct edl_peer *members = xcalloc(note->n, sizeof *members);

    world->generation = note->generation;
    world->rank = note->rank;
    world->size = world->n_members = note->n;
    world->master_address = xstrdup("127.0.0.1");
    world->members = members;
    for (unsigned k = 0; k < note->n; k++) {
        uint16_t *port = xcalloc(1, sizeof *port);
        char node[16];

        *port = note->ports[k];
        (void)snprintf(node, sizeof node, "node-%u", k);
        members[k] = (struct edl_peer){ .role = xstrdup(""),
                                        .rank = k,
                                        .node = xstrdup(node),
                                        .address = xstrdup("127.0.0.1"),
                                        .ports = port,
                                        .n_ports = 1,
                                        .state = xstrdup(""),
                                        .note = xstrdup("") };
    }
    return world;
}

static int members_go_on(void *self, enum group_wait which, struct edl_world **ret)
{
    struct rank_members *m = self;

    hear_all(m);
    if (which == GROUP_WAIT_OVER && m->is_cut_off) {
        m->is_cut_off = false;
        m->watched = 0;
        return EDL_EUNREACHABLE;
    }
    if (which == GROUP_WAIT_OVER)
        return m->watched != 0 && m->over >= m->watched ? 1 : -EAGAIN;
    if (m->is_leaving)
        return 0;
    if (!m->has_world)
        return -EAGAIN;
    m->has_world = false;
    *ret = world_of(&m->world);
    return 1;
}

static int members_now(void *self, struct edl_world **ret)
{
    struct rank_members *m = self;

    hear_all(m);
    if (!m->has_present || m->over >= m->present.generation)
        return 0;
    *ret = world_of(&m->present);
    return 1;
}

static void members_end(void *self, enum group_wait which)
{
    if (which == GROUP_WAIT_OVER)
        ((struct rank_members *)self)->watched = 0;
}

static struct edl_group *told_to_leave;

static void on_term(int signal)
{
    (void)signal;
    if (told_to_leave != NULL)
        edl_group_leave(told_to_leave);
}

static void tell_step(void *userdata, const struct edl_group_step *step, uint64_t hash)
{
    struct rank_members *m = userdata;
    struct note note = { .kind = NOTE_STEP,
                         .generation = step->generation,
                         .step = step->step,
                         .stable = step->stable,
                         .hash = hash,
                         .state_came = step->state_came };

    for (unsigned k = 0; told_to_leave != NULL && k < told_to_leave->n; k++) {
        note.is_shared |= told_to_leave->views[k].bytes != NULL;
        if (told_to_leave->machines[k] != told_to_leave->machine)
            note.n_bytes += told_to_leave->links[k].n_sent;
    }
    note.is_by_node = told_to_leave != NULL && told_to_leave->nodes.n_slices > 1;
    m->is_cut_off |= m->is_to_be_cut_off && step->step == 1 && m->watched != 0;
    m->may_go = false;
    (void)send(m->fd, &note, sizeof note, MSG_NOSIGNAL);
    for (hear_all(m); hash != 0 && !m->may_go; hear_all(m)) {
        struct pollfd p = { .fd = m->fd, .events = POLLIN };

        if (poll(&p, 1, -1) > 0 && (p.revents & POLLHUP) != 0)
            _exit(1); /* the test is gone */
    }
}

static enum group_point crash_point;
static unsigned crash_after;

static void crash(struct edl_group *group, enum group_point point)
{
    (void)group;
    if (point == crash_point && crash_after-- == 1)
        (void)raise(SIGKILL);
}

static uint16_t port_of(int listen_fd)
{
    struct sockaddr_in6 address = { 0 };
    socklen_t size = sizeof address;

    (void)getsockname(listen_fd, (struct sockaddr *)&address, &size);
    return ntohs(address.sin6_port);
}

/* machine_of - the pretended one of a process */
static uint64_t machine_of(const struct cluster_plan *plan, unsigned node)
{
    return plan->nodes[0] > 0 ? 2 * (uint64_t)node : plan->apart && getpid() % 2 == 0 ? 2 : 0;
}

static int be_rank(int fd, const struct cluster_plan *plan, bool odd, unsigned node)
{
    struct cluster_plan own = *plan;
    struct cluster_model *model;
    uint8_t secret[JOB_SECRET_BYTES] = { 7, (uint8_t)(odd && plan->other_secret) };
    struct rank_members m = { .fd = fd, .is_to_be_cut_off = plan->cut_off };
    struct group_members members = { .self = &m,
                                     .begin = members_begin,
                                     .poll = members_poll,
                                     .go_on = members_go_on,
                                     .end = members_end,
                                     .now = plan->follow ? members_now : NULL };
    struct edl_group_options options;
    struct edl_group *group;
    struct note note = { .kind = NOTE_FAILED };
    int listen_fd = group_link_listen(0), r;

    own.n_values += odd ? plan->other_values : 0;
    own.micro_batches += odd ? plan->other_batches : 0;
    model = cluster_model_new(&own);
    cluster_options(model, &options);
    options.signature =
        odd && plan->other_signature ? "network 7\nkernels avx2\n" : "network 7\nkernels avx512f\n";
    m.port = port_of(listen_fd);
    r = group_new(&members, &options, 42, secret, listen_fd, &group);
    if (r == 0) {
        if (group->machine != 0)
            group->machine += machine_of(plan, node);
        if (odd && plan->blind)
            group->readers_fd = safe_close(group->readers_fd);
        group->at = crash_point != 0 ? crash : NULL;
        told_to_leave = group;
        (void)signal(SIGTERM, on_term);
        r = cluster_train(group, model, tell_step, &m);
    }
    if (r < 0) {
        (void)snprintf(note.text, sizeof note.text, "%s", edl_group_error(group));
        (void)send(fd, &note, sizeof note, MSG_NOSIGNAL);
    }
    told_to_leave = NULL;
    (void)edl_group_free(group);
    cluster_model_free(model);
    return r < 0;
}

/* ---- the scheduler ---- */

enum life { LIFE_NONE, LIFE_RUNS, LIFE_GONE };

struct process {
    enum life life;
    pid_t pid;
    int fd;
    bool has_arrived, is_frozen, is_victim, leaves, is_odd;
    bool is_held; /* behind a step, until all that were started have arrived */
    uint16_t port;
    unsigned node;
    uint64_t generation, last_step, last_hash, n_bytes;
};

struct cluster {
    const struct cluster_plan *plan;
    struct cluster_result *result;
    struct process processes[CLUSTER_PROCESSES];
    unsigned n;
    uint64_t generation;
    struct note present;
    uint64_t random, last_step;
    bool is_done; /* one has finished: nobody comes in any more */
    struct cluster_plan left;
    unsigned next_act; /* steps told until then */
};

static void fault(struct cluster *c, const char *what, uint64_t step)
{
    if (c->result->fault[0] == '\0')
        (void)snprintf(c->result->fault, sizeof c->result->fault, "%s, step %llu", what,
                       (unsigned long long)step);
}

/* free_node - the first one that has fewer than it is to have */
static unsigned free_node(const struct cluster *c)
{
    for (unsigned node = 0; node < CLUSTER_NODES; node++) {
        unsigned n = 0;

        for (unsigned i = 0; i < c->n; i++)
            n += c->processes[i].life == LIFE_RUNS && c->processes[i].node == node;
        if (n < c->plan->nodes[node])
            return node;
    }
    return 0;
}

static void start(struct cluster *c, bool odd)
{
    struct process *p;
    unsigned node = free_node(c);
    int pair[2];

    if (c->n == CLUSTER_PROCESSES ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        fault(c, "no more processes", 0);
        return;
    }
    p = &c->processes[c->n++];
    *p = (struct process){ .life = LIFE_RUNS, .fd = pair[0], .is_odd = odd, .node = node };
    crash_point = c->left.crashes > 0 ? c->plan->point : 0;
    crash_after =
        1 + (unsigned)random_below(&c->random, crash_point > GROUP_AT_HALF_STATE ? 12 : 2);
    if (c->present.n > 0)
        (void)send(p->fd, &c->present, sizeof c->present, MSG_NOSIGNAL);
    (void)fflush(NULL);
    p->pid = fork();
    if (p->pid == 0) {
        for (unsigned i = 0; i < c->n; i++)
            if (c->processes[i].life == LIFE_RUNS)
                (void)safe_close(c->processes[i].fd);
        _exit(be_rank(pair[1], c->plan, odd, node));
    }
    (void)safe_close(pair[1]);
}

static void say(struct process *p, const struct note *note)
{
    (void)send(p->fd, note, sizeof *note, MSG_NOSIGNAL);
}

/* end_generation - its members are told, as somebody came or went */
static void end_generation(struct cluster *c)
{
    struct note note = { .kind = NOTE_OVER, .generation = c->generation };

    c->present.n = 0;
    for (unsigned i = 0; i < c->n; i++)
        if (c->processes[i].life == LIFE_RUNS)
            say(&c->processes[i], &note);
}

static void form(struct cluster *c)
{
    struct note note = { .kind = NOTE_WORLD };
    struct process *members[CLUSTER_RANKS];

    for (unsigned i = 0; i < c->n; i++) {
        struct process *p = &c->processes[i];

        if (p->life != LIFE_RUNS)
            continue;
        if (!p->has_arrived || note.n == CLUSTER_RANKS)
            return;
        members[note.n] = p;
        note.ports[note.n++] = p->port;
    }
    if (note.n == 0)
        return;
    note.generation = ++c->generation;
    c->present = note;
    c->present.kind = NOTE_PRESENT;
    c->result->n_generations++;
    for (note.rank = 0; note.rank < note.n; note.rank++) {
        members[note.rank]->has_arrived = false;
        members[note.rank]->generation = note.generation;
        say(members[note.rank], &note);
    }
}

static struct process *any_running(struct cluster *c)
{
    unsigned from = (unsigned)random_below(&c->random, c->n);

    for (unsigned i = 0; i < c->n; i++) {
        struct process *p = &c->processes[(from + i) % c->n];

        if (p->life == LIFE_RUNS && !p->is_frozen && !p->leaves && p->generation > 0)
            return p;
    }
    return NULL;
}

static unsigned n_running(const struct cluster *c)
{
    unsigned n = 0;

    for (unsigned i = 0; i < c->n; i++)
        n += c->processes[i].life == LIFE_RUNS;
    return n;
}

static void kill_one(struct cluster *c, struct process *p)
{
    c->left.kills--;
    c->result->n_killed++;
    p->is_victim = true;
    (void)kill(p->pid, SIGKILL);
}

static void freeze_one(struct cluster *c, struct process *p)
{
    p->is_frozen = true;
    c->result->n_stopped++;
    (void)kill(p->pid, SIGSTOP);
}

/* act - one of the things that are still to happen */
static void act(struct cluster *c)
{
    struct process *p = any_running(c);

    if (c->left.joins > 0 && (n_running(c) < 2 || random_below(&c->random, 2) == 0)) {
        c->left.joins--;
        c->result->n_joined++;
        start(c, c->plan->other_batches > 0 || c->plan->odd_joins);
        return;
    }
    if (p == NULL || n_running(c) < 2)
        return;
    if (c->left.kills > 0 && random_below(&c->random, 2) == 0) {
        kill_one(c, p);
    } else if (c->left.stops + c->left.thaws > 0) {
        freeze_one(c, p);
    } else if (c->left.leaves > 0) {
        c->left.leaves--;
        p->leaves = true;
        (void)kill(p->pid, SIGTERM);
    } else if (c->left.kills > 0)
        kill_one(c, p);
}

/* let_go - so that nothing that is to happen comes too late on a slow machine */
static void let_go(struct cluster *c, bool all)
{
    bool early = c->plan->follow && c->last_step + 50 < c->plan->steps;

    for (unsigned i = 0; i < c->n; i++) {
        const struct process *p = &c->processes[i];

        if (!all && !early && p->life == LIFE_RUNS && p->generation == 0 && !p->has_arrived)
            return;
    }
    for (unsigned i = 0; i < c->n; i++) {
        struct process *p = &c->processes[i];

        if (p->life == LIFE_RUNS && p->is_held)
            say(p, &(struct note){ .kind = NOTE_GO });
        p->is_held = false;
    }
}

/* has_other - a member that lives has this step with other values
 *
 * Where the batch follows the ranks, a step has other values when other ranks compute it again. So
 * they may when all that had it have died. */
static bool has_other(const struct cluster *c, uint64_t step, uint64_t hash)
{
    for (unsigned i = 0; i < c->n; i++) {
        const struct process *p = &c->processes[i];
        const bool lives = p->life == LIFE_RUNS && p->generation > 0 && !p->is_victim;

        if (lives && (p->last_step > step || (p->last_step == step && p->last_hash != hash)))
            return true;
    }
    return false;
}

static void take_step(struct cluster *c, struct process *p, const struct note *note)
{
    struct cluster_result *result = c->result;
    uint64_t step = note->step;

    result->last_stable = MAX_OF(result->last_stable, note->stable);
    if (note->hash == 0 || step > CLUSTER_STEPS)
        return;
    result->n_steps++;
    result->n_states += note->state_came;
    if (result->hash[step] != 0 && result->hash[step] != note->hash &&
        (result->generation[step] == note->generation ||
         (c->plan->exact && (!c->plan->linear || has_other(c, step, note->hash)))))
        fault(c, "two ranks have different values", step);
    if (!note->state_came && note->stable + 2 != step && step > 1 && p->generation > 0)
        fault(c, "the step that all have is not the one before the last", step);
    if (!note->state_came && step != p->last_step + 1)
        fault(c, "a step came twice, or was left out", step);
    p->last_step = step;
    p->last_hash = note->hash;
    result->hash[step] = note->hash;
    result->generation[step] = note->generation;
    p->is_held = true;
    c->last_step = step;
    result->n_shared += note->is_shared;
    result->n_by_node += note->is_by_node;
    p->n_bytes = note->n_bytes;
    result->n_followed += p->generation == 0;
    let_go(c, false);
    if (c->next_act > 0 && --c->next_act == 0) {
        act(c);
        c->next_act = 5 + (unsigned)random_below(&c->random, 40);
    }
}

static void take_death(struct cluster *c, struct process *p)
{
    bool replaced;
    int status = 0;

    p->life = LIFE_GONE;
    (void)safe_close(p->fd);
    (void)waitpid(p->pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        c->result->n_finished++;
        c->result->n_bytes += p->n_bytes;
        c->result->n_left += p->leaves;
        c->is_done |= !p->leaves;
    } else if (!p->is_victim && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
               c->plan->point != 0) {
        c->left.crashes -= c->left.crashes > 0;
        c->result->n_crashed++;
        p->is_victim = true;
    } else if (!p->is_victim)
        c->result->n_restarted++;
    replaced = p->is_victim && !c->is_done;
    end_generation(c);
    if (replaced)
        start(c, false);
}

static void take_note(struct cluster *c, struct process *p)
{
    struct note note;
    ssize_t n = recv(p->fd, &note, sizeof note, MSG_DONTWAIT);

    if (n < 0 && errno == EAGAIN)
        return;
    if (n != (ssize_t)sizeof note) {
        take_death(c, p);
        return;
    }
    if (note.kind == NOTE_FAILED)
        (void)snprintf(c->result->error, sizeof c->result->error, "%s", note.text);
    else if (note.kind == NOTE_STEP)
        take_step(c, p, &note);
    else if (c->is_done)
        say(p, &(struct note){ .kind = NOTE_LEAVING });
    else {
        p->has_arrived = true;
        p->port = note.port;
        end_generation(c);
    }
}

/* thaw_all - the agent's part: who is frozen for so long goes on, or is killed */
static void thaw_all(struct cluster *c)
{
    for (unsigned i = 0; i < c->n; i++) {
        struct process *p = &c->processes[i];

        if (p->life != LIFE_RUNS || !p->is_frozen)
            continue;
        p->is_frozen = false;
        if (c->left.stops > 0) {
            c->left.stops--;
            p->is_victim = true;
            (void)kill(p->pid, SIGKILL);
        } else
            c->left.thaws -= c->left.thaws > 0;
        (void)kill(p->pid, SIGCONT);
    }
}

void cluster_run(const struct cluster_plan *plan, struct cluster_result *ret)
{
    enum { QUIET_MS = 50, HANG = 2400 }; /* two minutes */
    static struct cluster cluster;
    struct cluster *c = &cluster;
    unsigned quiet = 0;

    memset(ret, 0, sizeof *ret);
    *c = (struct cluster){ .plan = plan, .result = ret, .random = plan->seed, .left = *plan };
    c->next_act = 1 + (unsigned)random_below(&c->random, 20);
    for (unsigned k = 0; k < plan->ranks; k++)
        start(c, plan->other_batches == 0 && !plan->odd_joins && k + 1 == plan->ranks);
    while (n_running(c) > 0) {
        struct pollfd fds[CLUSTER_PROCESSES];
        int r;

        for (unsigned i = 0; i < c->n; i++)
            fds[i] =
                (struct pollfd){ .fd = c->processes[i].life == LIFE_RUNS ? c->processes[i].fd : -1,
                                 .events = POLLIN };
        r = poll(fds, c->n, QUIET_MS);
        for (unsigned i = 0, n = c->n; r > 0 && i < n; i++)
            if (fds[i].revents != 0)
                take_note(c, &c->processes[i]);
        form(c);
        let_go(c, r == 0);
        if (r == 0)
            thaw_all(c); /* all wait for who is frozen */
        quiet = r == 0 ? quiet + 1 : 0;
        if (quiet == HANG) {
            fault(c, "it stands still", c->generation);
            for (unsigned i = 0; i < c->n; i++)
                if (c->processes[i].life == LIFE_RUNS)
                    (void)kill(c->processes[i].pid, SIGKILL);
            c->is_done = true;
        }
    }
}
