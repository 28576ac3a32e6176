UPDATE t SET amount = amount + 1 WHERE id > 9223372036854775000 AND amount % 40 = :round % 40;

UPDATE t SET amount = amount + 1 WHERE id < -9223372036854775000 AND amount % 40 = :round % 40;
