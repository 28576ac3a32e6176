UPDATE t SET note = concat(note, 'y') WHERE id % 40 = :round % 40;
