UPDATE `select` SET `a"b'c` = :round, `日本 ``x``` = `primary key` WHERE `primary key` = 1 + :round % 300;
