SET time_zone = '+00:00', sql_mode = 'NO_ENGINE_SUBSTITUTION', foreign_key_checks = 0;

CREATE TABLE numbers (
  id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'the "number"',
  t tinyint, tu tinyint unsigned, s smallint, su smallint unsigned, m mediumint, mu mediumint unsigned,
  i int DEFAULT -3, iu int unsigned, b bigint, bu bigint unsigned, z int(8) zerofill DEFAULT 7,
  d decimal(65,30) DEFAULT 1.5, d2 decimal(10,2), f float DEFAULT 1.5, f2 float(7,2), r double DEFAULT 1e100, r2 double(10,3),
  b1 bit(1) DEFAULT b'1', b12 bit(12) DEFAULT b'101', b64 bit(64), y year DEFAULT 2020, flag tinyint(1) NOT NULL DEFAULT 1,
  doubled int AS (i * 2) STORED, virt int AS (i + 1) VIRTUAL,
  CONSTRAINT small CHECK (i < 2147483648 AND (d2 IS NULL OR d2 BETWEEN -99999999.99 AND 99999999.99) AND NOT t = 100),
  KEY by_s (s DESC, m), UNIQUE KEY bu (bu)
) COMMENT = 'numbers of ''every'' kind' AUTO_INCREMENT = 100;
INSERT INTO numbers (id, t, tu, s, su, m, mu, i, iu, b, bu, z, d, d2, f, f2, r, r2, b1, b12, b64, y) VALUES
  (1, -128, 0, -32768, 0, -8388608, 0, -1073741824, 0, -9223372036854775808, 0, 0, -99999999999999999999999999999999999.999999999999999999999999999999, -99999999.99, -3.4028235e38, -99999.99, -1.7976931348623157e308, -9999999.999, b'0', 0, 0, 0),
  (2, 127, 255, 32767, 65535, 8388607, 16777215, 1073741823, 4294967295, 9223372036854775807, 18446744073709551615, 99999999, 99999999999999999999999999999999999.999999999999999999999999999999, 99999999.99, 3.4028235e38, 99999.99, 1.7976931348623157e308, 9999999.999, b'1', 0xfff, 0xffffffffffffffff, 2155),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (4, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 42, 0, -0.00, 0.1, 0.1, 0.1, 0.1, b'0', 0xabc, 0x8000000000000001, 1901),
  (5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 0.000000000000000000000000000001, 0.01, 1e-45, 12345.67, 5e-324, 1234567.891, b'1', 1, 1, 2024),
  (6, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 1, 100, 100, 16777217, 1, 123456789012345678, 1, b'1', 1, 1, 1999),
  (7, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 1, -1.10, 1.10, -1e0 * 0, 1, -1e0 * 0, 1, b'1', 1, 1, 1999),
  (8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 1, -1.10, 1.10, 1.17549435e-38, 1, 2.2250738585072014e-308, 1, b'1', 1, 1, 1999),
  (9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6, 1, -1.10, 1.10, 0.3, 1, 0.1 + 0.2e0, 1, b'1', 1, 1, 1999);

CREATE TABLE times (
  id int NOT NULL PRIMARY KEY, d date DEFAULT '2024-02-29', dt datetime DEFAULT '2020-01-01 10:00:00', dt6 datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
  ts timestamp NULL DEFAULT '2020-01-01 00:00:00', ts3 timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), t time DEFAULT '-10:11:12', t6 time(6), never date DEFAULT '0000-00-00'
);
INSERT INTO times VALUES
  (1, '1000-01-01', '1000-01-01 00:00:00', '1000-01-01 00:00:00.000001', '1970-01-01 00:00:01', '1970-01-01 00:00:01.001', '-838:59:59', '-838:59:59.000000', '2000-02-29'),
  (2, '9999-12-31', '9999-12-31 23:59:59', '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07', '2038-01-19 03:14:07.999', '838:59:59', '838:59:58.999999', NULL),
  (3, '0009-06-05', '0099-01-01 01:02:03', '0001-01-01 00:00:00.500000', NULL, '2024-03-31 01:30:00.120', '00:00:00', '-00:00:00.500000', NULL),
  (4, NULL, NULL, '2024-10-27 02:30:00.100000', '2024-10-27 01:30:00', '2024-10-27 00:30:00.000', '24:00:00', '00:00:00.000010', NULL);

CREATE TABLE words (
  id int NOT NULL PRIMARY KEY, c char(10) DEFAULT 'a', v varchar(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'it''s \\ NULL', l varchar(50) CHARACTER SET latin1, t3 text CHARACTER SET utf8mb3, tt tinytext, mt mediumtext, lt longtext,
  u varchar(40) DEFAULT (uuid()), KEY by_lt (lt(20), id), UNIQUE KEY v (v(50)), FULLTEXT KEY ft (lt)
) DEFAULT CHARSET = utf8mb4;
INSERT INTO words VALUES
  (1, 'a  ', 'b  ', 'café €', '日本', '', 'x', 'tab\there\nline\r\\back\\N', NULL),
  (2, '', '', '', '', '\\.', '\b\Z\v', '中文字符 😀 e\u0301', 'x'),
  (3, NULL, 'NULL', NULL, NULL, NULL, '\\N', NULL, 'x'),
  (4, 'ß', repeat('漢', 300), repeat('é', 50), repeat('字', 5000), repeat('x', 255), repeat('\t', 3000), repeat('\\', 100000), 'x'),
  (5, '"q"', '{a,b}', '''', '%', '\0x', 'x', 'x', 'x');
DELETE FROM words WHERE id = 5; -- its NUL is for another test

CREATE TABLE bytes (
  id int NOT NULL PRIMARY KEY, b binary(4) DEFAULT 'x', v varbinary(300) DEFAULT 'a\0b', tb tinyblob, bl blob, mb mediumblob, lb longblob, UNIQUE KEY bl (bl(8))
);
INSERT INTO bytes (id, b, v, tb, bl, lb) VALUES (1, 'ab', '', '', 'a\0', NULL), (2, 0x00000000, 0x00, 0xff, 0x5c78, repeat(0x00, 70000)), (3, 0xffffffff, 0x0a0d095c, '\\N', '\\.', repeat(0xfe, 1000)), (4, NULL, NULL, NULL, NULL, NULL);

CREATE TABLE choices (
  id int NOT NULL PRIMARY KEY, e enum('small','it''s','ü, comma','\\back') NOT NULL DEFAULT 'it''s', s set('a','b c','"q"','\\','NULL','{x}') DEFAULT 'a,b c'
) DEFAULT CHARSET = utf8mb4;
INSERT INTO choices VALUES (1, 'small', 'a'), (2, 'it''s', ''), (3, 'ü, comma', 'a,b c,"q",\\,NULL,{x}'), (4, '\\back', NULL), (5, 'no such', 'NULL');

CREATE TABLE documents (id int NOT NULL PRIMARY KEY, j json, d json DEFAULT ('{"a": 1}'));
INSERT INTO documents (id, j) VALUES (1, '{"bb": 1, "a": [1, 2.50, -0.0, 1e2, true, null, "x"], "": {}}'), (2, 'null'), (3, '"日本 \\u0001 \\"q\\" \\\\ \\t 😀"'), (4, '[]'), (5, '12345678901234567890'), (6, NULL), (7, '{"k": {"z": 1, "y": {"x": [[], [{}]]}}}'), (8, '1.7976931348623157e308');

CREATE TABLE parents (a int NOT NULL, b varchar(20) NOT NULL, self int, PRIMARY KEY (a, b), KEY self (self), UNIQUE KEY a (a), CONSTRAINT self FOREIGN KEY (self) REFERENCES parents (a) ON DELETE SET NULL);
INSERT INTO parents VALUES (1, 'x', NULL), (2, 'y', 1);
CREATE TABLE children (id bigint NOT NULL, pa int, pb varchar(20), KEY p (pa, pb), CONSTRAINT p FOREIGN KEY (pa, pb) REFERENCES parents (a, b) ON DELETE CASCADE ON UPDATE CASCADE);
INSERT INTO children VALUES (1, 1, 'x'), (1, 1, 'x'), (1, 1, 'x'), (2, NULL, 'z'), (3, 2, 'y');
