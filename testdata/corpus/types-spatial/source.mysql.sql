-- Types of space, bits and texts of all sorts, with their indexes.
CREATE TABLE t (id int PRIMARY KEY, pt point NOT NULL, b bit(13), ti tinytext, mb mediumblob, en enum('a', 'b', ''), amount int, SPATIAL KEY t_pt (pt), FULLTEXT KEY t_ti (ti), KEY t_mb (mb(7)), KEY t_two (en, amount DESC));
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, point(i, -i), i * 3, concat('word', i), repeat('x', i), 1 + i % 3, i FROM n;
