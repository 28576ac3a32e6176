-- Texts that are numbers become numbers.
CREATE TABLE t (id int PRIMARY KEY, code varchar(20) NOT NULL);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, concat('', i * 7) FROM n;
