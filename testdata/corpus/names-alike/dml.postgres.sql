UPDATE tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt1 SET amount = :round WHERE id = 1 + :round % 300;
