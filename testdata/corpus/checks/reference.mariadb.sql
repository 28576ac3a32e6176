ALTER TABLE t ADD COLUMN region varchar(16);
