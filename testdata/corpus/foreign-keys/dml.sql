UPDATE customer SET id = id + 1000 WHERE id = 1 + :round % 50;

INSERT INTO customer VALUES (2000 + :round);
INSERT INTO t VALUES (2000 + :round, 'new' || :round, 2000 + :round, 2000 + :round, 0);
INSERT INTO line VALUES (2000 + :round, 2000 + :round, 'new' || :round);

DELETE FROM customer WHERE id = 2000 + :round - 2 AND :round % 2 = 0 AND NOT EXISTS (SELECT 1 FROM line WHERE code = 'new' || (:round - 2));

UPDATE t SET code = code || 'x' WHERE id = 1 + :round % 200;
