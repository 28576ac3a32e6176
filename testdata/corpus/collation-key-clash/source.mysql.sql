-- The same of the key itself.
CREATE TABLE t (name varchar(40) PRIMARY KEY, amount int) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT concat('name ', i), i FROM n;
INSERT INTO t VALUES ('Abc', 1), ('abC', 2);
