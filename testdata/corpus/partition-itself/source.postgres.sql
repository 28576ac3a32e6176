-- Nor is one of its parts.
CREATE TABLE whole (id int NOT NULL PRIMARY KEY, amount int) PARTITION BY RANGE (id);
CREATE TABLE t PARTITION OF whole DEFAULT;
INSERT INTO whole SELECT i, i FROM generate_series(1, 30) i;
