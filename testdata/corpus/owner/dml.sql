UPDATE t SET amount = amount + 1 WHERE id % 40 = :round % 40;
