-- SPDX-License-Identifier: Apache-2.0
-- 0047_set_aside.sql - why a node has set itself aside: it is quarantined then
--
-- '': it has not, or an operator has set it ready since.
ALTER TABLE node ADD COLUMN set_aside TEXT NOT NULL DEFAULT '';
