-- latin1 to utf8mb4: other bytes, the same characters.
CREATE TABLE t (id int PRIMARY KEY, name varchar(40) NOT NULL, note text, UNIQUE KEY (name)) DEFAULT CHARSET = latin1;
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, concat('ä€ß', i), repeat('ÿ', i) FROM n;
