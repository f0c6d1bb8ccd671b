-- 0037_save_asked.sql - whether a program of the job has asked which of its processes saves the model
--
-- Before, each job with a data set owed a model: of those nobody has asked.

ALTER TABLE queue ADD COLUMN save_asked INTEGER NOT NULL DEFAULT 0;
UPDATE queue SET save_asked = 1 WHERE saver <> 0 AND model_saved = 0;
