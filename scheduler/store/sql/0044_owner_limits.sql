-- SPDX-License-Identifier: Apache-2.0
-- 0044_owner_limits.sql - how much the jobs of a user, or of a group, may hold and be
--
-- 0: no limit.
ALTER TABLE user ADD COLUMN limit_cpu_millicores INTEGER NOT NULL DEFAULT 0;
ALTER TABLE user ADD COLUMN limit_gpus INTEGER NOT NULL DEFAULT 0;
ALTER TABLE user ADD COLUMN limit_jobs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE user ADD COLUMN limit_time_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE user_group ADD COLUMN limit_cpu_millicores INTEGER NOT NULL DEFAULT 0;
ALTER TABLE user_group ADD COLUMN limit_gpus INTEGER NOT NULL DEFAULT 0;
ALTER TABLE user_group ADD COLUMN limit_jobs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE user_group ADD COLUMN limit_time_us INTEGER NOT NULL DEFAULT 0;
