UPDATE t SET code = concat('', :round) WHERE id = 1 + :round % 300;
