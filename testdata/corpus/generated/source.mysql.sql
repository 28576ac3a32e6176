-- Generated columns, stored and virtual, which no copy may write; one of them is indexed.
CREATE TABLE t (id int PRIMARY KEY, price int NOT NULL, twice int GENERATED ALWAYS AS (price * 2) STORED, half decimal(10,2) GENERATED ALWAYS AS (price / 2) VIRTUAL, amount int, KEY t_twice (twice), KEY t_half (half));
INSERT INTO t (id, price, amount) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, i * 3, i FROM n;
