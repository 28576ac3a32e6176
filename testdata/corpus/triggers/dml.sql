UPDATE t SET amount = amount + 1 WHERE id % 100 = :round % 100;

INSERT INTO t VALUES (1000 + :round, 7);
