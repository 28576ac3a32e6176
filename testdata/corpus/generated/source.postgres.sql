-- Generated columns, which no copy may write; one of them is indexed.
CREATE TABLE t (id int PRIMARY KEY, price int NOT NULL, twice int GENERATED ALWAYS AS (price * 2) STORED, amount int);
CREATE INDEX t_twice ON t (twice);
INSERT INTO t (id, price, amount) SELECT i, i * 3, i FROM generate_series(1, 300) i;
