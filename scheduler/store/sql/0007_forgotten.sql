-- 0007_forgotten.sql - jobs that were let go of and whose rows are still being deleted
--
-- A job may have hundreds of thousands of tasks. Forgetting it is one row here; what it leaves goes in small steps with
-- the turns that follow. Nothing of a job that is listed here is loaded.

CREATE TABLE forgotten (
    job_id INTEGER PRIMARY KEY
) STRICT;
