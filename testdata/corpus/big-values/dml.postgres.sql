UPDATE t SET body = decode(repeat('0027', 1000 * (1 + :round % 100)), 'hex') WHERE id = 1 + :round % 10;
