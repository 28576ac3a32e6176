CREATE TABLE addresses (id int NOT NULL PRIMARY KEY, u uuid DEFAULT uuid(), a4 inet4, a6 inet6 DEFAULT '::1');
INSERT INTO addresses VALUES (1, '123E4567-E89B-12D3-A456-426614174000', '1.2.3.4', '::ffff:1.2.3.4'), (2, NULL, '255.255.255.255', '::1.2.3.4'), (3, '00000000-0000-0000-0000-000000000000', '0.0.0.0', '::'), (4, 'ffffffff-ffff-ffff-ffff-ffffffffffff', NULL, '1:0:0:2::'), (5, NULL, NULL, '2001:db8:0:1:0:0:0:1');
CREATE TABLE loose (id int NOT NULL PRIMARY KEY, j json);
INSERT INTO loose VALUES (1, ' { "b" : 1.0 , "a":1, "a":2, "n": 1E+400, "m": 0.10 } '), (2, '"\\ud83d\\ude00 \\/"');
CREATE TABLE hashed (id int NOT NULL PRIMARY KEY, t text, UNIQUE KEY t (t) USING HASH);
INSERT INTO hashed VALUES (1, 'x'), (2, NULL);
