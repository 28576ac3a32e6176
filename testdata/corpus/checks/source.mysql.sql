-- Checks: their names are the database's, so a copy cannot have the same ones.
CREATE TABLE t (id int PRIMARY KEY, amount int CHECK (amount > -5), name varchar(20), CONSTRAINT named CHECK (char_length(name) > 1));
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, i, concat('n', i) FROM n;
