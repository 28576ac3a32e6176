-- The counter is all that there is.
CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY, amount int) AUTO_INCREMENT = 777;
