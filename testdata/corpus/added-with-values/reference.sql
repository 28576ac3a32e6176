ALTER TABLE t ADD COLUMN cents bigint;
UPDATE t SET cents = amount * 100;
