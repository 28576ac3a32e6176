UPDATE t SET place = 301 - place;

UPDATE t SET place = place % 300 + 1;
