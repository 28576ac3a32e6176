UPDATE t SET m = 'happy', p = ROW(:round, NULL), list = list || :round WHERE id % 40 = :round % 40;
