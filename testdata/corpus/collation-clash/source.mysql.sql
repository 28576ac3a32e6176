-- A coarser collation: values that were different are the same.
CREATE TABLE t (id int PRIMARY KEY, name varchar(40) NOT NULL, UNIQUE KEY (name)) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, concat('name ', i) FROM n;
INSERT INTO t VALUES (1001, 'Müller'), (1002, 'muller');
