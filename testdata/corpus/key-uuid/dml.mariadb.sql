UPDATE t SET id = concat(lpad(hex(amount * 65521), 8, '0'), '-0000-4000-8000-', lpad(hex(amount + :round % 10 * 1000), 12, '0')) WHERE amount % 60 = :round % 60;
