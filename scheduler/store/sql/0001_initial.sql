-- 0001_initial.sql - what the scheduler remembers
--
-- One row per thing of the deciding core, written by the effect that names it. Times ending in _wall_us are
-- microseconds since 1970. States are stored as their words, so that sqlite3 at the shell shows something readable.

-- Foreign keys are checked at the commit: the effects of one turn come in any order.

CREATE TABLE schema_migration (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_us INTEGER NOT NULL
) STRICT;

CREATE TABLE node (
    name                    TEXT PRIMARY KEY,
    state                   TEXT NOT NULL,
    ever_reported           INTEGER NOT NULL,
    address                 TEXT NOT NULL,
    cpu_millicores          INTEGER NOT NULL,
    memory_bytes            INTEGER NOT NULL,
    gpus                    INTEGER NOT NULL,
    port_first              INTEGER NOT NULL,
    port_last               INTEGER NOT NULL,
    port_next               INTEGER NOT NULL,
    foreign_cpu_millicores  INTEGER NOT NULL,
    foreign_memory_bytes    INTEGER NOT NULL,
    last_report_wall_us     INTEGER NOT NULL,
    boot_id                 TEXT NOT NULL,
    credential_hash         TEXT NOT NULL,
    admin_state             TEXT NOT NULL,   -- ready, cordoned or draining: what people set, also while it is lost
    labels                  TEXT NOT NULL,   -- JSON object
    numa_nodes              INTEGER NOT NULL,
    gpu_numa                TEXT NOT NULL    -- JSON array: NUMA node of each device
) STRICT, WITHOUT ROWID;

CREATE TABLE job (
    id                INTEGER PRIMARY KEY,
    name              TEXT NOT NULL,
    state             TEXT NOT NULL,
    reason_code       TEXT NOT NULL,
    reason            TEXT NOT NULL,
    user              TEXT NOT NULL,
    spec              TEXT NOT NULL, -- the normalised document, JSON
    next_incarnation  INTEGER NOT NULL,
    targets           TEXT NOT NULL, -- JSON: one number for each role
    slots             TEXT NOT NULL, -- JSON: [role, index, failures, finished, due] of each slot with a history
    resizes           INTEGER NOT NULL,
    finishing         INTEGER NOT NULL,
    submitted_wall_us INTEGER NOT NULL,
    started_wall_us   INTEGER NOT NULL,
    ended_wall_us     INTEGER NOT NULL,
    dataset_digest    TEXT NOT NULL,
    metrics           TEXT           -- JSON as the trainers gave it
) STRICT;

CREATE TABLE process (
    job_id            INTEGER NOT NULL REFERENCES job (id) DEFERRABLE INITIALLY DEFERRED,
    role              INTEGER NOT NULL, -- position in the job's roles
    idx               INTEGER NOT NULL,
    incarnation       INTEGER NOT NULL,
    state             TEXT NOT NULL,
    node              TEXT NOT NULL,    -- may name a node that was removed since
    ports             TEXT NOT NULL,    -- JSON array
    pid               INTEGER NOT NULL,
    exit_code         INTEGER NOT NULL,
    exit_signal       INTEGER NOT NULL,
    stop_wanted       INTEGER NOT NULL,
    reason            TEXT NOT NULL,
    assigned_wall_us  INTEGER NOT NULL,
    started_wall_us   INTEGER NOT NULL,
    ended_wall_us     INTEGER NOT NULL,
    cpu_used_us       INTEGER NOT NULL,
    memory_used_bytes INTEGER NOT NULL,
    gpus              TEXT NOT NULL,    -- JSON array of devices
    PRIMARY KEY (job_id, role, idx, incarnation)
) STRICT, WITHOUT ROWID;

-- One slot has one live process: the promise holds on disk as well.
CREATE UNIQUE INDEX process_live ON process (job_id, role, idx)
    WHERE state NOT IN ('exited', 'lost');

CREATE TABLE queue (
    job_id                  INTEGER PRIMARY KEY REFERENCES job (id) DEFERRABLE INITIALLY DEFERRED,
    pass                    INTEGER NOT NULL,
    records_total           INTEGER NOT NULL,
    records_discarded_total INTEGER NOT NULL,
    retries_total           INTEGER NOT NULL,
    model_saved             INTEGER NOT NULL,
    saver                   INTEGER NOT NULL -- incarnation elected to save the model, 0: none
) STRICT;

CREATE TABLE task (
    job_id   INTEGER NOT NULL REFERENCES queue (job_id) DEFERRABLE INITIALLY DEFERRED,
    id       INTEGER NOT NULL,
    state    INTEGER NOT NULL, -- 0 to do, 1 leased, 2 done, 3 discarded
    lease    INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    holder   INTEGER NOT NULL,
    chunks   TEXT NOT NULL,    -- JSON: [[path, offset, records], ...]
    PRIMARY KEY (job_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    time_us  INTEGER NOT NULL,
    event    TEXT NOT NULL,
    job_id   INTEGER,
    node     TEXT NOT NULL,
    text     TEXT NOT NULL
) STRICT;

CREATE INDEX event_job ON event (job_id, revision);

-- The end of what a process wrote, kept after the process and its node are gone.
CREATE TABLE log_tail (
    job_id      INTEGER NOT NULL REFERENCES job (id) DEFERRABLE INITIALLY DEFERRED,
    role        TEXT NOT NULL,
    idx         INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    sequence    INTEGER NOT NULL, -- place in the scheduler-wide order of log entries
    text        TEXT NOT NULL,
    PRIMARY KEY (job_id, role, idx, incarnation)
) STRICT, WITHOUT ROWID;
