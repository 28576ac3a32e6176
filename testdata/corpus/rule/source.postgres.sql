-- A rule on the table: a copy cannot take it over, so it is refused by its name.
CREATE TABLE t (id int PRIMARY KEY, name varchar(40) NOT NULL, amount int);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT i, concat('name ', i), i * 10 FROM n;
CREATE RULE nothing AS ON DELETE TO t WHERE OLD.id = -1 DO INSTEAD NOTHING;
