-- Defaults that are expressions, and columns that the server keeps up to date by itself: a copy must not.
CREATE TABLE t (id int PRIMARY KEY, amount int DEFAULT (1 + 2), note varchar(60) DEFAULT (concat('a', 'b''c')), made timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), changed datetime(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6));
INSERT INTO t (id, made, changed) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, concat('2020-01-01 00:00:00.', i), NULL FROM n;
