-- MySQL gives them names, and there is no way to give them theirs without copying the table.
ALTER TABLE t ADD COLUMN region varchar(16), DROP CHECK named, DROP CHECK t_chk_1, ADD CONSTRAINT t_chk_1 CHECK (char_length(name) > 1), ADD CONSTRAINT t_chk_2 CHECK (amount > -5);
