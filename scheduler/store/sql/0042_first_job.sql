-- 0042_first_job.sql - the number at which jobs go on after a restore
--
-- Jobs are numbered from it on, which people type (scheduler/core/record/epoch.h). NULL: the restore was made by an earlier
-- program, and jobs go on above epoch << 20, as events do.

ALTER TABLE epoch ADD COLUMN first_job INTEGER;
