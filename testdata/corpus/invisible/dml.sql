UPDATE t SET secret = secret + 1 WHERE id % 40 = :round % 40;
