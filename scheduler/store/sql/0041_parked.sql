-- SPDX-License-Identifier: Apache-2.0
-- 0041_parked.sql - jobs that went back to the queue so that another one started
--
-- How often each did, when it did last, and for which job; 0: it never did. parked_for is 0 again
-- once it has started. goes_first: 1 while a job waits for room that others give up for it.
ALTER TABLE job ADD COLUMN n_parked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN parked_wall_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN parked_for INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN goes_first INTEGER NOT NULL DEFAULT 0;
