-- 0036_recovered.sql - updates that parameter servers lacked when they came back, of so many there had been
--
-- Of each server and each time. Before, nobody counted them.

ALTER TABLE job ADD COLUMN updates_lost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN updates_lost_of INTEGER NOT NULL DEFAULT 0;
