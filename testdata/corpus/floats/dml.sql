UPDATE t SET f = f * 1.1, d = -d / 3 WHERE id % 40 = :round % 40 AND id < 1000;
