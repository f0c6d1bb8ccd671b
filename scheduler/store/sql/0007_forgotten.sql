-- 0007_forgotten.sql - what is over: rows that are still being deleted, and what is left of task queues
--
-- A job may have hundreds of thousands of tasks. To let go of them, or of a whole job, is one row here; what that leaves
-- goes in small steps with the turns that follow.

CREATE TABLE forgotten (
    job_id INTEGER PRIMARY KEY,
    whole  INTEGER NOT NULL     -- 1: nothing of the job is loaded; 0: its tasks only are not
) STRICT;

-- The task queue of a job that is over: what its tasks were. It has no tasks any more.
CREATE TABLE queue_end (
    job_id       INTEGER PRIMARY KEY REFERENCES queue (job_id) DEFERRABLE INITIALLY DEFERRED,
    todo         INTEGER NOT NULL,
    done         INTEGER NOT NULL,
    discarded    INTEGER NOT NULL,
    records_done INTEGER NOT NULL, -- in its last pass
    records_pass INTEGER NOT NULL
) STRICT;

-- When the pieces of a tail were written: [[bytes, microseconds since 1970], ...]; '' when that is not known.
ALTER TABLE log_tail ADD COLUMN times TEXT NOT NULL DEFAULT '';
