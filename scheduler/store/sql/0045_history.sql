-- 0045_history.sql - who held what over time, and how far jobs were
--
-- A row of held is a span in which a role of a job held so many processes: from the grant of one until it was seen gone.
-- held_now has the spans that go on. Amounts are those of all these processes. Rows of held are in the order of their ends,
-- and the first go as new ones come: they stay when their job is deleted.

CREATE TABLE held (
    id             INTEGER PRIMARY KEY,
    job_id         INTEGER NOT NULL,
    role           INTEGER NOT NULL, -- position in the job's roles
    user           TEXT NOT NULL,
    since_us       INTEGER NOT NULL,
    until_us       INTEGER NOT NULL,
    processes      INTEGER NOT NULL,
    cpu_millicores INTEGER NOT NULL,
    gpus           INTEGER NOT NULL
) STRICT;

-- Of the first row that is left only its end counts: since then none is missing.
INSERT INTO held VALUES (1, 0, 0, '', 0, CAST(strftime('%s', 'now') AS INTEGER) * 1000000, 0, 0, 0);

CREATE INDEX held_until ON held (until_us);
CREATE INDEX held_job ON held (job_id);

CREATE TABLE held_now (
    job_id         INTEGER NOT NULL,
    role           INTEGER NOT NULL,
    user           TEXT NOT NULL,
    since_us       INTEGER NOT NULL,
    processes      INTEGER NOT NULL,
    cpu_millicores INTEGER NOT NULL,
    gpus           INTEGER NOT NULL,
    PRIMARY KEY (job_id, role)
) STRICT, WITHOUT ROWID;

-- Resizes of all jobs, in their order.
CREATE INDEX event_resize_revision ON event (revision) WHERE event = 'job-resized';

-- Points of a job's progress, a bounded number (scheduler/history/series.h).
CREATE TABLE job_series (
    job_id    INTEGER PRIMARY KEY,
    rate_of   TEXT NOT NULL,    -- what is counted a second: "records", "samples", "step"; '' nothing
    cost_name TEXT NOT NULL,    -- "cost" or "loss"; '' none
    period_us INTEGER NOT NULL, -- between two points
    points    TEXT NOT NULL     -- JSON: [time_us, done or null, rate or null, cost or null] of each
) STRICT;
