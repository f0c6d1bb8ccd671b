-- 0006_epoch.sql - when the history was begun anew from a backup
--
-- Whatever was numbered after the backup was made is forgotten, and must not be numbered so again. From the start of an
-- epoch on, numbers of jobs, incarnations, events and tokens are above epoch << 20 (store_internal.h).

CREATE TABLE epoch (
    epoch         INTEGER PRIMARY KEY, -- rises: the seconds of the wall clock, or one more than the one before
    began_wall_us INTEGER NOT NULL
) STRICT;
