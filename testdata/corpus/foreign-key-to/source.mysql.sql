-- A foreign key to the table.
CREATE TABLE t (id int PRIMARY KEY, amount int);
CREATE TABLE line (id int PRIMARY KEY, t int, CONSTRAINT line_t FOREIGN KEY (t) REFERENCES t (id));
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) SELECT i, i FROM n;
