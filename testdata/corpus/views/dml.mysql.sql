UPDATE big SET name = concat('by the view ', :round) WHERE id = 1 + :round % 300;
