-- The counter is ahead of the rows: numbers that were given once are not given again.
CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY, amount int) AUTO_INCREMENT = 50;
INSERT INTO t (amount) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i FROM n;
ALTER TABLE t AUTO_INCREMENT = 5000;
