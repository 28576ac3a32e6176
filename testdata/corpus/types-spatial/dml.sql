UPDATE t SET pt = point(:round, 1), b = b ^ 1, ti = concat('other ', :round) WHERE id % 40 = :round % 40;
