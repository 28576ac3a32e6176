-- No row when it begins, and some soon.
CREATE TABLE t (id int PRIMARY KEY, name varchar(40), amount int);
