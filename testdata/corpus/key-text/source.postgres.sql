-- Text keys: what ends with spaces is another one, and so is what is written in capitals.
CREATE TABLE t (name varchar(40) PRIMARY KEY, amount int);
INSERT INTO t SELECT concat(CASE WHEN i % 2 = 0 THEN 'ÄpfeL ' ELSE 'apfel x' END, i, CASE WHEN i % 3 = 0 THEN '  ' END), i FROM generate_series(1, 300) i;
INSERT INTO t VALUES ('', 0), (' lead', 0), ('quote''d', 0), ('back\slash', 0), ('a', 1), ('a ', 2), ('A', 3);
