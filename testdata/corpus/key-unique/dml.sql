UPDATE t SET amount = amount + 1 WHERE amount % 30 = :round % 30;
