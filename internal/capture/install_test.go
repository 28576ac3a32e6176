package capture_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// people makes a table with a composite key.
func (r *rig) people() {
	r.exec("CREATE TABLE " + r.quoted("people") + " (country varchar(2) NOT NULL, no int NOT NULL, name varchar(40), PRIMARY KEY (country, no))")
}

func TestEveryKindOfChangeIsNotedWithItsKeys(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.people()
		c := r.captured("people")
		people := r.quoted("people")
		r.exec("INSERT INTO "+people+" VALUES ('DE', 1, 'a'), ('DE', 2, 'b')",
			"UPDATE "+people+" SET name = 'c' WHERE no = 1",
			"UPDATE "+people+" SET country = 'FR' WHERE no = 2",
			"DELETE FROM "+people+" WHERE no = 1")
		require.ElementsMatch(t, []string{"I|DE|1", "I|DE|2", "U|DE|1", "U|FR|2", "D|DE|2", "D|DE|1"}, r.log(c))
		r.exec("DELETE FROM " + r.db.QuoteName(c.Log) + " WHERE id > 0")
		if r.postgres() {
			r.exec("INSERT INTO "+people+" VALUES ('FR', 2, 'x') ON CONFLICT (country, no) DO UPDATE SET name = 'y'",
				"MERGE INTO "+people+" p USING (VALUES ('FR', 2), ('IT', 3)) v (c, n) ON p.country = v.c AND p.no = v.n WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (v.c, v.n, 'm')",
				"TRUNCATE "+people)
			require.ElementsMatch(t, []string{"U|FR|2", "D|FR|2", "I|IT|3", "T|NULL|NULL"}, r.log(c))
			return
		}
		r.exec("INSERT INTO "+people+" VALUES ('FR', 2, 'x') ON DUPLICATE KEY UPDATE name = 'y'",
			"REPLACE INTO "+people+" VALUES ('FR', 2, 'z')",
			"INSERT IGNORE INTO "+people+" VALUES ('FR', 2, 'q'), ('IT', 3, 'q')",
			"UPDATE "+people+" p JOIN "+people+" q ON p.country = q.country SET p.name = 'both' WHERE q.no = 3",
			"DELETE p FROM "+people+" p WHERE p.no = 3")
		require.ElementsMatch(t, []string{"U|FR|2", "D|FR|2", "I|FR|2", "I|IT|3", "U|IT|3", "D|IT|3"}, r.log(c))
	})
}

func TestBulkLoadsAreNoted(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.people()
		c := r.captured("people")
		client := r.server.Client(r.name, "-c", "COPY people (country, no) FROM STDIN")
		input := "DE\t1\nFR\t2\n"
		if !r.postgres() {
			client = r.server.Client(r.name, "--local-infile=1")
			input = "LOAD DATA LOCAL INFILE '/dev/stdin' INTO TABLE people (country, no);"
			file := t.TempDir() + "/people"
			require.NoError(t, writeFile(file, "DE\t1\nFR\t2\n"))
			r.exec("SET GLOBAL local_infile = 1")
			input = strings.Replace(input, "/dev/stdin", file, 1)
		}
		client.Stdin = strings.NewReader(input)
		out, err := client.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.ElementsMatch(t, []string{"I|DE|1", "I|FR|2"}, r.log(c))
	})
}

func TestACaptureIsMadeOnceAndRemovedWhole(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.people()
		r.ownTriggers()
		before := r.table("people").Triggers
		c := r.captured("people")
		made := r.left()
		require.NoError(t, r.db.CreateCapture(ctx, c), "called again")
		require.ElementsMatch(t, made, r.left())
		require.NoError(t, r.db.VerifyCapture(ctx, c, c.Table.Name))
		r.exec("INSERT INTO " + r.quoted("people") + " VALUES ('DE', 1, 'a')")
		require.Equal(t, "a!", r.ask("SELECT name FROM "+r.quoted("people")), "the user's trigger works on")
		require.NoError(t, r.db.DropCapture(ctx, c))
		require.NoError(t, r.db.DropCapture(ctx, c), "called again")
		require.Empty(t, r.left())
		require.ElementsMatch(t, before, r.table("people").Triggers)
		r.exec("INSERT INTO " + r.quoted("people") + " VALUES ('DE', 2, 'a')")
	})
}

// ownTriggers gives the table people triggers of its user's.
func (r *rig) ownTriggers() {
	if r.postgres() {
		r.exec("CREATE FUNCTION public.shout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.name := NEW.name || '!'; RETURN NEW; END $$",
			"CREATE TRIGGER a_shout BEFORE INSERT ON "+r.quoted("people")+" FOR EACH ROW EXECUTE FUNCTION public.shout()",
			"CREATE FUNCTION public.nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
			"CREATE TRIGGER z_nothing AFTER INSERT ON "+r.quoted("people")+" FOR EACH ROW EXECUTE FUNCTION public.nothing()")
		return
	}
	r.exec("CREATE TRIGGER "+r.quoted("a_shout")+" BEFORE INSERT ON "+r.quoted("people")+" FOR EACH ROW SET NEW.name = CONCAT(NEW.name, '!')",
		"CREATE TRIGGER "+r.quoted("z_nothing")+" AFTER INSERT ON "+r.quoted("people")+" FOR EACH ROW SET @nothing = 1")
}

func TestWhatIsMissingOfACaptureIsMade(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.people()
		c := r.captured("people")
		made := r.left()
		for _, lost := range r.table("people").Triggers {
			r.exec("DROP TRIGGER " + r.by(r.column(lost)+" ON "+r.quoted("people"), r.quoted(lost)))
			require.ErrorContains(t, r.db.VerifyCapture(ctx, c, c.Table.Name), "changes of "+c.Table.Name.String()+" were not noted")
			require.NoError(t, r.db.CreateCapture(ctx, c))
			require.ElementsMatch(t, made, r.left())
			require.NoError(t, r.db.VerifyCapture(ctx, c, c.Table.Name))
		}
		r.exec("DROP TABLE " + r.db.QuoteName(c.Log) + r.by(" CASCADE", ""))
		require.Error(t, r.db.VerifyCapture(ctx, c, c.Table.Name))
		require.NoError(t, r.db.DropCapture(ctx, c), "half of it")
		require.Empty(t, r.left())
	})
}

func TestManyWorkersMakeAndRemoveOneCapture(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.people()
		c := r.db.CaptureOf(r.table("people"))
		for range 3 {
			at(6, func(int) error { return r.db.CreateCapture(context.Background(), c) }, func(err error) { require.NoError(t, err) })
			require.NoError(t, r.db.VerifyCapture(context.Background(), c, c.Table.Name))
			at(6, func(int) error { return r.db.DropCapture(context.Background(), c) }, func(err error) { require.NoError(t, err) })
			require.Empty(t, r.left())
		}
	})
}

// at runs f in so many goroutines at once and hands over what became of each.
func at(n int, f func(int) error, result func(error)) {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	for _, err := range errs {
		result(err)
	}
}

func TestACaptureWaitsForALongTransactionAndLetsOthersPass(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.people()
		c := r.db.CaptureOf(r.table("people"))
		tx, err := r.db.Begin(context.Background())
		require.NoError(t, err)
		_, err = tx.Exec(context.Background(), "INSERT INTO "+r.quoted("people")+" VALUES ('DE', 1, 'early')")
		require.NoError(t, err)
		made := make(chan error, 1)
		go func() { made <- r.db.CreateCapture(context.Background(), c) }()
		time.Sleep(1200 * time.Millisecond)
		select {
		case err := <-made:
			t.Fatalf("a transaction that writes was not waited for: %v", err)
		default:
		}
		began := time.Now()
		r.exec("INSERT INTO " + r.quoted("people") + " VALUES ('DE', 2, 'other')")
		require.Less(t, time.Since(began), 1800*time.Millisecond)
		require.NoError(t, tx.Commit(context.Background()))
		require.NoError(t, <-made)
	})
}

func TestTheApplicationDoesNotSeeThatTheChangelogIsGone(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.people()
		c := r.captured("people")
		_, err := r.db.Exec(context.Background(), "DROP TABLE "+r.db.QuoteName(c.Log))
		if r.postgres() {
			require.ErrorContains(t, err, "depend", "the triggers keep it")
			r.exec("DROP TABLE " + r.db.QuoteName(c.Log) + " CASCADE")
		} else {
			require.NoError(t, err)
		}
		r.exec("INSERT INTO "+r.quoted("people")+" VALUES ('DE', 1, 'a')", "UPDATE "+r.quoted("people")+" SET no = 5", "DELETE FROM "+r.quoted("people"))
		_, err = r.drainer(c, &engine.Projection{Into: c.Table, Key: c.Table.Key}).Sweep(context.Background())
		require.Error(t, err)
	})
}

func TestAnApplicationNeedsNoPrivilegeForTheChangelog(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.people()
		c := r.captured("people")
		role := "clerk_" + r.name
		if r.postgres() {
			r.exec("CREATE ROLE "+role+" LOGIN PASSWORD 'clerk'", "GRANT SELECT, INSERT, UPDATE, DELETE ON public.people TO "+role, "GRANT CREATE, USAGE ON SCHEMA public TO "+role)
		} else {
			r.exec("CREATE USER "+role+" IDENTIFIED BY 'clerk'", "GRANT SELECT, INSERT, UPDATE, DELETE ON "+r.quoted("people")+" TO "+role)
		}
		clerk := r.open(r.urlOf(role, "clerk"))
		statements := []string{"INSERT INTO " + r.quoted("people") + " VALUES ('DE', 1, 'a')"}
		if r.postgres() { // names of its own that come before the server's, a role that replicates
			statements = append([]string{
				"CREATE FUNCTION public.bad(text, text) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called'; END $$",
				"CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.bad)",
				"ALTER ROLE " + role + " SET search_path = public, pg_catalog"}, statements...)
		}
		for _, s := range statements {
			_, err := clerk.Exec(context.Background(), s)
			require.NoError(t, err, s)
		}
		if r.postgres() {
			tx, err := r.open(r.urlOf(role, "clerk")).Begin(context.Background())
			require.NoError(t, err)
			for _, s := range []string{"SET LOCAL search_path = public, pg_catalog", "UPDATE people SET no = 3"} {
				_, err := tx.Exec(context.Background(), s)
				require.NoError(t, err, s)
			}
			require.NoError(t, tx.Commit(context.Background()))
		} else {
			_, err := clerk.Exec(context.Background(), "UPDATE "+r.quoted("people")+" SET no = 3")
			require.NoError(t, err)
		}
		require.ElementsMatch(t, []string{"I|DE|1", "U|DE|3", "D|DE|1"}, r.log(c))
	})
}

// urlOf is the database's URL for another user.
func (r *rig) urlOf(user, password string) string {
	url := r.server.URL(r.name)
	return strings.Replace(url, r.server.User()+":"+r.server.Password()+"@", user+":"+password+"@", 1)
}

func TestNamesThatAreTooLongStillSortAfterTheTable(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		names := []string{"t", strings.Repeat("a", 58), strings.Repeat("z", 63), strings.Repeat("表", 20), "orders~" + strings.Repeat("~", 30)}
		if !r.postgres() {
			names = append(names, strings.Repeat("q", 64), strings.Repeat("表", 40), strings.Repeat("Ω", 42))
		}
		for _, name := range names {
			r.exec("CREATE TABLE " + r.quoted(name) + " (id int NOT NULL PRIMARY KEY)")
			c := r.captured(name)
			if !r.postgres() {
				require.Greater(t, c.Log.Table, name)
				require.Greater(t, r.db.Beside(c.Table.Name, "__gw_new").Table, name)
			}
			r.exec("INSERT INTO " + r.quoted(name) + " VALUES (7)")
			require.Equal(t, []string{"I|7"}, r.log(c), name)
			require.NoError(t, r.db.DropCapture(context.Background(), c))
			require.Empty(t, r.left())
		}
	})
}

func TestATableOfAnotherKindIsNoChangelog(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.people()
		c := r.db.CaptureOf(r.table("people"))
		if r.postgres() {
			r.exec("CREATE SCHEMA IF NOT EXISTS godwit")
		}
		r.exec("CREATE TABLE " + r.db.QuoteName(c.Log) + " (id bigint NOT NULL PRIMARY KEY, at timestamp NULL, op char(1), key_country varchar(2), key_no varchar(9))")
		err := r.db.CreateCapture(context.Background(), c)
		require.Error(t, err)
		require.Equal(t, task.Config, fault.Of(err).Class)
		require.ErrorContains(t, err, "is not the changelog")
	})
}

func TestTheCaptureIsFoundOnATableThatWasRenamed(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.people()
		c := r.captured("people")
		r.exec("ALTER TABLE " + r.quoted("people") + " RENAME TO " + r.by("people_old", r.quoted("people_old")))
		require.NoError(t, r.db.VerifyCapture(ctx, c, r.tableName("people_old")))
		r.exec("INSERT INTO " + r.quoted("people_old") + " VALUES ('DE', 1, 'late')")
		require.Equal(t, []string{"I|DE|1"}, r.log(c))
		require.NoError(t, r.db.DropCapture(ctx, c))
		require.Empty(t, r.left())
	})
}

func TestPendingCountsEntriesAndTellsTheAgeOfTheOldest(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.people()
		c := r.captured("people")
		p, err := r.db.Pending(context.Background(), c)
		require.NoError(t, err)
		require.Zero(t, p.Rows)
		require.True(t, p.Oldest.IsZero())
		r.exec("INSERT INTO "+r.quoted("people")+" VALUES ('DE', 1, 'a')", "INSERT INTO "+r.quoted("people")+" VALUES ('DE', 2, 'a')")
		p, err = r.db.Pending(context.Background(), c)
		require.NoError(t, err)
		require.EqualValues(t, 2, p.Rows)
		require.WithinDuration(t, time.Now(), p.Oldest, 20*time.Second)
	})
}

func writeFile(name, text string) error { return os.WriteFile(name, []byte(text), 0o644) }

func TestWhatADrainerWritesToADerivedTableIsNotNoted(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.exec("CREATE TABLE " + r.quoted("codes_copy") + " (id int NOT NULL PRIMARY KEY, code varchar(20) NOT NULL)")
		c := r.db.CaptureOf(r.table("codes_copy"))
		c.Derived = true
		require.NoError(t, r.db.CreateCapture(ctx, c))
		require.NoError(t, r.db.VerifyCapture(ctx, c, c.Table.Name))
		drainer, err := r.db.Session(ctx)
		require.NoError(t, err)
		defer drainer.Destroy()
		for _, statement := range r.db.Unnoted() {
			_, err := drainer.Exec(ctx, statement)
			require.NoError(t, err)
		}
		name := r.quoted("codes_copy")
		for _, statement := range []string{"INSERT INTO " + name + " VALUES (1, 'a'), (2, 'b'), (3, 'c')", "UPDATE " + name + " SET code = 'd' WHERE id = 1", "UPDATE " + name + " SET id = 9 WHERE id = 2",
			"DELETE FROM " + name + " WHERE id = 3"} {
			_, err := drainer.Exec(ctx, statement)
			require.NoError(t, err)
		}
		require.Empty(t, r.log(c))
		r.exec("UPDATE "+name+" SET code = 'e' WHERE id = 1", "UPDATE "+name+" SET id = 10 WHERE id = 9")
		require.Len(t, r.log(c), 3, "the application's changes are: %v", r.log(c))
	})
}
