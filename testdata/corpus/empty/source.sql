-- No row: a check that has compared nothing is none, and still it has to come to an end.
CREATE TABLE t (id int PRIMARY KEY, name varchar(40), amount int);
