UPDATE t SET body = repeat(unhex('0027'), 1000 * (1 + :round % 100)) WHERE id = 1 + :round % 10;
