UPDATE t SET line = line + 10 WHERE amount = 1 + :round % 400;

UPDATE t SET customer = concat('d', amount), amount = amount + 1000 WHERE amount = 200 - :round % 100;

DELETE FROM t WHERE amount = 300 + :round % 90;
