-- Names with spaces, quotes, percent signs, other letters, and words of SQL.
CREATE TABLE `select` (`primary key` int, `a"b'c` int, `ä ö %s` varchar(30), `日本 ``x``` int, PRIMARY KEY (`primary key`), UNIQUE KEY `uni que 'q'` (`ä ö %s`), KEY `key` (`a"b'c`, `日本 ``x```));
INSERT INTO `select` WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, i % 7, concat('%d ''', i), i FROM n;
