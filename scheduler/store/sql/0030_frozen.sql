-- 0030_frozen.sql - for how long a process has stood still, because its node was cut off

ALTER TABLE process ADD COLUMN frozen_us INTEGER NOT NULL DEFAULT 0;
