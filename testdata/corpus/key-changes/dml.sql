UPDATE t SET id = -id WHERE abs(id) = 7;

UPDATE t SET id = 100000 + id WHERE id = 200;
UPDATE t SET id = id - 100000 WHERE id = 100200;

-- two rows exchange their keys, far from each other
UPDATE t SET id = 200001 WHERE id = 10;
UPDATE t SET id = 10 WHERE id = 390;
UPDATE t SET id = 390 WHERE id = 200001;

-- a row goes, and another one comes under its key
DELETE FROM t WHERE id = 55;
INSERT INTO t (id, name, amount) VALUES (55, 'again :round', :round);

-- it moves to where the copy may have been or not
UPDATE t SET id = 3000 - id WHERE id IN (150, 2850);
