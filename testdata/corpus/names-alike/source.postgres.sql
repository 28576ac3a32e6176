-- Two long names that are the same when they are cut.
CREATE TABLE tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt1 (id int PRIMARY KEY, amount int);
CREATE TABLE tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt2 (id int PRIMARY KEY, amount int);
INSERT INTO tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt1 SELECT i, i FROM generate_series(1, 300) i;
