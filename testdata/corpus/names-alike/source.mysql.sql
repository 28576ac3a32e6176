-- Two long names that are the same when they are cut.
CREATE TABLE ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt1 (id int PRIMARY KEY, amount int);
CREATE TABLE ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt2 (id int PRIMARY KEY, amount int);
INSERT INTO ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt1 WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, i FROM n;
