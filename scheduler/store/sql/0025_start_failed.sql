-- 0025_start_failed.sql - whether a process ended because it could not be started: its program never ran
--
-- Nobody knows it of those that ended before. They count as failures of their programs, as they did after each restart.

ALTER TABLE process ADD COLUMN start_failed INTEGER NOT NULL DEFAULT 0;
