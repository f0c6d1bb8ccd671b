-- 0035_log_end.sql - where the kept end of a log ends in its file, so that a reader who has seen less goes on there
--
-- 0: the row is of a program that did not keep it.

ALTER TABLE log_tail ADD COLUMN next_offset INTEGER NOT NULL DEFAULT 0;
