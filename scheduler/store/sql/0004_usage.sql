-- 0004_usage.sql - what jobs were granted and what came of it

-- JSON: for useful, resize, idle and wasted each [millicore-ms, GPU-ms, MiB-ms]
ALTER TABLE job ADD COLUMN usage TEXT NOT NULL DEFAULT '[]';
