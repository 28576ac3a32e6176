UPDATE t SET amount = amount + 1 WHERE no % 40 = :round % 40;
