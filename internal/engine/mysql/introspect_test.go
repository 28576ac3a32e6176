package mysql

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

func TestAServerTellsWhatItIs(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		id, err := s.Identity(t.Context())
		require.NoError(t, err)
		require.Equal(t, string(s.kind), id.Flavor)
		require.Equal(t, s.box.Version, id.Version)
		require.Equal(t, s.database, id.Database)
		require.NotEmpty(t, id.ID)
		again, err := New(s.db).Identity(t.Context())
		require.NoError(t, err)
		require.Equal(t, id, again)
	})
}

func TestARestartedServerIsTheSameServer(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		before, err := s.Identity(t.Context())
		require.NoError(t, err)
		require.NoError(t, s.box.Restart(t.Context()))
		after, err := s.Identity(t.Context())
		require.NoError(t, err)
		require.Equal(t, before, after)
	})
}

func TestOnlyBaseTablesAreListed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE b (a int)", "CREATE TABLE `a ``b` (a int)", "CREATE VIEW v AS SELECT 1")
		want := []engine.Name{s.name("a `b"), s.name("b")}
		if s.isMariaDB() {
			s.exec(t, "CREATE SEQUENCE q", "CREATE TABLE versioned (a int) WITH SYSTEM VERSIONING")
			want = append(want, s.name("versioned"))
		}
		got, err := s.Tables(t.Context(), s.database)
		require.NoError(t, err)
		require.Equal(t, want, got)

		databases, err := s.Databases(t.Context())
		require.NoError(t, err)
		require.Contains(t, databases, s.database)
		require.NotContains(t, databases, "mysql")
		require.NotContains(t, databases, "information_schema")
	})
}

func TestATableThatIsNotThereIsNamed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE VIEW v AS SELECT 1")
		_, err := s.Table(t.Context(), s.name("nowhere"))
		require.ErrorIs(t, err, engine.ErrNoTable)
		require.ErrorContains(t, err, s.database+".nowhere")
		require.Equal(t, task.Config, fault.Of(err).Class)
		_, err = s.Table(t.Context(), s.name("v"))
		require.ErrorContains(t, err, "it is a view")
	})
}

func TestTablesWhoseNamesDifferInCaseAreNotMixedUp(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE foo (a int PRIMARY KEY)", "CREATE TABLE Foo (b int, c int, KEY (c))")
		require.Equal(t, []string{"`a`"}, columns(s.describe(t, "foo")))
		upper := s.describe(t, "Foo")
		require.Equal(t, []string{"`b`", "`c`"}, columns(upper))
		require.Len(t, upper.Indexes, 1)
	})
}

func TestColumnsAreDescribedExactly(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, `CREATE TABLE t (
			i8 tinyint(1) NOT NULL, u64 bigint unsigned, z int(5) unsigned zerofill, d decimal(12,2), y year, f float, b bit(5),
			vc varchar(30) COLLATE utf8mb4_bin COMMENT 'it''s 文', ch char(3) CHARACTER SET latin1 COLLATE latin1_bin, tx mediumtext, bi binary(4), vb varbinary(300), bl longblob,
			dt datetime(6), ts timestamp NULL, ti time(3), da date,
			e enum('a','it''s','x,y','q"','back\\slash','line\nbreak','','文'), st set('a','b''c') COLLATE utf8mb4_bin,
			js json, p point, inv int INVISIBLE, gv int AS (i8 + 1) VIRTUAL, gs varchar(20) AS (concat(vc, 'x''y')) STORED)`)
		table := s.describe(t, "t")
		type shape struct {
			Base                     string
			Unsigned                 bool
			Length                   int64
			Precision, Scale         int
			Fraction                 int
			Charset, Collation, Full string
		}
		want := map[string]shape{
			"i8": {Base: "tinyint", Full: "tinyint(1)"}, "u64": {Base: "bigint", Unsigned: true, Full: "bigint unsigned"},
			"z": {Base: "int", Unsigned: true, Full: "int(5) unsigned zerofill"},
			"d": {Base: "decimal", Precision: 12, Scale: 2, Full: "decimal(12,2)"}, "y": {Base: "year", Full: "year"},
			"f": {Base: "float", Full: "float"}, "b": {Base: "bit", Length: 5, Full: "bit(5)"},
			"vc": {Base: "varchar", Length: 30, Charset: "utf8mb4", Collation: "utf8mb4_bin", Full: "varchar(30)"},
			"ch": {Base: "char", Length: 3, Charset: "latin1", Collation: "latin1_bin", Full: "char(3)"},
			"bi": {Base: "binary", Length: 4, Full: "binary(4)"}, "vb": {Base: "varbinary", Length: 300, Full: "varbinary(300)"}, "bl": {Base: "longblob", Full: "longblob"},
			"dt": {Base: "datetime", Fraction: 6, Full: "datetime(6)"}, "ts": {Base: "timestamp", Full: "timestamp"},
			"ti": {Base: "time", Fraction: 3, Full: "time(3)"}, "da": {Base: "date", Full: "date"},
			"p": {Base: "point", Full: "point"},
		}
		for name, w := range want {
			if !isTemporal(engine.Type{Base: w.Base}) || w.Base == "date" {
				w.Fraction = -1
			}
			if s.isMariaDB() { // it still shows a width
				switch name {
				case "u64":
					w.Full = "bigint(20) unsigned"
				case "y":
					w.Full = "year(4)"
				}
			}
			got := table.Column(name).Type
			require.Equal(t, w, shape{got.Base, got.Unsigned, got.Length, got.Precision, got.Scale, got.Fraction, got.Charset, got.Collation, got.Full}, name)
		}
		require.Equal(t, []string{"a", "it's", "x,y", `q"`, `back\slash`, "line\nbreak", "", "文"}, table.Column("e").Type.Values)
		require.Equal(t, []string{"a", "b'c"}, table.Column("st").Type.Values)
		require.Equal(t, s.isMariaDB(), table.Column("js").Type.JSON)
		require.Equal(t, "it's 文", table.Column("vc").Comment)
		require.True(t, table.Column("inv").Invisible)
		require.False(t, table.Column("i8").Nullable)
		require.True(t, table.Column("u64").Nullable)
		require.False(t, table.Column("gv").Stored)
		require.True(t, table.Column("gs").Stored)
		if s.isMariaDB() {
			require.Equal(t, "`i8` + 1", table.Column("gv").Generated)
			require.Equal(t, `concat(`+"`vc`"+`,'x\'y')`, table.Column("gs").Generated)
			require.Empty(t, table.Checks, "JSON is no check")
		} else {
			require.Equal(t, "(`i8` + 1)", table.Column("gv").Generated)
			require.Equal(t, `concat(`+"`vc`"+`,_utf8mb4'x\'y')`, table.Column("gs").Generated)
		}
		require.Len(t, table.Columns, 24)
	})
}

func TestTypesOfOneFlavorAlone(t *testing.T) {
	maria, my := start(t, "mariadb"), start(t, "mysql")
	maria.exec(t, `CREATE TABLE t (u uuid, i6 inet6, c text COMPRESSED, j longtext CHECK (json_valid(j)), k longtext CHECK (json_valid(k) AND 1))`)
	table := maria.describe(t, "t")
	require.Equal(t, "uuid", table.Column("u").Type.Full)
	require.Equal(t, "inet6", table.Column("i6").Type.Base)
	require.Equal(t, "text", table.Column("c").Type.Full)
	require.True(t, table.Column("j").Type.JSON)
	require.False(t, table.Column("k").Type.JSON)
	require.Len(t, table.Checks, 1)

	my.exec(t, `CREATE TABLE t (g geometry NOT NULL SRID 4326, p point)`)
	table = my.describe(t, "t")
	require.Equal(t, uint32(4326), *table.Column("g").Type.SRID)
	require.Nil(t, table.Column("p").Type.SRID)
}

func TestDefaultsAreToldApartFromExpressions(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, `CREATE TABLE d (
			none int, nul varchar(10) DEFAULT NULL, required int NOT NULL, n int DEFAULT 5, neg decimal(5,2) DEFAULT -1, dbl double DEFAULT -1.5e-300,
			blank varchar(10) DEFAULT '', word varchar(10) DEFAULT 'NULL', now_word varchar(30) DEFAULT 'current_timestamp()', digits varchar(10) DEFAULT '007',
			quotes varchar(40) DEFAULT 'it''s "\\" \n文', smile varchar(9) CHARACTER SET utf8mb4 DEFAULT '😀?', western char(9) CHARACTER SET latin1 DEFAULT 'é?', e enum('a','b''c') DEFAULT 'b''c', bits bit(5) DEFAULT b'101',
			bin binary(3) DEFAULT 'a', vbin varbinary(10) DEFAULT x'ff006127', day date DEFAULT '2020-01-31',
			ts timestamp(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), dt datetime DEFAULT NOW(),
			ex varchar(40) DEFAULT (uuid()), cc varchar(40) DEFAULT (concat('a','b''c')), tx text DEFAULT ('l''it'))`)
		table := s.describe(t, "d")
		literals := map[string]string{
			"n": "5", "neg": "-1.00", "dbl": "-1.5e-300", "blank": "", "word": "NULL", "now_word": "current_timestamp()", "digits": "007",
			"quotes": "it's \"\\\" \n文", "smile": "😀?", "western": "é?", "e": "b'c", "bits": "101", "bin": "a\x00\x00", "vbin": "\xff\x00a'", "day": "2020-01-31", "tx": "l'it",
		}
		for name, text := range literals {
			require.Equal(t, &engine.Default{Text: text}, table.Column(name).Default, name)
		}
		concat := `concat(_utf8mb4'a',_utf8mb4'b\'c')`
		if s.isMariaDB() {
			concat = `concat('a','b\'c')`
		}
		expressions := map[string]string{"ts": "CURRENT_TIMESTAMP(6)", "dt": "CURRENT_TIMESTAMP", "ex": "uuid()", "cc": concat}
		for name, text := range expressions {
			require.Equal(t, &engine.Default{Text: text, Expression: true}, table.Column(name).Default, name)
		}
		for _, name := range []string{"none", "nul", "required"} {
			require.Nil(t, table.Column(name).Default, name)
		}
		require.True(t, table.Column("ts").OnUpdateNow)
		require.False(t, table.Column("dt").OnUpdateNow)
		require.Len(t, table.Columns, len(literals)+len(expressions)+3)
	})
}

func TestIndexesAreDescribed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, `CREATE TABLE t (id int PRIMARY KEY, a varchar(20), b int, tx text, g point NOT NULL,
			KEY k_prefix (a(5), b) COMMENT 'it''s', UNIQUE KEY k_unique (a, b DESC), FULLTEXT KEY k_text (tx), SPATIAL KEY k_space (g), UNIQUE KEY k_gone (b))`)
		if s.isMariaDB() {
			s.exec(t, "ALTER TABLE t ALTER INDEX k_gone IGNORED")
		} else {
			s.exec(t, "ALTER TABLE t ALTER INDEX k_gone INVISIBLE", "ALTER TABLE t ADD KEY k_zexpr ((concat(a, 'x''')))")
		}
		table := s.describe(t, "t")
		want := []engine.Index{
			{Name: "PRIMARY", Parts: []engine.IndexPart{{Column: "id"}}, Unique: true, Primary: true, Method: "btree"},
			{Name: "k_gone", Parts: []engine.IndexPart{{Column: "b"}}, Unique: true, Method: "btree", Invisible: true},
			{Name: "k_prefix", Parts: []engine.IndexPart{{Column: "a", Prefix: 5}, {Column: "b"}}, Method: "btree", Comment: "it's"},
			{Name: "k_space", Parts: []engine.IndexPart{{Column: "g"}}, Method: "spatial"},
			{Name: "k_text", Parts: []engine.IndexPart{{Column: "tx"}}, Method: "fulltext"},
			{Name: "k_unique", Parts: []engine.IndexPart{{Column: "a"}, {Column: "b", Descending: true}}, Unique: true, Method: "btree"},
		}
		if !s.isMariaDB() {
			want = append(want, engine.Index{Name: "k_zexpr", Parts: []engine.IndexPart{{Expression: "concat(`a`,_utf8mb4'x\\'')"}}, Method: "btree"})
		}
		require.Equal(t, want, table.Indexes)
	})
}

func TestConstraintsAndTriggersAreDescribed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE parent (a int, b varchar(10), PRIMARY KEY (a, b))",
			`CREATE TABLE t (id int PRIMARY KEY AUTO_INCREMENT, a int, b varchar(10), up int,
				CONSTRAINT fk_pair FOREIGN KEY (a, b) REFERENCES parent (a, b) ON DELETE CASCADE ON UPDATE SET NULL,
				CONSTRAINT fk_self FOREIGN KEY (up) REFERENCES t (id),
				c int, d varchar(9), CONSTRAINT ck CHECK (c > 0 AND d <> 'it''s\\')) COMMENT 'it''s 文'`,
			"CREATE TRIGGER tr2 BEFORE INSERT ON t FOR EACH ROW SET NEW.up = NULL", "CREATE TRIGGER tr1 AFTER DELETE ON t FOR EACH ROW SET @x = 1")
		if !s.isMariaDB() {
			s.exec(t, "ALTER TABLE t ADD CONSTRAINT ck_off CHECK (c < 9) NOT ENFORCED")
		}
		table := s.describe(t, "t")
		rule := "NO ACTION"
		if s.isMariaDB() {
			rule = "RESTRICT" // which is the same
		}
		require.Equal(t, []engine.ForeignKey{
			{Name: "fk_pair", Columns: []string{"a", "b"}, Ref: s.name("parent"), RefColumns: []string{"a", "b"}, OnDelete: "CASCADE", OnUpdate: "SET NULL"},
			{Name: "fk_self", Columns: []string{"up"}, Ref: s.name("t"), RefColumns: []string{"id"}, OnDelete: rule, OnUpdate: rule},
		}, table.ForeignKeys)
		expression := "((`c` > 0) and (`d` <> _utf8mb4'it\\'s\\\\'))"
		if s.isMariaDB() {
			expression = "`c` > 0 and `d` <> 'it\\'s\\\\'"
		}
		require.Equal(t, []engine.Check{{Name: "ck", Expression: expression}}, table.Checks)
		require.Equal(t, []string{"tr1", "tr2"}, table.Triggers)
		require.Equal(t, "it's 文", table.Comment)
		require.Empty(t, s.describe(t, "parent").ForeignKeys)
	})
}

func TestTheNextIdentityIsThatOfThisMoment(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE t (id bigint unsigned PRIMARY KEY AUTO_INCREMENT)", "CREATE TABLE n (id int PRIMARY KEY)")
		require.Equal(t, uint64(1), s.describe(t, "t").NextIdentity)
		s.exec(t, "INSERT INTO t VALUES (41)")
		require.Equal(t, uint64(42), s.describe(t, "t").NextIdentity)
		s.exec(t, "INSERT INTO t VALUES (9223372036854775808)")
		require.Equal(t, uint64(9223372036854775809), s.describe(t, "t").NextIdentity)
		require.True(t, s.describe(t, "t").Column("id").Identity)
		require.Zero(t, s.describe(t, "n").NextIdentity)
	})
}

func TestSizesAndPartitionsAreTold(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE p (a int PRIMARY KEY, b varchar(200)) PARTITION BY HASH (a) PARTITIONS 4",
			"INSERT INTO p WITH RECURSIVE n AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM n WHERE a < 900) SELECT a, REPEAT('x', 200) FROM n", "ANALYZE TABLE p")
		table := s.describe(t, "p")
		require.True(t, table.Partitioned)
		require.InDelta(t, 900, table.Rows, 300)
		require.Greater(t, table.Bytes, int64(900*200))
		require.Equal(t, []string{"a"}, table.Key)
	})
}

func TestTheKeyIsOneThatRangesCanBeCutBy(t *testing.T) {
	cases := []struct {
		columns, name string
		key           []string
		problem       string
	}{
		{"a int PRIMARY KEY", "PRIMARY", []string{"a"}, ""},
		{"a int, b varchar(10), PRIMARY KEY (b, a)", "PRIMARY", []string{"b", "a"}, ""},
		{"a int NOT NULL, b int NOT NULL, UNIQUE KEY two (a, b), UNIQUE KEY one (b)", "one", []string{"b"}, ""},
		{"a int NOT NULL, b int, UNIQUE KEY nullable (b), UNIQUE KEY good (a)", "good", []string{"a"}, ""},
		{"a float NOT NULL, b int NOT NULL, PRIMARY KEY (a), UNIQUE KEY good (b)", "good", []string{"b"}, ""},
		{"a enum('x','y') NOT NULL, b int, PRIMARY KEY (a, b)", "PRIMARY", []string{"a", "b"}, ""},
		{"a int, b varchar(10), PRIMARY KEY (a DESC, b DESC)", "PRIMARY", []string{"a", "b"}, ""},
		{"a int, KEY (a)", "", nil, "no primary key and no unique key"},
		{"a int UNIQUE", "", nil, "allows NULL in column a"},
		{"a double PRIMARY KEY", "", nil, "key PRIMARY is on column a, whose double values do not compare exactly"},
		{"a text NOT NULL, UNIQUE KEY pre (a(10))", "", nil, "on a prefix of column a"},
		{"a bit(8) PRIMARY KEY", "PRIMARY", []string{"a"}, ""},
		{"a set('x','y') PRIMARY KEY", "", nil, "type set"},
		{"a enum('x','') PRIMARY KEY", "", nil, "the empty string"},
		{"a enum('x','😀') PRIMARY KEY", "", nil, "a question mark"},
	}
	onBoth(t, func(t *testing.T, s *testServer) {
		for _, c := range cases {
			s.exec(t, "DROP TABLE IF EXISTS t", "CREATE TABLE t ("+c.columns+")")
			table := s.describe(t, "t")
			require.Equal(t, c.key, table.Key, c.columns)
			require.Equal(t, c.name, table.KeyName, c.columns)
			require.Contains(t, table.KeyProblem, c.problem, c.columns)
			require.Equal(t, c.problem == "", table.KeyProblem == "", c.columns)
		}
		s.exec(t, "DROP TABLE t", "CREATE TABLE t (a int, b int, PRIMARY KEY (a DESC, b))")
		require.Contains(t, s.describe(t, "t").KeyProblem, "mixes")
		s.exec(t, "DROP TABLE t", "CREATE TABLE t (a int NOT NULL, UNIQUE KEY u (a) USING HASH) ENGINE=MEMORY")
		require.Contains(t, s.describe(t, "t").KeyProblem, "hash index")
		if s.isMariaDB() {
			s.exec(t, "DROP TABLE t", "CREATE TABLE t (a int NOT NULL, tx text NOT NULL, f float PRIMARY KEY, UNIQUE KEY u (tx), UNIQUE KEY v (a) IGNORED)")
			require.Contains(t, s.describe(t, "t").KeyProblem, "hash index")
			require.Contains(t, s.describe(t, "t").KeyProblem, "key v is invisible")
		} else {
			s.exec(t, "DROP TABLE t", "CREATE TABLE t (a int NOT NULL, b int NOT NULL, f float PRIMARY KEY, UNIQUE KEY u ((a + 1)), UNIQUE KEY v (b) INVISIBLE)")
			require.Contains(t, s.describe(t, "t").KeyProblem, "expression")
			require.Contains(t, s.describe(t, "t").KeyProblem, "key v is invisible")
		}
	})
}

func TestADefinitionIsTheSameWhenReadAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE t (id int PRIMARY KEY AUTO_INCREMENT, e enum('a','b'))")
		before := engine.Definition(s.describe(t, "t"))
		s.exec(t, "INSERT INTO t VALUES (100, 'a'), (101, 'b')", "ANALYZE TABLE t", "ALTER TABLE t ADD KEY (e)")
		require.Equal(t, before, engine.Definition(s.describe(t, "t")))
		s.exec(t, "ALTER TABLE t MODIFY e enum('a','b','c')")
		require.NotEqual(t, before, engine.Definition(s.describe(t, "t")))
	})
}

func TestDescribingATableTakesFewQueries(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE t (id int PRIMARY KEY, a varbinary(9) DEFAULT 'x', b int REFERENCES t (id), c int, d int, KEY (b), KEY (c), CHECK (c > d))")
		s.describe(t, "t")
		s.db.SetMaxOpenConns(1)
		questions := func() (n int) {
			var name string
			require.NoError(t, s.db.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Questions'").Scan(&name, &n))
			return n
		}
		before := questions()
		s.describe(t, "t")
		require.LessOrEqual(t, questions()-before-1, 8)
	})
}
