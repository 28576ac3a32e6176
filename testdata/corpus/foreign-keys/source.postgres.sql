-- Foreign keys in both directions, to itself, with what they do, deferrable, and one that is not valid.
CREATE TABLE customer (id int PRIMARY KEY);
INSERT INTO customer SELECT i FROM generate_series(1, 50) i;
CREATE TABLE t (id int PRIMARY KEY, code text UNIQUE, customer int NOT NULL, parent int, amount int,
  CONSTRAINT t_customer FOREIGN KEY (customer) REFERENCES customer ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT t_parent FOREIGN KEY (parent) REFERENCES t DEFERRABLE INITIALLY DEFERRED);
INSERT INTO t SELECT i, 'c' || i, 1 + i % 50, CASE WHEN i > 10 THEN i / 2 END, i FROM generate_series(1, 300) i;
CREATE TABLE line (id int PRIMARY KEY, t int, code text, CONSTRAINT line_t FOREIGN KEY (t) REFERENCES t ON DELETE SET NULL, CONSTRAINT line_code FOREIGN KEY (code) REFERENCES t (code) ON UPDATE CASCADE);
INSERT INTO line SELECT i, i, 'c' || i FROM generate_series(1, 300) i;
CREATE TABLE loose (t int);
INSERT INTO loose VALUES (99999);
ALTER TABLE loose ADD CONSTRAINT loose_t FOREIGN KEY (t) REFERENCES t NOT VALID;
