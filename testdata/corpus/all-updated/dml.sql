UPDATE t SET amount = amount + 1;
