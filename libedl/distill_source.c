/* SPDX-License-Identifier: Apache-2.0 */
/* distill_source.c - which teachers there are, and what proves that one may ask them */
#include "libedl/distill_source.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "libedl/distill_ask.h"
#include "libedl/group_proof.h"
#include "libedl/peers.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/hex.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/teacher_wire.h"

#define WAIT_S 20U                         /* for news of a service, in one call */
#define ABSENT_AGAIN_US (2 * USEC_PER_SEC) /* nobody serves under that name yet */
#define EARLY_US (100 * USEC_PER_MSEC)     /* a scheduler that ends waits early */
#define DOUBT_AGAIN_US USEC_PER_SEC
#define HOST_MAX 256

/* ---- places ---- */

static void places_clear(struct distill_place *places, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(places[i].name);
    free(places);
}

static struct distill_place *place_add(struct distill_place **places, size_t *n)
{
    *places = xreallocarray(*places, *n + 1, sizeof **places);
    (*places)[*n] = (struct distill_place){ 0 };
    return &(*places)[(*n)++];
}

static int not_a_teacher(const char *text, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "\"%.100s\" is no teacher", text);
    return edl_error_remedy(error, "write HOST:PORT, as 10.0.0.1:9292");
}

/* look_up - the one thing of a student that may wait for a name server */
static int look_up(const char *host, const char *port, struct distill_place *place,
                   struct edl_error *error)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
    struct addrinfo *found = NULL;
    int r = getaddrinfo(host, port, &hints, &found);

    if (r != 0 || found->ai_addrlen > sizeof place->to) {
        (void)edl_error_set(error, -EINVAL, "teacher %s:%s: %s", host, port, gai_strerror(r));
        if (r == 0)
            freeaddrinfo(found);
        return edl_error_remedy(error, "name it by its address, as 10.0.0.1:9292");
    }
    memcpy(&place->to, found->ai_addr, found->ai_addrlen);
    place->size = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

static int place_read(const char *text, struct distill_place *place, struct edl_error *error)
{
    char host[HOST_MAX];
    const char *colon = strrchr(text, ':'), *first = text;
    size_t n = colon != NULL ? (size_t)(colon - text) : 0;
    uint64_t port;

    if (n >= 2 && text[0] == '[' && text[n - 1] == ']') {
        first++;
        n -= 2;
    }
    if (n == 0 || n >= sizeof host || parse_u64(colon + 1, &port) < 0 || port == 0 ||
        port > UINT16_MAX)
        return not_a_teacher(text, error);
    memcpy(host, first, n);
    host[n] = '\0';
    place->name = xstrdup(text);
    place->size = socket_address_parse(host, (uint16_t)port, &place->to);
    return place->size > 0 ? 0 : look_up(host, colon + 1, place, error);
}

static int read_places(struct distill_source *source, const char *teachers, struct edl_error *error)
{
    _cleanup_free_ char *list = xstrdup(teachers);
    char *rest = NULL;
    int r = 0;

    for (char *one = strtok_r(list, ", \t\n", &rest); r == 0 && one != NULL;
         one = strtok_r(NULL, ", \t\n", &rest))
        r = place_read(one, place_add(&source->places, &source->n_places), error);
    if (r == 0 && source->n_places == 0)
        r = not_a_teacher(teachers, error);
    source->is_news = true;
    source->what = xstrdup(teachers);
    return r;
}

/* One who stands on the ring: a place, or a student. */
struct standing {
    uint64_t hash;
    size_t number; /* of places, or of students */
};

static uint64_t hash_of(const char *text)
{
    static const uint8_t no_secret[JOB_SECRET_BYTES];
    uint8_t digest[JOB_PROOF_BYTES];
    uint64_t hash = 0;

    group_hmac(no_secret, text, strlen(text), digest);
    for (int i = 0; i < 8; i++)
        hash = hash << 8 | digest[i];
    return hash;
}

static int by_hash(const void *a, const void *b)
{
    const struct standing *x = a, *y = b;

    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
                              : (x->number > y->number) - (x->number < y->number);
}

static void stand(struct standing *ring, size_t n)
{
    qsort(ring, n, sizeof *ring, by_hash);
}

/* next_student - behind that hash, of those with less than so many places */
static size_t next_student(const struct standing *students, const size_t *n_owned, size_t n,
                           uint64_t hash, size_t room)
{
    size_t at = 0;

    while (at < n && students[at].hash <= hash)
        at++;
    while (n_owned[at % n] >= room)
        at++;
    return at % n;
}

/* own_places - which of the places, by their order on the ring, are those of student `me` there */
static void own_places(const struct standing *places, size_t n_places,
                       const struct standing *students, size_t n_students, size_t me, bool *ret)
{
    _cleanup_free_ size_t *n_owned = xcalloc(n_students, sizeof *n_owned);
    size_t room = (n_places + n_students - 1) / n_students, without = 0;

    for (size_t i = 0; i < n_places; i++) {
        size_t owner = next_student(students, n_owned, n_students, places[i].hash, room);

        n_owned[owner]++;
        ret[i] = owner == me;
    }
    for (size_t k = 0; k < n_students && n_owned[me] == 0; k++) { /* more students than places */
        if (k == me)
            ret[without % n_places] = true;
        without += n_owned[k] == 0;
    }
}

static size_t place_of_me(struct standing *ring, const uint64_t *students, size_t n, uint64_t me)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        char text[32];

        (void)snprintf(text, sizeof text, "%" PRIu64, students[i]);
        ring[i] = (struct standing){ .hash = hash_of(text), .number = i };
    }
    stand(ring, n);
    while (students[ring[at].number] != me)
        at++;
    return at;
}

/* in_order - own places first, the others in an order of this student's */
static void in_order(struct distill_place *places, struct standing *ring, const bool *own, size_t n,
                     uint64_t me)
{
    _cleanup_free_ struct distill_place *sorted = xcalloc(n, sizeof *sorted);

    for (size_t i = 0; i < n; i++) {
        char text[HOST_MAX + 64];

        (void)snprintf(text, sizeof text, "%" PRIu64 " %s", me, places[ring[i].number].name);
        ring[i].hash = own[i] ? 0 : hash_of(text);
    }
    stand(ring, n);
    for (size_t i = 0; i < n; i++)
        sorted[i] = places[ring[i].number];
    memcpy(places, sorted, n * sizeof *sorted);
}

size_t distill_share(struct distill_place *places, size_t n_places, uint64_t me,
                     const uint64_t *students, size_t n_students, uint64_t most)
{
    _cleanup_free_ struct standing *ring = xcalloc(n_places, sizeof *ring);
    _cleanup_free_ struct standing *with = xcalloc(n_students + 1, sizeof *with);
    _cleanup_free_ uint64_t *all = xcalloc(n_students + 1, sizeof *all);
    _cleanup_free_ bool *own = xcalloc(n_places, sizeof *own);
    size_t n = n_students;
    bool is_there = false;

    if (n_places == 0)
        return 0;
    for (size_t i = 0; i < n_students; i++) {
        all[i] = students[i];
        is_there |= students[i] == me;
    }
    if (!is_there)
        all[n++] = me;
    for (size_t i = 0; i < n_places; i++)
        ring[i] = (struct standing){ .hash = hash_of(places[i].name), .number = i };
    stand(ring, n_places);
    own_places(ring, n_places, with, n, place_of_me(with, all, n, me), own);
    in_order(places, ring, own, n_places, me);
    return (size_t)MIN_OF((uint64_t)n_places, MAX_OF(most, (n_places + n - 1) / n + 1));
}

/* ---- the secret ---- */

static int secret_of_file(const char *path, uint8_t ret[JOB_SECRET_BYTES], struct edl_error *error)
{
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    char text[JOB_SECRET_HEX + 8] = "";

    if (file == NULL || fgets(text, sizeof text, file) == NULL) {
        (void)edl_error_set(error, -EINVAL, "EDL_TEACHER_SECRET_FILE: %.200s: %s", path,
                            file == NULL ? strerror(errno) : "it is empty");
        return edl_error_remedy(error, "make it by: openssl rand -hex 32");
    }
    text[strcspn(text, " \t\r\n")] = '\0';
    if (hex_decode(text, JOB_SECRET_BYTES, ret) < 0) {
        (void)edl_error_set(error, -EINVAL, "EDL_TEACHER_SECRET_FILE: %.200s has no %d hex digits",
                            path, JOB_SECRET_HEX);
        return edl_error_remedy(error, "make it by: openssl rand -hex 32");
    }
    explicit_bzero(text, sizeof text);
    return 0;
}

static void ask_secret(struct distill_source *source, uint64_t at_us)
{
    if (source->service != NULL)
        distill_ask_begin(&source->secrets, at_us, "/services/%s/secret", source->service);
    else
        distill_ask_begin(&source->secrets, at_us, "/jobs/self/secret");
}

void distill_source_doubt(struct distill_source *source)
{
    if (source->secret_of_file || source->secrets.client == NULL ||
        distill_ask_is_on(&source->secrets))
        return;
    ask_secret(source, source->secret_again_us);
}

static int take_secret(struct distill_source *source, const json_t *answer, struct edl_error *error)
{
    const char *text = json_string_value(json_object_get(answer, "secret"));
    uint8_t secret[JOB_SECRET_BYTES];

    if (text == NULL || hex_decode(text, JOB_SECRET_BYTES, secret) < 0)
        return client_answer_bad("the secret", error);
    if (source->service != NULL)
        memcpy(source->secret, secret, sizeof secret);
    else
        group_hmac(secret, TEACHER_SERVICE_MESSAGE, sizeof TEACHER_SERVICE_MESSAGE - 1,
                   source->secret);
    explicit_bzero(secret, sizeof secret);
    source->has_secret = true;
    return 0;
}

static int secret_go_on(struct distill_source *source, uint64_t now_us)
{
    struct edl_error *error = &source->secrets.client->error;
    json_t *answer = NULL;
    int r = distill_ask_go_on(&source->secrets, now_us, &answer);

    if (r == -EAGAIN)
        return 0;
    source->secret_again_us = now_us + DOUBT_AGAIN_US;
    if (r == 0)
        r = take_secret(source, answer, error);
    json_decref(answer);
    if (r == -ENOENT) { /* the service is over: another one may come */
        *error = (struct edl_error){ 0 };
        ask_secret(source, now_us + ABSENT_AGAIN_US);
        r = 0;
    }
    return r;
}

/* ---- who serves ---- */

static void ask_news(struct distill_source *source, uint64_t at_us)
{
    source->asks = DISTILL_ASK_NEWS;
    if (source->known != NULL)
        distill_ask_begin(&source->news, at_us, "/services/%s?after=%" PRIu64 "&wait=%u",
                          source->service, source->known->version, WAIT_S);
    else
        distill_ask_begin(&source->news, at_us, "/services/%s", source->service);
}

static void forget_service(struct distill_source *source)
{
    source->known = edl_service_free(source->known);
    places_clear(source->places, source->n_places);
    source->places = NULL;
    source->n_places = 0;
    source->is_news = true;
}

/* take_news - also where nobody came or went: students may have */
static int take_news(struct distill_source *source, const json_t *answer, uint64_t now_us,
                     struct edl_error *error)
{
    struct edl_service *service = NULL;
    int r = service_read(answer, &service, error);

    if (r < 0)
        return r;
    (void)edl_service_free(source->known);
    source->known = service;
    if (!source->has_secret && !distill_ask_is_on(&source->secrets))
        ask_secret(source, now_us);
    if (source->role == NULL)
        return 1;
    source->asks = DISTILL_ASK_STUDENTS;
    distill_ask_begin(&source->news, now_us, "/jobs/self/hosts?role=%.200s", source->role);
    return 0;
}

/* places_of - of the known service; those with no port, or with no address in digits, are none */
static void places_of(struct distill_source *source, const uint64_t *students, size_t n_students)
{
    const struct edl_service *known = source->known;
    struct distill_place *places = NULL;
    size_t n = 0, chosen;

    for (size_t i = 0; i < known->n_peers; i++) {
        const struct edl_peer *peer = &known->peers[i];
        union socket_address to;
        socklen_t size =
            peer->n_ports > 0 ? socket_address_parse(peer->address, peer->ports[0], &to) : 0;
        struct distill_place *place;

        if (size == 0)
            continue;
        place = place_add(&places, &n);
        place->to = to;
        place->size = size;
        if (asprintf(&place->name, "%s:%u", peer->address, peer->ports[0]) < 0)
            abort();
    }
    chosen = distill_share(places, n, source->index, students, n_students, source->require);
    while (n > chosen)
        free(places[--n].name);
    places_clear(source->places, source->n_places);
    source->places = places;
    source->n_places = n;
    source->is_news = true;
}

/* take_students - an answer that cannot be read is taken for no others */
static void take_students(struct distill_source *source, const json_t *answer)
{
    struct edl_peer *peers = NULL;
    _cleanup_free_ uint64_t *students = NULL;
    size_t n = 0;

    if (answer != NULL && peers_read(json_object_get(answer, "hosts"), &peers, &n) < 0)
        n = 0;
    students = xcalloc(n, sizeof *students);
    for (size_t i = 0; i < n; i++)
        students[i] = peers[i].index;
    places_of(source, students, n);
    if (peers != NULL)
        peers_free(peers, n);
}

static int news_go_on(struct distill_source *source, uint64_t now_us)
{
    struct edl_error *error = &source->news.client->error;
    bool is_known = source->asks == DISTILL_ASK_STUDENTS;
    json_t *answer = NULL;
    int r = distill_ask_go_on(&source->news, now_us, &answer);

    if (r == -EAGAIN)
        return 0;
    if (is_known)
        r = 0; /* what cannot be told is taken for one student */
    else if (r == 0)
        r = take_news(source, answer, now_us, error);
    if (r == 1 || is_known) {
        take_students(source, is_known ? answer : NULL);
        ask_news(source, now_us + EARLY_US);
    }
    json_decref(answer);
    if (r == -ENOENT) { /* nobody serves under that name yet */
        forget_service(source);
        ask_news(source, now_us + ABSENT_AGAIN_US);
        r = 0;
    }
    if (r >= 0)
        *error = (struct edl_error){ 0 };
    return MIN_OF(r, 0);
}

void distill_source_is_ready(struct distill_source *source, uint64_t number)
{
    (number == DISTILL_NEWS_NUMBER ? &source->news : &source->secrets)->is_ready = true;
}

int distill_source_go_on(struct distill_source *source, uint64_t now_us, struct edl_error *error)
{
    struct edl_client *client = source->news.client;
    int r = 0;

    if (client == NULL)
        return 0;
    r = news_go_on(source, now_us);
    if (r == 0)
        r = secret_go_on(source, now_us);
    if (r < 0) {
        *error = client->error;
        client->error = (struct edl_error){ 0 };
    }
    return r;
}

uint64_t distill_source_next_us(const struct distill_source *source)
{
    return MIN_OF(distill_ask_next_us(&source->news), distill_ask_next_us(&source->secrets));
}

/* ---- the whole ---- */

static int no_teacher(struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "no teacher is named");
    return edl_error_remedy(error, "set teachers to HOST:PORT, or service to a job's name, or "
                                   "teacher: in the job");
}

static int open_service(struct distill_source *source, const struct distill_source_options *options,
                        const char *service, uint64_t now_us, struct edl_error *error)
{
    if (options->client == NULL) {
        (void)edl_error_set(error, -EINVAL, "the service %.100s is known in a cluster only",
                            service);
        return edl_error_remedy(error, "submit the program (edl submit), or set teachers");
    }
    if (!service_name_valid(service))
        return edl_error_set(error, -EINVAL, "\"%.100s\" cannot be the name of a service", service);
    source->service = xstrdup(service);
    if (asprintf(&source->what, "the service %s", service) < 0)
        abort();
    ask_news(source, now_us);
    return 0;
}

/* name_student - by which teachers know it, and by which it chooses among them */
static void name_student(struct distill_source *source)
{
    const char *job = getenv("EDL_JOB"), *role = getenv("EDL_ROLE"), *index = getenv("EDL_INDEX");
    char host[128] = "";
    int r;

    if (job != NULL && role != NULL && index != NULL) {
        source->role = xstrdup(role);
        (void)parse_u64(index, &source->index);
        r = asprintf(&source->student, "%.100s.%.60s.%.20s", job, role, index);
    } else {
        (void)gethostname(host, sizeof host - 1);
        r = asprintf(&source->student, "%s:%d", host, (int)getpid());
    }
    if (r < 0)
        abort();
}

int distill_source_open(struct distill_source *source, const struct distill_source_options *options,
                        struct edl_error *error)
{
    const char *path = getenv("EDL_TEACHER_SECRET_FILE"), *service = options->service;
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    int r;

    *source = (struct distill_source){ .require = MAX_OF(options->require, UINT64_C(1)) };
    distill_ask_init(&source->news, options->client, options->epoll_fd, DISTILL_NEWS_NUMBER);
    distill_ask_init(&source->secrets, options->client, options->epoll_fd, DISTILL_SECRETS_NUMBER);
    name_student(source);
    if (service == NULL && options->teachers == NULL)
        service = getenv("EDL_TEACHER");
    if (options->teachers != NULL)
        r = read_places(source, options->teachers, error);
    else if (service != NULL && *service != '\0')
        r = open_service(source, options, service, now_us, error);
    else
        r = no_teacher(error);
    if (r < 0)
        return r;
    source->secret_of_file = path != NULL && *path != '\0';
    if (source->secret_of_file)
        r = secret_of_file(path, source->secret, error);
    source->has_secret = source->secret_of_file || options->client == NULL;
    if (r == 0 && !source->has_secret && source->service == NULL)
        ask_secret(source, now_us);
    return r;
}

void distill_source_clear(struct distill_source *source)
{
    distill_ask_clear(&source->news);
    distill_ask_clear(&source->secrets);
    places_clear(source->places, source->n_places);
    (void)edl_service_free(source->known);
    free(source->service);
    free(source->what);
    free(source->student);
    free(source->role);
    explicit_bzero(source, sizeof *source);
    distill_ask_init(&source->news, NULL, -1, 0);
    distill_ask_init(&source->secrets, NULL, -1, 0);
}
