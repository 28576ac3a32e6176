package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

func column(name, full string) engine.Column {
	return engine.Column{Name: name, Type: engine.Type{Full: full}, Nullable: true}
}

func index(name string, columns ...string) engine.Index {
	i := engine.Index{Name: name}
	for _, c := range columns {
		i.Parts = append(i.Parts, engine.IndexPart{Column: c})
	}
	return i
}

// requireConfig checks that an error is one that somebody has to mend.
func requireConfig(t *testing.T, err error, contains ...string) {
	t.Helper()
	require.Error(t, err)
	for _, text := range contains {
		require.ErrorContains(t, err, text)
	}
	require.NotNil(t, fault.Of(err), "%v", err)
	require.Equal(t, task.Config, fault.Of(err).Class)
}

func TestATableThatIsThereHasToBeTheSame(t *testing.T) {
	s := open(t)
	wanted := &engine.Table{Name: tableT, Columns: []engine.Column{column("a", "varchar(16)"), column("b", "int"), column("c", "decimal(10,2)")},
		Checks: []engine.Check{{Name: "positive", Expression: "b>0"}}}
	wanted.Columns[1].Nullable = false
	wanted.Columns[2].Default = &engine.Default{Text: "0"}
	for _, c := range []struct{ name, existing, difference string }{
		{"the same", "a character varying(16), b integer NOT NULL, c numeric(10,2) DEFAULT 0, CONSTRAINT positive CHECK (b > 0)", ""},
		{"in another order", "c numeric(10,2) DEFAULT 0, b integer NOT NULL, a character varying(16), CONSTRAINT positive CHECK (b > 0)", ""},
		{"another type", "a varchar(17), b int NOT NULL, c numeric(10,2) DEFAULT 0, CONSTRAINT positive CHECK (b > 0)",
			"column a is character varying(17), wanted is character varying(16)"},
		{"nullable", "a varchar(16), b int, c numeric(10,2) DEFAULT 0, CONSTRAINT positive CHECK (b > 0)", "column b is integer, wanted is integer NOT NULL"},
		{"another default", "a varchar(16), b int NOT NULL, c numeric(10,2) DEFAULT 1, CONSTRAINT positive CHECK (b > 0)",
			"column c is numeric(10,2) DEFAULT '1', wanted is numeric(10,2) DEFAULT '0'"},
		{"missing and superfluous", "a varchar(16), b int NOT NULL, d int", "column c is not there; check positive is not there; column d is not wanted"},
		{"another check", "a varchar(16), b int NOT NULL, c numeric(10,2) DEFAULT 0, CONSTRAINT positive CHECK (b > 1)", "check positive is (b > 1), wanted is (b > 0)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			execute(t, s, "DROP TABLE IF EXISTS public.t", "CREATE TABLE public.t ("+c.existing+")")
			err := s.EnsureTable(t.Context(), wanted)
			if c.difference == "" {
				require.NoError(t, err)
				return
			}
			requireConfig(t, err, "table public.t exists already and is not the one to be made: "+c.difference)
			require.Equal(t, "public.t", fault.Of(err).Table)
		})
	}
	require.Equal(t, []engine.Name{tableT}, must(t)(s.Tables(t.Context(), "public")), "nothing is left of the comparison")
}

func must(t *testing.T) func([]engine.Name, error) []engine.Name {
	return func(names []engine.Name, err error) []engine.Name {
		require.NoError(t, err)
		return names
	}
}

func TestANameThatBelongsToSomethingElseIsRefused(t *testing.T) {
	s := open(t, "CREATE VIEW public.t AS SELECT 1", "CREATE TABLE public.u (a int)", "CREATE SEQUENCE public.s", "CREATE INDEX taken ON public.u (a)", "CREATE TABLE public.v (a int)")
	requireConfig(t, s.EnsureTable(t.Context(), &engine.Table{Name: tableT, Columns: []engine.Column{column("a", "int")}}), "public.t is a view, not a table")
	v := engine.ParseName("public.v")
	requireConfig(t, s.EnsureIndex(t.Context(), v, index("s", "a")), "index s of table public.v exists already", "the name belongs to a sequence")
	requireConfig(t, s.EnsureIndex(t.Context(), v, index("taken", "a")), "it is one of table u")
	requireConfig(t, s.EnsureMoved(t.Context(), engine.ParseName("public.u"), v), "there is a table public.v already")
	requireConfig(t, s.EnsureMoved(t.Context(), engine.ParseName("public.w"), engine.ParseName("public.x")), "neither is there")
}

func TestAnIndexThatIsThereHasToBeTheSame(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int, b text)", "CREATE INDEX i ON public.t (a, lower(b) DESC) WHERE b LIKE 'x%'")
	wanted := engine.Index{Name: "i", Parts: []engine.IndexPart{{Column: "a"}, {Expression: "LOWER(b)", Descending: true}}, Predicate: "(b) like 'x%'", Method: "btree"}
	require.NoError(t, s.EnsureIndex(t.Context(), tableT, wanted), "only written differently")
	for _, change := range []func(*engine.Index){
		func(i *engine.Index) { i.Unique = true },
		func(i *engine.Index) { i.Parts = i.Parts[:1] },
		func(i *engine.Index) { i.Parts = []engine.IndexPart{{Column: "a", Descending: true}, i.Parts[1]} },
		func(i *engine.Index) { i.Predicate = "" },
	} {
		other := wanted
		change(&other)
		requireConfig(t, s.EnsureIndex(t.Context(), tableT, other), "index i of table public.t exists already", "CREATE INDEX i ON public.t USING btree (a, lower(b) DESC)")
	}
}

func TestAnIndexThatOnlyLooksTheSameIsAnotherOne(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a text, b int)")
	wanted := index("i", "a")
	require.NoError(t, s.EnsureIndex(t.Context(), tableT, wanted))
	require.NoError(t, s.EnsureIndex(t.Context(), tableT, wanted))
	for _, definition := range []string{"(a text_pattern_ops)", `(a COLLATE "C")`, "(a NULLS FIRST)", "(a) INCLUDE (b)", "(a) WITH (fillfactor = 50)"} {
		execute(t, s, "DROP INDEX public.i", "CREATE INDEX i ON public.t "+definition)
		requireConfig(t, s.EnsureIndex(t.Context(), tableT, wanted), "index i of table public.t exists already")
	}
}

func TestWhatAFailedIndexBuildLeftIsRebuilt(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int)", "INSERT INTO public.t VALUES (1), (1)")
	_, err := s.Exec(t.Context(), "CREATE UNIQUE INDEX CONCURRENTLY i ON public.t (a)")
	require.Error(t, err)
	require.False(t, value[bool](t, s, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'public.i'::regclass"))
	require.Empty(t, table(t, s, "public.t").Indexes)

	wanted := index("i", "a")
	wanted.Unique = true
	err = s.EnsureIndex(t.Context(), tableT, wanted)
	require.ErrorContains(t, err, "index i of table public.t")
	require.ErrorContains(t, err, "Key (a)=(1) is duplicated")
	class, known := Classify(err)
	require.True(t, known)
	require.Equal(t, task.Data, class)

	execute(t, s, "DELETE FROM public.t")
	require.NoError(t, s.EnsureIndex(t.Context(), tableT, wanted))
	require.True(t, value[bool](t, s, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'public.i'::regclass"))
}

func TestAPrimaryKeyThatIsThereHasToHaveTheSameColumns(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int NOT NULL, b int NOT NULL, CONSTRAINT other_name PRIMARY KEY (a, b))")
	require.NoError(t, s.EnsurePrimaryKey(t.Context(), tableT, index("t_pkey", "a", "b")))
	requireConfig(t, s.EnsurePrimaryKey(t.Context(), tableT, index("t_pkey", "b", "a")), "primary key t_pkey of table public.t exists already", `it is other_name ("a", "b"), wanted are ("b", "a")`)
	requireConfig(t, s.EnsurePrimaryKey(t.Context(), engine.ParseName("public.u"), index("u_pkey", "a")), "public.u: no such table")
}

func TestAForeignKeyIsValidatedAndHasToBeTheSame(t *testing.T) {
	s := open(t, "CREATE TABLE public.parent (a int PRIMARY KEY)", "CREATE TABLE public.t (a int, b int)", "INSERT INTO public.t VALUES (7, 1)")
	key := engine.ForeignKey{Name: "fk", Columns: []string{"a"}, Ref: engine.ParseName("public.parent"), RefColumns: []string{"a"}, OnDelete: "CASCADE"}
	err := s.EnsureForeignKey(t.Context(), tableT, key)
	require.ErrorContains(t, err, "foreign key fk of table public.t")
	require.ErrorContains(t, err, `Key (a)=(7) is not present in table "parent"`)
	class, _ := Classify(err)
	require.Equal(t, task.Data, class)
	require.False(t, value[bool](t, s, "SELECT convalidated FROM pg_constraint WHERE conname = 'fk'"), "what is done is kept")

	execute(t, s, "INSERT INTO public.parent VALUES (7)")
	for range 2 {
		require.NoError(t, s.EnsureForeignKey(t.Context(), tableT, key))
		require.True(t, value[bool](t, s, "SELECT convalidated FROM pg_constraint WHERE conname = 'fk'"))
	}
	key.OnUpdate = "NO ACTION" // the default, spelled out
	require.NoError(t, s.EnsureForeignKey(t.Context(), tableT, key))
	key.OnDelete = "RESTRICT"
	requireConfig(t, s.EnsureForeignKey(t.Context(), tableT, key), "foreign key fk of table public.t exists already", "ON DELETE CASCADE", "ON DELETE RESTRICT")
	key.OnDelete, key.Columns = "CASCADE", []string{"b"}
	requireConfig(t, s.EnsureForeignKey(t.Context(), tableT, key), "exists already")
}

func TestATableThatOthersNeedIsNotDropped(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int)", "CREATE VIEW public.v AS SELECT * FROM public.t")
	err := s.EnsureDropped(t.Context(), tableT)
	require.ErrorContains(t, err, "removal of table public.t")
	require.ErrorContains(t, err, "view public.v depends on table public.t")
	class, _ := Classify(err)
	require.Equal(t, task.Config, class)
}

func TestAStatementWhoseConnectionIsLostIsLookedAfter(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int)", "INSERT INTO public.t SELECT generate_series(1, 1000)",
		// The index's build takes its time, so that it can be interrupted.
		`CREATE FUNCTION public.slow(n int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.001); RETURN n; END'`)
	done := make(chan error)
	go func() {
		done <- s.EnsureIndex(t.Context(), tableT, engine.Index{Name: "i", Parts: []engine.IndexPart{{Expression: "public.slow(a)"}}})
	}()
	require.Eventually(t, func() bool {
		return value[bool](t, s, `SELECT coalesce(bool_or(pg_terminate_backend(pid)), false) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX%' AND state = 'active'`)
	}, 30*time.Second, 5*time.Millisecond)
	require.NoError(t, <-done)
	require.Len(t, table(t, s, "public.t").Indexes, 1)
}

func TestTwoThatMakeTheSameAtOnceBothSucceed(t *testing.T) {
	s := open(t)
	made := &engine.Table{Name: engine.ParseName("shop.t"), Columns: []engine.Column{column("a", "int"), column("b", "int")}}
	made.Columns[0].Nullable = false
	done := make(chan error)
	for range 4 {
		go func() {
			done <- func() error {
				for _, step := range []func(context.Context) error{
					func(ctx context.Context) error { return s.EnsureSchema(ctx, "shop") },
					func(ctx context.Context) error { return s.EnsureTable(ctx, made) },
					func(ctx context.Context) error { return s.EnsurePrimaryKey(ctx, made.Name, index("t_pkey", "a")) },
					func(ctx context.Context) error { return s.EnsureIndex(ctx, made.Name, index("t_b", "b")) },
					func(ctx context.Context) error {
						return s.EnsureForeignKey(ctx, made.Name, engine.ForeignKey{Name: "fk", Columns: []string{"b"}, Ref: made.Name, RefColumns: []string{"a"}})
					},
				} {
					if err := step(t.Context()); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	for range 4 {
		require.NoError(t, <-done)
	}
}

func TestALockIsWaitedForInShortTriesAndItsHolderNamed(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int)")
	blocker := acquire(t, s)
	tx, err := blocker.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE public.t IN SHARE UPDATE EXCLUSIVE MODE")
	require.NoError(t, err)

	s.lockWaits = []time.Duration{20 * time.Millisecond, 40 * time.Millisecond}
	err = s.EnsureDropped(t.Context(), tableT)
	require.ErrorContains(t, err, "the lock of the table was not to be had; it is held by session ")
	require.ErrorContains(t, err, "idle in transaction")
	require.Equal(t, task.Busy, fault.Of(err).Class)

	s.lockWaits = defaultLockWaits
	gone := make(chan error, 1)
	time.AfterFunc(700*time.Millisecond, func() { gone <- tx.Rollback(context.Background()) })
	require.NoError(t, s.EnsureDropped(t.Context(), tableT))
	require.NoError(t, <-gone)
}

func TestWaitingForALockEndsWithTheContext(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int)")
	tx, err := acquire(t, s).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE public.t")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.EnsureDropped(ctx, tableT), context.DeadlineExceeded)
	require.NoError(t, tx.Rollback(t.Context()))
}
