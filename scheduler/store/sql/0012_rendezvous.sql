-- 0012_rendezvous.sql - who of a role is together
--
-- A number that was given is never given again, and a restart changes nothing for those that are together. Who waits for
-- the next generation is not kept: after a restart they call again.

CREATE TABLE rendezvous (
    job_id     INTEGER NOT NULL REFERENCES job (id) DEFERRABLE INITIALLY DEFERRED,
    role       INTEGER NOT NULL,
    generation INTEGER NOT NULL, -- the newest
    members    TEXT NOT NULL,    -- JSON: [[index, incarnation], ...] by rank
    PRIMARY KEY (job_id, role)
) STRICT, WITHOUT ROWID;
