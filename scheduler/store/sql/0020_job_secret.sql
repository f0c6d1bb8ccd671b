-- 0020_job_secret.sql - the secret of a job, which its processes prove to each other
--
-- 64 hex digits (shared/job_secret.h). '': a job that is over, or one of before this schema, which gets its secret when a process asks.

ALTER TABLE job ADD COLUMN secret TEXT NOT NULL DEFAULT '';
