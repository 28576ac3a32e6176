-- A foreign key of the table.
CREATE TABLE customer (id int PRIMARY KEY);
CREATE TABLE t (id int PRIMARY KEY, customer int, amount int, CONSTRAINT t_customer FOREIGN KEY (customer) REFERENCES customer (id) ON DELETE CASCADE);
INSERT INTO customer VALUES (1), (2);
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) SELECT i, 1 + i % 2, i FROM n;
