/* SPDX-License-Identifier: Apache-2.0 */
/* faulty_vfs.c - for tests: a disk in memory under SQLite that loses power and has errors
 *
 * Each file has two images: the visible one, and the one on the platter, with the list of
 * operations between them. A sync carries them out on the platter; a loss of power some of them. So
 * it is with names, in the one folder that there is: which file a name means is on the platter
 * after a sync of the folder. As the one for Unix, this one syncs the folder with a removal that
 * asks for it, and with the first sync of a journal or log that it may have made. */
#include "tests/lib/faulty_vfs.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"

#define SECTOR 512
#define NAMES_MAX 16
#define FILES_MAX                                                                                  \
    256 /* since power was last on; what is made under a name of before is another                 \
         */
#define SHM_REGIONS_MAX 16

struct image {
    unsigned char *data; /* owned */
    size_t size, room;
};

enum op_kind { OP_WRITE, OP_TRUNCATE };

struct op {
    enum op_kind kind;
    size_t at, n;
    unsigned char *data; /* owned */
};

struct disk_file {
    struct image seen, platter;
    struct op *ops; /* owned; not synced */
    size_t n_ops, room;
    void *shm[SHM_REGIONS_MAX]; /* owned */
};

struct name {
    char text[512];
    struct disk_file *seen, *platter; /* borrowed; NULL: no file has the name */
};

struct handle {
    sqlite3_file base;
    struct disk_file *file; /* borrowed */
    uint64_t life;          /* of the disk's power */
    bool names;             /* its next sync is one of the folder, too */
};

static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    sqlite3_mem_methods memory;
    struct disk_file *files[FILES_MAX]; /* owned */
    struct name names[NAMES_MAX];
    size_t n_files, n_names;
    uint64_t random, life;
    bool off, struck, held;
    enum fault fault;
    uint64_t nth;
    unsigned times;
    uint64_t calls[FAULT_KINDS];
} disk;

const char *fault_name(enum fault fault)
{
    static const char *const names[FAULT_KINDS] = { "none", "power", "full",       "write",
                                                    "sync", "read",  "short read", "memory" };

    return names[fault];
}

static uint64_t draw(uint64_t below)
{
    disk.random ^= disk.random << 13;
    disk.random ^= disk.random >> 7;
    disk.random ^= disk.random << 17;
    return disk.random % below;
}

uint64_t faulty_calls(enum fault fault)
{
    return disk.calls[fault];
}

void faulty_strike(enum fault fault, uint64_t nth, unsigned times)
{
    disk.fault = fault;
    disk.nth = disk.calls[fault] + nth;
    disk.times = times;
    disk.struck = disk.struck && fault == FAULT_NONE;
}

bool faulty_struck(void)
{
    return disk.struck;
}

void faulty_hold(bool hold)
{
    disk.held = hold;
}

/* Counts the call; true: it is struck. */
static bool strikes(enum fault fault)
{
    uint64_t call;

    if (disk.held)
        return false;
    call = ++disk.calls[fault];
    if (disk.fault != fault || call < disk.nth || call >= disk.nth + disk.times)
        return false;
    disk.struck = true;
    return true;
}

/* --- images --- */

static void grow(struct image *image, size_t size)
{
    if (size <= image->size)
        return;
    if (size > image->room) {
        image->room = MAX_OF(size, 2 * image->room);
        image->data = xreallocarray(image->data, image->room, 1);
    }
    memset(image->data + image->size, 0, size - image->size);
    image->size = size;
}

static void image_apply(struct image *image, const struct op *op)
{
    if (op->kind == OP_TRUNCATE) {
        grow(image, op->n);
        image->size = op->n;
        return;
    }
    grow(image, op->at + op->n);
    memcpy(image->data + op->at, op->data, op->n);
}

static void image_copy(struct image *to, const struct image *from)
{
    free(to->data);
    *to = *from;
    to->room = from->size + 1;
    to->data = xcalloc(to->room, 1);
    if (from->size > 0)
        memcpy(to->data, from->data, from->size);
}

static void forget_ops(struct disk_file *file)
{
    for (size_t i = 0; i < file->n_ops; i++)
        free(file->ops[i].data);
    free(file->ops);
    file->ops = NULL;
    file->n_ops = file->room = 0;
}

static void add_op(struct disk_file *file, enum op_kind kind, size_t at, const void *data, size_t n)
{
    struct op *op;

    if (file->n_ops == file->room) {
        file->room = MAX_OF(2 * file->room, (size_t)16);
        file->ops = xreallocarray(file->ops, file->room, sizeof *file->ops);
    }
    op = &file->ops[file->n_ops++];
    *op = (struct op){ .kind = kind, .at = at, .n = n };
    if (kind == OP_WRITE) {
        op->data = xcalloc(n + 1, 1);
        memcpy(op->data, data, n);
    }
    image_apply(&file->seen, op);
}

/* Some sectors of a write reach the platter. */
static void apply_torn(struct image *image, const struct op *op)
{
    for (size_t done = 0; done < op->n;) {
        size_t n = MIN_OF(op->n - done, SECTOR - (op->at + done) % SECTOR);
        const struct op part = { .at = op->at + done, .n = n, .data = op->data + done };

        if (draw(4) != 0)
            image_apply(image, &part);
        done += n;
    }
}

static void free_file(struct disk_file *take_file)
{
    forget_ops(take_file);
    free(take_file->seen.data);
    free(take_file->platter.data);
    for (size_t i = 0; i < SHM_REGIONS_MAX; i++)
        free(take_file->shm[i]);
    free(take_file);
}

static void sync_folder(void)
{
    for (size_t i = 0; i < disk.n_names; i++)
        disk.names[i].platter = disk.names[i].seen;
}

static void survive(struct disk_file *file, enum survival survival)
{
    size_t first = survival == SURVIVES_ALL       ? file->n_ops
                   : survival == SURVIVES_NOTHING ? 0
                                                  : draw(file->n_ops + 1);

    for (size_t i = 0; i < file->n_ops; i++) {
        const struct op *op = &file->ops[i];

        if (survival == SURVIVES_ANY && draw(3) == 0 && op->kind == OP_WRITE)
            apply_torn(&file->platter, op);
        else if (survival == SURVIVES_ANY ? draw(2) == 0 : i < first)
            image_apply(&file->platter, op);
    }
    image_copy(&file->seen, &file->platter);
    forget_ops(file);
    for (size_t i = 0; i < SHM_REGIONS_MAX; i++) {
        free(file->shm[i]);
        file->shm[i] = NULL;
    }
}

void faulty_power_off(void)
{
    disk.off = true;
}

static bool is_named(const struct disk_file *file)
{
    for (size_t i = 0; i < disk.n_names; i++)
        if (disk.names[i].platter == file)
            return true;
    return false;
}

void faulty_restore(enum survival survival)
{
    size_t n = 0;

    for (size_t i = 0; i < disk.n_names; i++) {
        struct name *name = &disk.names[i];

        if (survival == SURVIVES_ALL || (survival != SURVIVES_NOTHING && draw(2) == 0))
            name->platter = name->seen;
        name->seen = name->platter;
    }
    for (size_t i = 0; i < disk.n_files; i++)
        if (is_named(disk.files[i]))
            disk.files[n++] = disk.files[i];
        else
            free_file(disk.files[i]);
    disk.n_files = n;
    for (size_t i = 0; i < disk.n_files; i++)
        survive(disk.files[i], survival);
    disk.off = false;
    disk.life++;
    disk.fault = FAULT_NONE;
}

/* --- files --- */

static bool is_dead(const struct handle *handle)
{
    return disk.off || handle->life != disk.life;
}

/* A call that changes the disk; true: the power has failed in it. The call itself may still have
 * been carried out: it is, and what survives decides. */
static bool power_fails(void)
{
    if (strikes(FAULT_POWER))
        disk.off = true;
    return disk.off;
}

static int do_close(sqlite3_file *file)
{
    file->pMethods = NULL;
    return SQLITE_OK;
}

static int do_read(sqlite3_file *base, void *to, int n, sqlite3_int64 at)
{
    const struct handle *handle = (void *)base;
    const struct image *image = &handle->file->seen;
    size_t there = (size_t)at < image->size ? MIN_OF((size_t)n, image->size - (size_t)at) : 0;

    if (is_dead(handle) || strikes(FAULT_READ))
        return SQLITE_IOERR_READ;
    if (strikes(FAULT_SHORT_READ))
        there /= 2;
    if (there > 0)
        memcpy(to, image->data + at, there);
    memset((char *)to + there, 0, (size_t)n - there);
    return there == (size_t)n ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int do_write(sqlite3_file *base, const void *data, int n, sqlite3_int64 at)
{
    const struct handle *handle = (void *)base;
    bool full, fails;

    if (is_dead(handle))
        return SQLITE_IOERR_WRITE;
    full = strikes(FAULT_FULL);
    fails = strikes(FAULT_WRITE);
    if (full || fails) {
        add_op(handle->file, OP_WRITE, (size_t)at, data, (size_t)n / 2);
        return full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    }
    add_op(handle->file, OP_WRITE, (size_t)at, data, (size_t)n);
    return power_fails() ? SQLITE_IOERR_WRITE : SQLITE_OK;
}

static int do_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    const struct handle *handle = (void *)base;

    if (is_dead(handle))
        return SQLITE_IOERR_TRUNCATE;
    add_op(handle->file, OP_TRUNCATE, 0, NULL, (size_t)size);
    return power_fails() ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int do_sync(sqlite3_file *base, int flags)
{
    struct handle *handle = (void *)base;
    struct disk_file *file = handle->file;

    (void)flags;
    if (is_dead(handle) || power_fails())
        return SQLITE_IOERR_FSYNC;
    if (strikes(FAULT_SYNC)) {
        forget_ops(file);
        return SQLITE_IOERR_FSYNC;
    }
    for (size_t i = 0; i < file->n_ops; i++)
        image_apply(&file->platter, &file->ops[i]);
    forget_ops(file);
    if (handle->names)
        sync_folder();
    handle->names = false;
    return SQLITE_OK;
}

static int do_size(sqlite3_file *base, sqlite3_int64 *ret)
{
    const struct handle *handle = (void *)base;

    *ret = (sqlite3_int64)handle->file->seen.size;
    return is_dead(handle) ? SQLITE_IOERR_FSTAT : SQLITE_OK;
}

static int do_lock(sqlite3_file *base, int lock)
{
    (void)base;
    (void)lock;
    return SQLITE_OK;
}

static int do_check_lock(sqlite3_file *base, int *ret)
{
    (void)base;
    *ret = 0;
    return SQLITE_OK;
}

static int do_control(sqlite3_file *base, int op, void *arg)
{
    (void)base;
    (void)op;
    (void)arg;
    return SQLITE_NOTFOUND;
}

static int do_sector(sqlite3_file *base)
{
    (void)base;
    return SECTOR;
}

static int do_traits(sqlite3_file *base)
{
    (void)base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int do_shm_map(sqlite3_file *base, int region, int size, int extend, void volatile **ret)
{
    const struct handle *handle = (void *)base;
    void **at = &handle->file->shm[region];

    if (is_dead(handle))
        return SQLITE_IOERR_SHMMAP;
    if (*at == NULL && extend != 0)
        *at = xcalloc((size_t)size, 1);
    *ret = *at;
    return SQLITE_OK;
}

static int do_shm_lock(sqlite3_file *base, int offset, int n, int flags)
{
    (void)base;
    (void)offset;
    (void)n;
    (void)flags;
    return SQLITE_OK;
}

static void do_shm_barrier(sqlite3_file *base)
{
    (void)base;
}

static int do_shm_unmap(sqlite3_file *base, int remove)
{
    const struct handle *handle = (void *)base;

    for (size_t i = 0; remove != 0 && !is_dead(handle) && i < SHM_REGIONS_MAX; i++) {
        free(handle->file->shm[i]);
        handle->file->shm[i] = NULL;
    }
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = do_close,
    .xRead = do_read,
    .xWrite = do_write,
    .xTruncate = do_truncate,
    .xSync = do_sync,
    .xFileSize = do_size,
    .xLock = do_lock,
    .xUnlock = do_lock,
    .xCheckReservedLock = do_check_lock,
    .xFileControl = do_control,
    .xSectorSize = do_sector,
    .xDeviceCharacteristics = do_traits,
    .xShmMap = do_shm_map,
    .xShmLock = do_shm_lock,
    .xShmBarrier = do_shm_barrier,
    .xShmUnmap = do_shm_unmap,
};

/* --- the file system --- */

/* Of the names that files have or had. */
static struct name *find(const char *text)
{
    struct name *name = disk.names;

    while (name < disk.names + disk.n_names && !streq(name->text, text))
        name++;
    if (name == disk.names + NAMES_MAX)
        abort();
    if (name == disk.names + disk.n_names) {
        disk.n_names++;
        (void)snprintf(name->text, sizeof name->text, "%s", text);
    }
    return name;
}

static struct disk_file *make_file(struct name *name)
{
    if (disk.n_files == FILES_MAX)
        abort();
    name->seen = disk.files[disk.n_files++] = xcalloc(1, sizeof *name->seen);
    return name->seen;
}

void *faulty_content(const char *name, size_t *ret_size)
{
    struct image copy = { 0 };

    (void)image_copy(&copy, &find(name)->seen->seen);
    *ret_size = copy.size;
    return copy.data;
}

void faulty_add(const char *name, const void *content, size_t size)
{
    struct disk_file *file = make_file(find(name));

    add_op(file, OP_WRITE, 0, content, size);
    (void)image_copy(&file->platter, &file->seen);
    forget_ops(file);
    sync_folder();
}

static int do_open(sqlite3_vfs *vfs, const char *text, sqlite3_file *base, int flags, int *ret)
{
    const int journals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;
    struct handle *handle = (void *)base;
    struct name *name;

    (void)vfs;
    if (text == NULL)
        abort(); /* a temporary file: nothing of ours is large enough to need one */
    name = find(text);
    base->pMethods = NULL;
    if (disk.off || (name->seen == NULL && (flags & SQLITE_OPEN_CREATE) == 0))
        return SQLITE_CANTOPEN;
    if (name->seen == NULL)
        (void)make_file(name);
    handle->file = name->seen;
    handle->life = disk.life;
    handle->names = (flags & SQLITE_OPEN_CREATE) != 0 && (flags & journals) != 0;
    base->pMethods = &methods;
    if (ret != NULL)
        *ret = flags;
    return SQLITE_OK;
}

static int do_delete(sqlite3_vfs *vfs, const char *text, int sync)
{
    struct name *name = find(text);

    (void)vfs;
    if (disk.off)
        return SQLITE_IOERR_DELETE;
    if (name->seen == NULL)
        return SQLITE_IOERR_DELETE_NOENT;
    name->seen = NULL;
    if (power_fails())
        return SQLITE_IOERR_DELETE;
    if (sync != 0)
        sync_folder();
    return SQLITE_OK;
}

static int do_access(sqlite3_vfs *vfs, const char *text, int flags, int *ret)
{
    const struct disk_file *file = find(text)->seen;

    (void)vfs;
    (void)flags;
    *ret = file != NULL && file->seen.size > 0; /* as the one for Unix */
    return disk.off ? SQLITE_IOERR_ACCESS : SQLITE_OK;
}

static int do_full_path(sqlite3_vfs *vfs, const char *name, int size, char *ret)
{
    (void)vfs;
    (void)snprintf(ret, (size_t)size, "%s", name);
    return SQLITE_OK;
}

static int do_random(sqlite3_vfs *vfs, int n, char *ret)
{
    (void)vfs;
    for (int i = 0; i < n; i++)
        ret[i] = (char)draw(256);
    return n;
}

static int do_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    return us;
}

static int do_time(sqlite3_vfs *vfs, double *ret)
{
    (void)vfs;
    return disk.real->xCurrentTime(disk.real, ret);
}

/* --- memory --- */

static void *do_malloc(int n)
{
    return strikes(FAULT_MEMORY) ? NULL : disk.memory.xMalloc(n);
}

static void *do_realloc(void *p, int n)
{
    return strikes(FAULT_MEMORY) ? NULL : disk.memory.xRealloc(p, n);
}

static void configure(const sqlite3_mem_methods *allocator)
{
    (void)sqlite3_shutdown();
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, allocator) != SQLITE_OK)
        abort();
    (void)sqlite3_initialize();
}

void faulty_install(uint64_t seed)
{
    sqlite3_mem_methods failing;

    if (disk.real != NULL) /* of a test that failed */
        faulty_remove();
    memset(&disk, 0, sizeof disk);
    disk.random = seed * 2 + 1;
    (void)sqlite3_shutdown();
    (void)sqlite3_config(SQLITE_CONFIG_GETMALLOC, &disk.memory);
    failing = disk.memory;
    failing.xMalloc = do_malloc;
    failing.xRealloc = do_realloc;
    configure(&failing);
    disk.real = sqlite3_vfs_find(NULL);
    disk.vfs = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = sizeof(struct handle),
        .mxPathname = 400,
        .zName = "faulty",
        .xOpen = do_open,
        .xDelete = do_delete,
        .xAccess = do_access,
        .xFullPathname = do_full_path,
        .xRandomness = do_random,
        .xSleep = do_sleep,
        .xCurrentTime = do_time,
    };
    (void)sqlite3_vfs_register(&disk.vfs, 1);
}

void faulty_remove(void)
{
    disk.fault = FAULT_NONE;
    (void)sqlite3_vfs_unregister(&disk.vfs);
    configure(&disk.memory);
    for (size_t i = 0; i < disk.n_files; i++)
        free_file(disk.files[i]);
    memset(&disk, 0, sizeof disk);
}
