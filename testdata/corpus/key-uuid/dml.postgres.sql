UPDATE t SET id = md5((amount + :round % 10 * 1000)::text)::uuid WHERE amount % 60 = :round % 60;
