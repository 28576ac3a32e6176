UPDATE t SET id = id + 0.000001 WHERE amount % 40 = :round % 40;
