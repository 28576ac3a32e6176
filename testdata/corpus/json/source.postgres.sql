-- JSON as a text, which has no equality, and as a document.
CREATE TABLE t (id int PRIMARY KEY, doc json, bin jsonb, amount int);
INSERT INTO t SELECT i, '{"b" : 1,  "a": [1, null, 1.50], "a": 2}', jsonb_build_object('b', i, 'a', ARRAY[1.50, 2]), i FROM generate_series(1, 300) i;
INSERT INTO t VALUES (1000, 'null', 'null', 1), (1001, NULL, NULL, 1), (1002, '"text"', '"text"', 1), (1003, '1e400', '1.10', 1);
