-- 0038_clock.sql - elapsed time at one moment, from which the next run counts on (shared/elapsed_clock.h)
--
-- All times of other tables are elapsed time. The first run after this file takes the wall clock for it, as every run
-- before it did. clock_step says since when the wall clock shows something else, for people who read.

CREATE TABLE clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    boot_id TEXT NOT NULL,
    boot_us INTEGER NOT NULL,
    real_us INTEGER NOT NULL,
    elapsed_us INTEGER NOT NULL
) STRICT;

CREATE TABLE clock_step (
    id INTEGER PRIMARY KEY,
    from_us INTEGER NOT NULL,
    ahead_us INTEGER NOT NULL
) STRICT;
