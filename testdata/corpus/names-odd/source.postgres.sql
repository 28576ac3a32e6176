-- Names with spaces, quotes, percent signs, other letters, and words of SQL.
CREATE TABLE "select" ("primary key" int PRIMARY KEY, "a""b'c" int, "ä ö %s" varchar(30) CONSTRAINT "uni que 'q'" UNIQUE, "日本 `x`" int, "Upper" int DEFAULT 5);
CREATE INDEX "key" ON "select" ("a""b'c", "日本 `x`");
INSERT INTO "select" SELECT i, i % 7, concat('%d ''', i), i FROM generate_series(1, 300) i;
