-- One row.
CREATE TABLE t (id int PRIMARY KEY, name varchar(40), amount int);
INSERT INTO t VALUES (1, 'a', 1);
