UPDATE t SET id = md5(amount + :round * 1000) WHERE amount % 60 = :round % 60;
