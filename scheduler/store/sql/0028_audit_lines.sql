-- 0028_audit_lines.sql - lines of the audit log are counted once a turn for each user, by the program
--
-- The trigger took two thirds of what a line costs. Lines that go are few, and are still counted by audit_gone.
DROP TRIGGER audit_added;
