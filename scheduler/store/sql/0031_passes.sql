-- 0031_passes.sql - how often a job goes through its data, where the data set says it and not the document

ALTER TABLE queue ADD COLUMN passes INTEGER NOT NULL DEFAULT 0; -- 0: as the document says
