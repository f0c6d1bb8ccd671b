-- 0010_epoch_gap.sql - what a database that was restored from a backup cannot know
--
-- Between the backup and the restore things were made and taken away that this history knows nothing of: that one of them
-- is missing here does not say that it was taken away (scheduler/store/store_revoke.c). NULL: not known, taken for none.

ALTER TABLE epoch ADD COLUMN known_until_us INTEGER; -- the newest moment that the backup knew
ALTER TABLE epoch ADD COLUMN last_token INTEGER;     -- the highest id of a token that it had given
