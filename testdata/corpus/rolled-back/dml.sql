UPDATE t SET amount = amount + 1 WHERE id % 40 = :round % 40;
DELETE FROM t WHERE id = 1 + :round % 400;
INSERT INTO t (id, name, amount) VALUES (5000 + :round, 'never', 1);
ROLLBACK;

SAVEPOINT a;
UPDATE t SET amount = -7 WHERE id % 20 = 3;
ROLLBACK TO SAVEPOINT a;
UPDATE t SET amount = amount + 2 WHERE id % 40 = :round % 40;
DELETE FROM t WHERE id = 6000 + :round - 1;
INSERT INTO t (id, name, amount) VALUES (6000 + :round, 'is there', 1);
