-- 0017_family.sql - what is learnt of families of jobs, for policies that learn
--
-- A family is a user and a digest of programs, workspace and resources. Whatever is written anew is the newest row; the oldest
-- go. Nothing is lost without them but time: it is learnt again.

CREATE TABLE family (
    noted    INTEGER PRIMARY KEY,  -- rises
    name     TEXT    NOT NULL UNIQUE,
    begun    INTEGER NOT NULL,     -- jobs
    most_s   REAL    NOT NULL,     -- work that any of them has done, in seconds on one instance
    ended_s  TEXT    NOT NULL,     -- JSON array: of those that have ended, ascending
    largest  INTEGER NOT NULL,     -- instances that were measured; 0: nothing was
    unit_s   REAL    NOT NULL,     -- seconds of one instance for one unit of work, of the job measured last
    resize_s REAL    NOT NULL,     -- that a change of size costs, of the same
    fit      TEXT    NOT NULL      -- JSON array: the matrix and the vector of the fitted speeds
) STRICT;
