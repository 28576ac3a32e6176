-- Text keys of a collation that does not tell a from A, nor an end with spaces from one without.
CREATE TABLE t (name varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci PRIMARY KEY, amount int);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT concat(if(i % 2 = 0, 'ÄpfeL ', 'apfel x'), i, if(i % 3 = 0, '  ', '')), i FROM n;
INSERT INTO t VALUES ('', 0), (' lead', 0), ('quote''d', 0), ('back\\slash', 0);
