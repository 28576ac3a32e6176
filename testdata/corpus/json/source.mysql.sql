-- JSON: on MySQL a type with its own order of members, on MariaDB a text with a check.
CREATE TABLE t (id int PRIMARY KEY, doc json, amount int);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, json_object('b', i, 'a', json_array(1, NULL, 'ä"\\', 1.50, true)), i FROM n;
INSERT INTO t VALUES (1000, 'null', 1), (1001, NULL, 1), (1002, '"text"', 1), (1004, '{}', 1), (1005, '12345678901234567890', 1);
