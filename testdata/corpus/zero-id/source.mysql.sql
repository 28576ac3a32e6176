-- Key 0 in an AUTO_INCREMENT column: copied carelessly, it gets the next number.
SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';
CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY, amount int);
INSERT INTO t VALUES (0, 7), (-5, 8);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, i FROM n;
