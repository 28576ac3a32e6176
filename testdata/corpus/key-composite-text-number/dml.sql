UPDATE t SET no = -no WHERE amount % 30 = :round % 30;
