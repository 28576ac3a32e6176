-- Types of all sorts, of which some have no order and some no equality.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE TABLE t (id int PRIMARY KEY, m mood, p pair, pos positive, list int[], texts text[][], r int4range, span tstzmultirange, ip inet, net cidr, mac macaddr, b bit(5), vb bit varying(9), box box, pt point, poly polygon, x xml, ts tsvector, mon money, oid oid, ch "char", amount int);
INSERT INTO t SELECT i, 'ok', ROW(i, 'a,"b')::pair, i, ARRAY[i, NULL, 3], ARRAY[ARRAY['a', 'NULL']], int4range(i, i + 5), '{[2024-01-01,2024-02-01)}', '10.0.0.1/8', '10.0.0.0/8', '08:00:2b:01:02:03', B'10101', B'1', '(1,2),(3,4)', '(1.5,2)', '((0,0),(1,1),(2,0))', '<a b="1">x</a>', to_tsvector('simple', 'a fat cat'), '12.34', 42, 'c', i FROM generate_series(1, 300) i;
INSERT INTO t (id) VALUES (1000);
