UPDATE ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt1 SET amount = :round WHERE id = 1 + :round % 300;
