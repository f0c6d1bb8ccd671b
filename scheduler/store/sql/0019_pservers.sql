-- 0019_pservers.sql - how many parameter servers a job was given, and what families show with how many
--
-- The number that was chosen stands in the document, as both bounds (scheduler/core/model/job_servers.c); what its owner had written is kept
-- beside it. Families that are of one number of servers are rows like others, by names of their own.

ALTER TABLE job ADD COLUMN servers_min INTEGER NOT NULL DEFAULT 0;  -- 0: nothing was chosen
ALTER TABLE job ADD COLUMN servers_max INTEGER NOT NULL DEFAULT 0;
ALTER TABLE family ADD COLUMN program TEXT NOT NULL DEFAULT '';     -- 16 hex digits: of whom the seconds are; '': nobody
ALTER TABLE family ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;     -- starts of it, or in a family itself of others
