-- The primary key becomes another one, which the old one is a part of.
CREATE TABLE t (id int NOT NULL, tenant int NOT NULL, amount int, CONSTRAINT t_pkey PRIMARY KEY (id));
CREATE INDEX t_id ON t (id);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT i, i % 5, i FROM n;
