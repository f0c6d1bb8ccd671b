-- 0013_answer_etag.sql - an answer that is given again has the ETag of the first time
--
-- It is of the thing as the request left it: if somebody changed that since, an If-Match with it is refused.

ALTER TABLE answer ADD COLUMN etag TEXT NOT NULL DEFAULT ''; -- the header, quotes included; '' for none
