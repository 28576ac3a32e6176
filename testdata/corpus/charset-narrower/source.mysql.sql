-- A character that the new character set does not have.
CREATE TABLE t (id int PRIMARY KEY, name varchar(40) NOT NULL) DEFAULT CHARSET = utf8mb4;
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, concat('ä', i) FROM n;
UPDATE t SET name = '日本' WHERE id = 123;
