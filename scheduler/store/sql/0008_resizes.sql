-- 0008_resizes.sql - a job's changes of size are found among all its events
--
-- A job that runs for months has many thousands of events of its processes between them.

CREATE INDEX event_resize ON event (job_id, revision) WHERE event = 'job-resized';
