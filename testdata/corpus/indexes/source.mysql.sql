-- Indexes of all sorts, and one that the ALTER adds, drops and renames.
CREATE TABLE t (id int PRIMARY KEY, name varchar(60), amount int, total int, KEY t_name (name(5)), KEY t_down (amount DESC, total), UNIQUE KEY t_two (total, id) COMMENT 'two''s', KEY gone (total));
INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, concat('n', i), i, i FROM n;
