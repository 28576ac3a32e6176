UPDATE t SET doc = concat('{"b":  ', :round, '}')::json, bin = jsonb_set(bin, '{b}', ':round') WHERE id % 40 = :round % 40 AND id < 1000;
