-- The schema as SQLite has it after its file of this number (scheduler/store/sql), with PostgreSQL's types. No triggers and
-- no sequences: the store keeps its sums, and counts its numbers, itself. tests/unit/test_postgresql_schema.c compares the
-- columns of both. Foreign keys are checked at the commit.

CREATE TABLE schema_migration (
    version bigint PRIMARY KEY,
    name text NOT NULL,
    applied_us bigint NOT NULL
);
CREATE TABLE node (
    name text PRIMARY KEY,
    state text NOT NULL,
    ever_reported bigint NOT NULL,
    address text NOT NULL,
    cpu_millicores bigint NOT NULL,
    memory_bytes bigint NOT NULL,
    gpus bigint NOT NULL,
    port_first bigint NOT NULL,
    port_last bigint NOT NULL,
    port_next bigint NOT NULL,
    foreign_cpu_millicores bigint NOT NULL,
    foreign_memory_bytes bigint NOT NULL,
    last_report_wall_us bigint NOT NULL,
    boot_id text NOT NULL,
    credential_hash text NOT NULL,
    admin_state text NOT NULL,
    labels text NOT NULL,
    numa_nodes bigint NOT NULL,
    gpu_numa text NOT NULL,
    set_aside text NOT NULL DEFAULT ''
);
CREATE TABLE job (
    id bigint PRIMARY KEY,
    name text NOT NULL,
    state text NOT NULL,
    reason_code text NOT NULL,
    reason text NOT NULL,
    "user" text NOT NULL,
    spec text NOT NULL,
    next_incarnation bigint NOT NULL,
    targets text NOT NULL,
    slots text NOT NULL,
    resizes bigint NOT NULL,
    finishing bigint NOT NULL,
    submitted_wall_us bigint NOT NULL,
    started_wall_us bigint NOT NULL,
    ended_wall_us bigint NOT NULL,
    dataset_digest text NOT NULL,
    metrics text,
    usage text NOT NULL DEFAULT '[]',
    archived bigint NOT NULL DEFAULT 0,
    array_name text,
    turn_wall_us bigint NOT NULL DEFAULT 0,
    servers_min bigint NOT NULL DEFAULT 0,
    servers_max bigint NOT NULL DEFAULT 0,
    secret text NOT NULL DEFAULT '',
    kept_bytes bigint NOT NULL DEFAULT 0,
    document bigint,
    array_index bigint,
    array_jobs bigint,
    cause text,
    intent text,
    updates_lost bigint NOT NULL DEFAULT 0,
    updates_lost_of bigint NOT NULL DEFAULT 0,
    served bigint NOT NULL DEFAULT 0,
    charged bigint NOT NULL DEFAULT 0,
    n_parked bigint NOT NULL DEFAULT 0,
    parked_wall_us bigint NOT NULL DEFAULT 0,
    parked_for bigint NOT NULL DEFAULT 0,
    goes_first bigint NOT NULL DEFAULT 0,
    runs_from_wall_us bigint NOT NULL DEFAULT 0,
    ran_us bigint NOT NULL DEFAULT 0
);
CREATE TABLE process (
    job_id bigint NOT NULL REFERENCES job (id) DEFERRABLE INITIALLY DEFERRED,
    role bigint NOT NULL,
    idx bigint NOT NULL,
    incarnation bigint NOT NULL,
    state text NOT NULL,
    node text NOT NULL,
    ports text NOT NULL,
    pid bigint NOT NULL,
    exit_code bigint NOT NULL,
    exit_signal bigint NOT NULL,
    stop_wanted bigint NOT NULL,
    reason text NOT NULL,
    assigned_wall_us bigint NOT NULL,
    started_wall_us bigint NOT NULL,
    ended_wall_us bigint NOT NULL,
    cpu_used_us bigint NOT NULL,
    memory_used_bytes bigint NOT NULL,
    gpus text NOT NULL,
    start_failed bigint NOT NULL DEFAULT 0,
    frozen_us bigint NOT NULL DEFAULT 0,
    cause text,
    PRIMARY KEY (job_id, role, idx, incarnation)
);
CREATE TABLE queue (
    job_id bigint PRIMARY KEY REFERENCES job (id) DEFERRABLE INITIALLY DEFERRED,
    pass bigint NOT NULL,
    records_total bigint NOT NULL,
    records_discarded_total bigint NOT NULL,
    retries_total bigint NOT NULL,
    model_saved bigint NOT NULL,
    saver bigint NOT NULL,
    tasks_discarded_total bigint NOT NULL DEFAULT 0,
    model_path text NOT NULL DEFAULT '',
    passes bigint NOT NULL DEFAULT 0,
    records_lost_total bigint NOT NULL DEFAULT 0,
    chunks_lost_total bigint NOT NULL DEFAULT 0,
    tasks_deadly_total bigint NOT NULL DEFAULT 0,
    save_asked bigint NOT NULL DEFAULT 0
);
CREATE TABLE event (
    revision bigint PRIMARY KEY,
    time_us bigint NOT NULL,
    event text NOT NULL,
    job_id bigint,
    node text NOT NULL,
    text text NOT NULL
);
CREATE TABLE log_tail (
    job_id bigint NOT NULL REFERENCES job (id) DEFERRABLE INITIALLY DEFERRED,
    role text NOT NULL,
    idx bigint NOT NULL,
    incarnation bigint NOT NULL,
    sequence bigint NOT NULL,
    text text NOT NULL,
    times text NOT NULL DEFAULT '',
    next_offset bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id, role, idx, incarnation)
);
CREATE TABLE answer (
    sequence bigint PRIMARY KEY,
    "user" text NOT NULL,
    idempotency_key text NOT NULL,
    request_digest text NOT NULL,
    status bigint NOT NULL,
    location text NOT NULL,
    answered_wall_us bigint NOT NULL,
    etag text NOT NULL,
    bytes bigint NOT NULL,
    body text NOT NULL
);
CREATE TABLE user_group (
    name text PRIMARY KEY,
    guaranteed_permille bigint NOT NULL,
    weight bigint NOT NULL,
    created_wall_us bigint NOT NULL,
    limit_cpu_millicores bigint NOT NULL DEFAULT 0,
    limit_gpus bigint NOT NULL DEFAULT 0,
    limit_jobs bigint NOT NULL DEFAULT 0,
    limit_time_us bigint NOT NULL DEFAULT 0
);
CREATE TABLE "user" (
    name text PRIMARY KEY,
    role text NOT NULL,
    created_wall_us bigint NOT NULL,
    user_group text REFERENCES user_group (name) DEFERRABLE INITIALLY DEFERRED,
    limit_cpu_millicores bigint NOT NULL DEFAULT 0,
    limit_gpus bigint NOT NULL DEFAULT 0,
    limit_jobs bigint NOT NULL DEFAULT 0,
    limit_time_us bigint NOT NULL DEFAULT 0
);
CREATE TABLE token (
    id bigint PRIMARY KEY,
    hash text NOT NULL UNIQUE,
    "user" text NOT NULL REFERENCES "user" (name) DEFERRABLE INITIALLY DEFERRED,
    note text NOT NULL,
    created_wall_us bigint NOT NULL,
    expires_wall_us bigint NOT NULL,
    made_with bigint NOT NULL DEFAULT 0,
    is_login bigint NOT NULL DEFAULT 0,
    is_browser bigint NOT NULL DEFAULT 0
);
CREATE TABLE audit (
    id bigint PRIMARY KEY,
    wall_us bigint NOT NULL,
    "user" text NOT NULL,
    via text NOT NULL,
    method text NOT NULL,
    target text NOT NULL,
    status bigint NOT NULL,
    request_id text NOT NULL
);
CREATE TABLE join_token (
    token_hash text PRIMARY KEY,
    id text NOT NULL,
    node text NOT NULL,
    made_by text NOT NULL,
    made_wall_us bigint NOT NULL,
    expires_wall_us bigint NOT NULL,
    used_wall_us bigint NOT NULL,
    used_by text NOT NULL,
    credential_hash text NOT NULL,
    made_with bigint NOT NULL DEFAULT 0
);
CREATE TABLE epoch (
    epoch bigint PRIMARY KEY,
    began_wall_us bigint NOT NULL,
    known_until_us bigint,
    last_token bigint,
    first_job bigint
);
CREATE TABLE forgotten (
    job_id bigint PRIMARY KEY,
    whole bigint NOT NULL
);
CREATE TABLE queue_end (
    job_id bigint PRIMARY KEY REFERENCES queue (job_id) DEFERRABLE INITIALLY DEFERRED,
    todo bigint NOT NULL,
    done bigint NOT NULL,
    discarded bigint NOT NULL,
    records_done bigint NOT NULL,
    records_pass bigint NOT NULL,
    records_lost bigint NOT NULL DEFAULT 0,
    chunks_lost bigint NOT NULL DEFAULT 0
);
CREATE TABLE archived_count (
    state text PRIMARY KEY,
    jobs bigint NOT NULL
);
CREATE TABLE archived_usage (
    "user" text NOT NULL,
    kind bigint NOT NULL,
    jobs bigint NOT NULL,
    cpu_millicore_ms bigint NOT NULL,
    gpu_ms bigint NOT NULL,
    memory_mib_ms bigint NOT NULL,
    PRIMARY KEY ("user", kind)
);
CREATE TABLE rendezvous (
    job_id bigint NOT NULL REFERENCES job (id) DEFERRABLE INITIALLY DEFERRED,
    role bigint NOT NULL,
    generation bigint NOT NULL,
    members text NOT NULL,
    PRIMARY KEY (job_id, role)
);
CREATE TABLE log_bytes (
    id bigint PRIMARY KEY CHECK (id = 1),
    bytes bigint NOT NULL
);
CREATE TABLE family (
    noted bigint PRIMARY KEY,
    name text NOT NULL UNIQUE,
    begun bigint NOT NULL,
    most_s double precision NOT NULL,
    ended_s text NOT NULL,
    largest bigint NOT NULL,
    unit_s double precision NOT NULL,
    resize_s double precision NOT NULL,
    fit text NOT NULL,
    program text NOT NULL DEFAULT '',
    tries bigint NOT NULL DEFAULT 0
);
CREATE TABLE task (
    job_id bigint NOT NULL REFERENCES job (id) DEFERRABLE INITIALLY DEFERRED,
    id bigint NOT NULL,
    state bigint NOT NULL,
    lease bigint NOT NULL,
    failures bigint NOT NULL,
    holder bigint NOT NULL,
    chunks text NOT NULL,
    pass bigint NOT NULL,
    lost_records bigint NOT NULL DEFAULT 0,
    lost_chunks bigint NOT NULL DEFAULT 0,
    deaths bigint NOT NULL DEFAULT 0,
    outlived bigint NOT NULL DEFAULT 0,
    died_slot bigint NOT NULL DEFAULT 0,
    died_before bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id, id)
);
CREATE TABLE number (
    name text PRIMARY KEY,
    last bigint NOT NULL
);
CREATE TABLE archived_share (
    "user" text PRIMARY KEY,
    jobs bigint NOT NULL,
    bytes bigint NOT NULL
);
CREATE TABLE document (
    id bigint PRIMARY KEY,
    "user" text NOT NULL,
    digest text NOT NULL,
    jobs bigint NOT NULL,
    bytes bigint NOT NULL,
    text text NOT NULL
);
CREATE TABLE away (
    id bigint PRIMARY KEY CHECK (id = 1),
    us bigint NOT NULL
);
CREATE TABLE clock (
    id bigint PRIMARY KEY CHECK (id = 1),
    boot_id text NOT NULL,
    boot_us bigint NOT NULL,
    real_us bigint NOT NULL,
    elapsed_us bigint NOT NULL
);
CREATE TABLE clock_step (
    id bigint PRIMARY KEY,
    from_us bigint NOT NULL,
    ahead_us bigint NOT NULL
);
CREATE TABLE held (
    id bigint PRIMARY KEY,
    job_id bigint NOT NULL,
    role bigint NOT NULL,
    "user" text NOT NULL,
    since_us bigint NOT NULL,
    until_us bigint NOT NULL,
    processes bigint NOT NULL,
    cpu_millicores bigint NOT NULL,
    gpus bigint NOT NULL
);
CREATE TABLE held_now (
    job_id bigint NOT NULL,
    role bigint NOT NULL,
    "user" text NOT NULL,
    since_us bigint NOT NULL,
    processes bigint NOT NULL,
    cpu_millicores bigint NOT NULL,
    gpus bigint NOT NULL,
    PRIMARY KEY (job_id, role)
);
CREATE TABLE job_series (
    job_id bigint PRIMARY KEY,
    rate_of text NOT NULL,
    cost_name text NOT NULL,
    period_us bigint NOT NULL,
    points text NOT NULL
);
CREATE TABLE notice (
    id bigint PRIMARY KEY,
    channel bigint NOT NULL,
    "user" text NOT NULL,
    target text NOT NULL,
    notices text NOT NULL,
    n_notices bigint NOT NULL,
    n_more bigint NOT NULL,
    tries bigint NOT NULL,
    made_wall_us bigint NOT NULL,
    due_wall_us bigint NOT NULL
);
CREATE TABLE array_notice (
    first_id bigint PRIMARY KEY,
    n_jobs bigint NOT NULL,
    n_succeeded bigint NOT NULL,
    n_failed bigint NOT NULL,
    n_killed bigint NOT NULL,
    told bigint NOT NULL,
    first_failed bigint NOT NULL
);
CREATE UNIQUE INDEX process_live ON process (job_id, role, idx)
    WHERE state NOT IN ('exited', 'lost');
CREATE INDEX event_job ON event (job_id, revision);
CREATE INDEX token_user ON token ("user");
CREATE INDEX event_resize ON event (job_id, revision) WHERE event = 'job-resized';
CREATE INDEX user_user_group ON "user" (user_group);
CREATE INDEX job_archived ON job (archived);
CREATE INDEX archived_array ON job (array_name) WHERE archived = 1 AND array_name IS NOT NULL;
CREATE INDEX archived_end ON job (ended_wall_us) WHERE archived = 1;
CREATE INDEX log_tail_sequence ON log_tail (sequence);
CREATE INDEX answer_key ON answer ("user", idempotency_key);
CREATE INDEX answer_user ON answer ("user", sequence, bytes);
CREATE INDEX audit_user ON audit ("user", id);
CREATE INDEX archived_name ON job (name, "user") WHERE archived = 1;
CREATE INDEX archived_array_user ON job (array_name, "user") WHERE archived = 1 AND array_name IS NOT NULL;
CREATE INDEX archived_share_jobs ON archived_share (jobs);
CREATE INDEX archived_share_bytes ON archived_share (bytes);
CREATE INDEX archived_user_end ON job ("user", ended_wall_us) WHERE archived = 1;
CREATE UNIQUE INDEX document_digest ON document ("user", digest);
CREATE INDEX held_until ON held (until_us);
CREATE INDEX held_job ON held (job_id);
CREATE INDEX event_resize_revision ON event (revision) WHERE event = 'job-resized';
CREATE INDEX event_node ON event (node, revision) WHERE node <> '';

-- who leads (scheduler/store/postgresql/postgresql_lead.c): one row, which each transaction of a leader changes
CREATE TABLE leader (
    id bigint PRIMARY KEY CHECK (id = 1),
    term bigint NOT NULL,
    turn bigint NOT NULL,          -- NULL in a transaction of another term, which so fails
    name text NOT NULL,
    address text NOT NULL,
    since_wall_us bigint NOT NULL,
    authority text NOT NULL        -- of the cluster whose database this is; '' not known yet
);

-- schedulers that have a connection, and when each last said so
CREATE TABLE scheduler (
    name text PRIMARY KEY,
    address text NOT NULL,
    seen_wall_us bigint NOT NULL
);

-- archives of workspaces by their SHA-256, and their bytes (scheduler/store/store_workspaces.c); SQLite has files beside it
CREATE TABLE workspace (
    sha256 text PRIMARY KEY,
    pieces text NOT NULL,          -- of its bytes
    bytes bigint NOT NULL,
    sender text NOT NULL,
    owners text NOT NULL
);
CREATE TABLE workspace_piece (     -- 1 MiB each, the last one less; those that no archive has are of an upload
    pieces text,
    number bigint,
    bytes bytea NOT NULL,
    PRIMARY KEY (pieces, number)
);
ALTER TABLE workspace_piece ALTER COLUMN bytes SET STORAGE EXTERNAL; -- most are compressed already

INSERT INTO leader VALUES (1, 0, 0, '', '', 0, '');
INSERT INTO away (id, us) VALUES (1, 0);
INSERT INTO held VALUES (1, 0, 0, '', 0, CAST(extract(epoch FROM now()) AS bigint) * 1000000, 0, 0, 0);
INSERT INTO log_bytes VALUES (1, 0);
INSERT INTO archived_share VALUES ('*', 0, 0);
