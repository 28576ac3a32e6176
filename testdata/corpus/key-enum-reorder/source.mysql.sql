-- Members of an enum in the key change places: the rows between the same two keys are others then.
CREATE TABLE t (state enum('new', 'paid', 'sent') NOT NULL, id int NOT NULL, amount int, PRIMARY KEY (state, id));
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT 1 + i % 3, i, i FROM n;
