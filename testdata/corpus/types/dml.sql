UPDATE t SET m = 'happy', p = ROW(:round, NULL)::pair, list = list || :round WHERE id % 40 = :round % 40;
