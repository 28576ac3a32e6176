UPDATE t SET amount = amount + 1, total = total + 5 WHERE id % 40 = :round % 40;
