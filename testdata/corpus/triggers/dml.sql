UPDATE t SET amount = amount + 1 WHERE id = 1 + :round % 300;

INSERT INTO t VALUES (1000 + :round, 7);
