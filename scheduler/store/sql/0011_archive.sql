-- 0011_archive.sql - jobs that are over and that the core has let go of
--
-- The core holds what is not over, and for a moment what just ended; the rest is here alone. It is found by number,
-- name, array and end, each through an index: neither a start nor a request costs more the longer the history is.

ALTER TABLE job ADD COLUMN archived INTEGER NOT NULL DEFAULT 0; -- 0: the core has it; 1: only here; 2: being deleted
ALTER TABLE job ADD COLUMN array_name TEXT;                     -- of the array that it is one of; NULL: of none

UPDATE job SET array_name = json_extract(spec, '$.array.name')
    WHERE json_extract(spec, '$.array.name') IS NOT NULL;

-- What an earlier program let go of is being deleted; what is over is archived, unless something of it is to be done.
UPDATE job SET archived = CASE WHEN id IN (SELECT job_id FROM forgotten WHERE whole) THEN 2 ELSE 1 END
    WHERE state IN ('succeeded', 'failed', 'killed')
    AND (id IN (SELECT job_id FROM forgotten WHERE whole)
         OR (id < (SELECT max(id) FROM job)
             AND id NOT IN (SELECT job_id FROM process WHERE state NOT IN ('exited', 'lost'))
             AND id NOT IN (SELECT job_id FROM queue WHERE job_id NOT IN (SELECT job_id FROM queue_end))));

CREATE INDEX job_archived ON job (archived);
CREATE INDEX archived_name ON job (name) WHERE archived = 1;
CREATE INDEX archived_array ON job (array_name) WHERE archived = 1 AND array_name IS NOT NULL;
CREATE INDEX archived_end ON job (ended_wall_us) WHERE archived = 1;

-- How many there are.
CREATE TABLE archived_count (
    state TEXT PRIMARY KEY,
    jobs  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO archived_count (state, jobs) SELECT state, count(*) FROM job WHERE archived = 1 GROUP BY state;

-- What they were granted, by user. It stays when they are deleted: accounts are for longer than jobs are kept.
CREATE TABLE archived_usage (
    user             TEXT NOT NULL,
    kind             INTEGER NOT NULL, -- 0 useful, 1 resize, 2 idle, 3 wasted
    jobs             INTEGER NOT NULL, -- the same for each kind
    cpu_millicore_ms INTEGER NOT NULL,
    gpu_ms           INTEGER NOT NULL,
    memory_mib_ms    INTEGER NOT NULL,
    PRIMARY KEY (user, kind)
) STRICT, WITHOUT ROWID;

INSERT INTO archived_usage (user, kind, jobs, cpu_millicore_ms, gpu_ms, memory_mib_ms)
    SELECT user, kind.value, count(*),
        sum(ifnull(json_extract(usage, '$[' || kind.value || '][0]'), 0)),
        sum(ifnull(json_extract(usage, '$[' || kind.value || '][1]'), 0)),
        sum(ifnull(json_extract(usage, '$[' || kind.value || '][2]'), 0))
    FROM job JOIN json_each('[0,1,2,3]') AS kind WHERE archived = 1 GROUP BY user, kind.value;
