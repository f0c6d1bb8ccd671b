-- 0033_cause.sql - why a process ended or was stopped, why a job is as it is, and how a stopping job is to end
--
-- Words of scheduler/core/model/cause.c. NULL: the row is of a program that kept sentences alone, which cause_text.c reads.

ALTER TABLE process ADD COLUMN cause TEXT;
ALTER TABLE job ADD COLUMN cause TEXT;
ALTER TABLE job ADD COLUMN intent TEXT;
