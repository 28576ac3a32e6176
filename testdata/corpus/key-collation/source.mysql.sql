-- The key is compared and ordered in another way by the new form: what lies between the same two keys is something else there, and keys that differ in capitals are in each other's way.
CREATE TABLE t (name varchar(40) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL, no int NOT NULL, amount int, PRIMARY KEY (name, no));
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT concat(CASE i % 4 WHEN 0 THEN 'Name' WHEN 1 THEN 'name' WHEN 2 THEN '_name' ELSE 'Öname' END, i), i % 3, i FROM n;
