UPDATE t SET doc = json_set(doc, '$.b', :round) WHERE id % 40 = :round % 40 AND id < 1000;
