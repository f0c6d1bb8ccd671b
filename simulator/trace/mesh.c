/* SPDX-License-Identifier: Apache-2.0 */
/* mesh.c - the Delaunay triangulation of scattered points, by Qhull */
#include "simulator/trace/mesh.h"

#include <errno.h>
#include <libqhull_r/libqhull_r.h>
#include <math.h>
#include <stdio.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/trace/mesh_internal.h"

/* Qbb: the lifted coordinate is scaled; Qc, Qz: points that lie on one sphere, as those of a grid
 * do; Q12: wide facets are no error; Qt: every facet is a simplex */
#define OPTIONS "qhull d Qbb Qc Qz Q12 Qt"

static void cross(const double a[3], const double b[3], double ret[3])
{
    for (int i = 0; i < 3; i++)
        ret[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* invert - from places to barycentric coordinates; a flat one has none */
static void invert(struct tetrahedron *item, const double (*points)[3], const size_t corner[4])
{
    double edge[3][3], normal[3], volume, size = 1;

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            edge[i][j] = points[corner[i]][j] - points[corner[3]][j];
    cross(edge[1], edge[2], normal);
    volume = dot(edge[0], normal);
    for (int i = 0; i < 3; i++)
        size *= sqrt(dot(edge[i], edge[i]));
    item->flat = fabs(volume) <= MESH_FLAT * size;
    for (int i = 0; i < 3 && !item->flat; i++) {
        cross(edge[(i + 1) % 3], edge[(i + 2) % 3], item->inverse[i]);
        for (int j = 0; j < 3; j++)
            item->inverse[i][j] /= volume;
    }
    memcpy(item->origin, points[corner[3]], sizeof(item->origin));
}

/* add - a facet as a tetrahedron; false: it is none */
static bool add(qhT *qh, const facetT *facet, struct mesh *mesh, const double (*points)[3],
                const double (*values)[2])
{
    struct tetrahedron *new = &mesh->items[mesh->n];
    size_t corner[4];

    if (qh_setsize(qh, facet->vertices) != 4 || qh_setsize(qh, facet->neighbors) != 4)
        return false;
    for (int i = 0; i < 4; i++) {
        const vertexT *vertex = facet->vertices->e[i].p;
        const facetT *neighbor = facet->neighbors->e[i].p;
        int id = qh_pointid(qh, vertex->point);

        if (id < 0 || (size_t)id >= mesh->n_points)
            return false;
        corner[i] = (size_t)id;
        memcpy(new->values[i], values[id], sizeof(new->values[i]));
        new->neighbors[i] = neighbor->upperdelaunay ? MESH_NOBODY : neighbor->visitid;
    }
    invert(new, points, corner);
    memcpy(new->plane, facet->normal, 4 * sizeof(*new->plane));
    new->plane[4] = facet->offset;
    mesh->n++;
    return true;
}

/* collect - the lower facets of the lifted hull, in Qhull's order; the point that Qz adds belongs
 * to none of them */
static bool collect(qhT *qh, struct mesh *mesh, const double (*points)[3],
                    const double (*values)[2])
{
    facetT *facet;
    unsigned int n = 0;
    bool whole = true;

    /* visitid is free for the caller's numbers between Qhull's own walks */
    FORALLfacets
    {
        if (!facet->upperdelaunay)
            facet->visitid = n++;
    }
    mesh->items = xcalloc(n, sizeof(*mesh->items));
    FORALLfacets
    {
        if (!facet->upperdelaunay)
            whole = whole && add(qh, facet, mesh, points, values);
    }
    mesh->scale = qh->SCALElast ? qh->last_newhigh / (qh->last_high - qh->last_low) : 1;
    mesh->shift = qh->SCALElast ? -qh->last_low * mesh->scale : 0;
    return whole && n > 0;
}

static int triangulate(const char *name, const double (*points)[3], const double (*values)[2],
                       size_t n, struct mesh *mesh, struct edl_error *error)
{
    char options[] = OPTIONS, *said = NULL;
    double *copy = xreallocarray(NULL, n, sizeof(*points));
    size_t said_bytes = 0;
    FILE *errors = open_memstream(&said, &said_bytes);
    qhT qh;
    int code, current, total;
    bool whole = false;

    if (errors == NULL)
        abort();
    memcpy(copy, points, n * sizeof(*points));
    qh_zero(&qh, errors);
    code = qh_new_qhull(&qh, 3, (int)n, copy, False, options, NULL, errors);
    if (code == 0)
        whole = collect(&qh, mesh, points, values);
    qh_freeqhull(&qh, !qh_ALL);
    qh_memfreeshort(&qh, &current, &total);
    (void)fclose(errors);
    if (!whole) {
        (void)edl_error_set(error, -EINVAL, "%s: its points cannot be triangulated: %.120s", name,
                            code != 0 ? said : "they lie in one plane");
        (void)edl_error_remedy(error, "measurements that differ in nodes, instances and batch");
        code = -EINVAL;
    }
    free(said);
    free(copy);
    return code;
}

static void set_bounds(struct mesh *mesh, const double (*points)[3], int axis)
{
    mesh->least[axis] = mesh->most[axis] = points[0][axis];
    for (size_t i = 1; i < mesh->n_points; i++) {
        mesh->least[axis] = fmin(mesh->least[axis], points[i][axis]);
        mesh->most[axis] = fmax(mesh->most[axis], points[i][axis]);
    }
}

int mesh_new(const char *name, const double (*points)[3], const double (*values)[2], size_t n,
             struct mesh **ret, struct edl_error *error)
{
    struct mesh *mesh;
    int r;

    if (n < 5 || n > 1000000) {
        (void)edl_error_set(error, -EINVAL, "%s: %zu different points, 5 are the fewest", name, n);
        return edl_error_remedy(error, "measurements that differ in nodes, instances and batch");
    }
    mesh = xcalloc(1, sizeof(*mesh));
    mesh->n_points = n;
    for (int i = 0; i < 3; i++)
        set_bounds(mesh, points, i);
    r = triangulate(name, points, values, n, mesh, error);
    if (r < 0) {
        (void)mesh_free(mesh);
        return r;
    }
    *ret = mesh;
    return 0;
}

struct mesh *mesh_free(struct mesh *mesh)
{
    if (mesh != NULL)
        free(mesh->items);
    free(mesh);
    return NULL;
}
