package capture_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/sandbox"
	"godwit/internal/task"
)

func TestATruncatedTableEmptiesItsCopyWhenEverythingIsCopied(t *testing.T) {
	r := newRig(t, sandbox.Postgres)
	ctx := context.Background()
	c, p := r.codes()
	y := r.copying(c, p, 1000, 100, 1)
	r.exec("TRUNCATE public.codes", "INSERT INTO public.codes VALUES (5, 'early'), (9, 'gone')")
	d := y.drainer(r.db)
	_, err := d.Sweep(ctx)
	require.NoError(t, err)
	require.Contains(t, r.log(c), "T|NULL", "it waits for the copy")
	require.NoError(t, y.copy(1))
	settle(t, r, c, d)
	require.Equal(t, []string{"5|early", "9|gone"}, r.rows("SELECT id, code FROM public.codes_copy ORDER BY id", 2))
	r.exec("TRUNCATE public.codes", "INSERT INTO public.codes VALUES (5, 'late')")
	settle(t, r, c, d)
	require.Equal(t, []string{"5|late"}, r.rows("SELECT id, code FROM public.codes_copy", 2))
}

func TestPartitionsAreCapturedWhereverARowGoes(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.exec("CREATE TABLE " + r.quoted("parted") + " (id int NOT NULL, region int NOT NULL, PRIMARY KEY (id, region)) PARTITION BY " +
			r.by("LIST (region)", "LIST (region) (PARTITION p1 VALUES IN (1), PARTITION p2 VALUES IN (2))"))
		if r.postgres() {
			r.exec("CREATE TABLE public.parted1 PARTITION OF public.parted FOR VALUES IN (1)", "CREATE TABLE public.parted2 PARTITION OF public.parted FOR VALUES IN (2)")
		}
		c := r.captured("parted")
		require.NoError(t, r.db.VerifyCapture(context.Background(), c, c.Table.Name))
		r.exec("INSERT INTO "+r.quoted("parted")+" VALUES (1, 1)", "UPDATE "+r.quoted("parted")+" SET region = 2")
		log := r.log(c)
		require.Contains(t, log, "D|1|1")
		require.Subset(t, []string{"I|1|1", "I|1|2", "U|1|2", "D|1|1"}, log)
		require.Len(t, log, 3)
		if r.postgres() {
			r.exec("INSERT INTO public.parted1 VALUES (4, 1)", "TRUNCATE public.parted2")
			require.Subset(t, r.log(c), []string{"I|4|1", "T|NULL|NULL"})
		}
		warnings, err := r.db.CheckCapture(context.Background(), c)
		require.NoError(t, err)
		require.Contains(t, strings.Join(warnings, "\n"), "partition")
		require.NoError(t, r.db.DropCapture(context.Background(), c))
		require.Empty(t, r.left())
	})
}

func TestRowsThatReplicationWritesAreNoted(t *testing.T) {
	r := newRig(t, sandbox.Postgres)
	r.people()
	c := r.captured("people")
	tx, err := r.db.Begin(context.Background())
	require.NoError(t, err)
	for _, statement := range []string{"SET LOCAL session_replication_role = replica", "INSERT INTO public.people VALUES ('DE', 1, 'a')", "UPDATE public.people SET no = 2"} {
		_, err := tx.Exec(context.Background(), statement)
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit(context.Background()))
	require.ElementsMatch(t, []string{"I|DE|1", "U|DE|2", "D|DE|1"}, r.log(c))
}

func TestRowsThatTheServerChangesByItselfAreNotedOrRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.exec("CREATE TABLE "+r.quoted("parent")+" (id int NOT NULL PRIMARY KEY)",
			"CREATE TABLE "+r.quoted("child")+" (id int NOT NULL PRIMARY KEY, parent_id int, CONSTRAINT of_parent FOREIGN KEY (parent_id) REFERENCES "+r.quoted("parent")+" (id) ON DELETE CASCADE)",
			"INSERT INTO "+r.quoted("parent")+" VALUES (1)", "INSERT INTO "+r.quoted("child")+" VALUES (1, 1)")
		c := r.db.CaptureOf(r.table("child"))
		_, err := r.db.CheckCapture(context.Background(), c)
		require.NoError(t, r.db.CreateCapture(context.Background(), c))
		r.exec("DELETE FROM " + r.quoted("parent"))
		if r.postgres() {
			require.NoError(t, err)
			require.Equal(t, []string{"D|1"}, r.log(c))
			return
		}
		require.Empty(t, r.log(c), "the server has begun to run triggers: CheckCapture need not refuse it any more")
		require.Equal(t, task.Config, fault.Of(err).Class)
		require.ErrorContains(t, err, "foreign key of_parent")
	})
}

func TestAUserWithoutPrivilegesIsToldWhatIsMissing(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.people()
		c := r.db.CaptureOf(r.table("people"))
		_, err := r.db.CheckCapture(context.Background(), c)
		require.NoError(t, err)
		role := "weak_" + r.name
		wanted := []string{"belongs to", "schema godwit"}
		if r.postgres() {
			r.exec("CREATE ROLE "+role+" LOGIN PASSWORD 'weak'", "GRANT SELECT, INSERT, UPDATE, DELETE ON public.people TO "+role)
		} else {
			wanted = []string{"TRIGGER", "LOCK TABLES", "CREATE", "GRANT "}
			if r.kind == sandbox.MySQL { // which says first of all that it writes a binary log
				wanted[0] = "log_bin_trust_function_creators"
			}
			r.exec("CREATE USER "+role+" IDENTIFIED BY 'weak'", "GRANT SELECT, INSERT, UPDATE, DELETE ON "+r.name+".* TO "+role)
		}
		_, err = r.open(r.urlOf(role, "weak")).CheckCapture(context.Background(), c)
		require.Error(t, err)
		for _, part := range wanted {
			require.ErrorContains(t, err, part)
		}
		if r.postgres() {
			return
		}
		r.exec("GRANT TRIGGER, LOCK TABLES, CREATE, DROP ON " + r.name + ".* TO " + role)
		weak := r.open(r.urlOf(role, "weak"))
		_, err = weak.CheckCapture(context.Background(), c)
		if r.kind == sandbox.MySQL { // it writes a binary log
			require.ErrorContains(t, err, "log_bin_trust_function_creators")
			r.exec("SET GLOBAL log_bin_trust_function_creators = ON")
			defer r.exec("SET GLOBAL log_bin_trust_function_creators = OFF")
			_, err = weak.CheckCapture(context.Background(), c)
		}
		require.NoError(t, err)
		require.NoError(t, weak.CreateCapture(context.Background(), c), "what was asked for is enough")
		r.exec("INSERT INTO " + r.quoted("people") + " VALUES ('DE', 1, 'a')")
		require.Equal(t, []string{"I|DE|1"}, r.log(c))
		require.NoError(t, weak.DropCapture(context.Background(), c))
		require.Empty(t, r.left())
	})
}

func TestWhatTheApplicationsModeLetsInIsNotedAsItIs(t *testing.T) {
	for _, k := range []sandbox.Kind{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(string(k), func(t *testing.T) {
			r := newRig(t, k)
			r.exec("CREATE TABLE " + r.quoted("odd") + " (d date NOT NULL, e enum('a','b') NOT NULL, PRIMARY KEY (d, e))")
			c := r.captured("odd")
			tx, err := r.db.Begin(context.Background())
			require.NoError(t, err)
			for _, statement := range []string{"SET SESSION sql_mode = 'ALLOW_INVALID_DATES'", "INSERT INTO " + r.quoted("odd") + " VALUES ('2023-02-31', 'a'), ('0000-00-00', 'none of them')",
				"SET SESSION sql_mode = 'TRADITIONAL'", "DELETE FROM " + r.quoted("odd") + " WHERE e = 'a'", "SET SESSION sql_mode = ''"} {
				_, err := tx.Exec(context.Background(), statement)
				require.NoError(t, err, statement)
			}
			require.NoError(t, tx.Commit(context.Background()))
			require.Equal(t, []string{"I|2023-02-31|a", "I|0000-00-00|", "D|2023-02-31|a"}, r.log(c))
		})
	}
}

func TestTheApplicationsOwnNumbersStayItsOwn(t *testing.T) {
	for _, k := range []sandbox.Kind{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(string(k), func(t *testing.T) {
			r := newRig(t, k)
			r.exec("CREATE TABLE " + r.quoted("counted") + " (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, n int) AUTO_INCREMENT = 500")
			c := r.captured("counted")
			tx, err := r.db.Begin(context.Background())
			require.NoError(t, err)
			defer tx.Rollback(context.Background()) //nolint:errcheck // nothing to lose
			for _, statement := range []string{"INSERT INTO " + r.quoted("counted") + " (n) VALUES (1)", "UPDATE " + r.quoted("counted") + " SET n = 2"} {
				_, err = tx.Exec(context.Background(), statement)
				require.NoError(t, err)
				rows, err := tx.Query(context.Background(), "SELECT LAST_INSERT_ID()")
				require.NoError(t, err)
				var id string
				for rows.Next() {
					require.NoError(t, rows.Scan(&id))
				}
				require.NoError(t, rows.Err())
				require.Equal(t, "500", id)
			}
			require.NoError(t, tx.Commit(context.Background()))
			require.Len(t, r.log(c), 2)
		})
	}
}

func TestTriggersOfAUserWhoHasItsPrivilegesByARoleFailNobody(t *testing.T) {
	for _, k := range []sandbox.Kind{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(string(k), func(t *testing.T) {
			r := newRig(t, k)
			r.people()
			role, user := "role_"+r.name, "member_"+r.name
			to := "TO"
			if k == sandbox.MariaDB {
				to = "FOR"
			}
			r.exec("CREATE ROLE "+role, "GRANT ALL ON "+r.name+".* TO "+role, "CREATE USER "+user+" IDENTIFIED BY 'weak'", "GRANT "+role+" TO "+user, "SET DEFAULT ROLE "+role+" "+to+" "+user)
			if k == sandbox.MySQL { // it writes a binary log
				r.exec("SET GLOBAL log_bin_trust_function_creators = ON")
				defer r.exec("SET GLOBAL log_bin_trust_function_creators = OFF")
			}
			member := r.open(r.urlOf(user, "weak"))
			c := r.db.CaptureOf(r.table("people"))
			if _, err := member.CheckCapture(context.Background(), c); err != nil {
				require.ErrorContains(t, err, "GRANT ")
				require.ErrorContains(t, err, "not by a role")
				r.exec("GRANT TRIGGER, SELECT, INSERT ON " + r.name + ".* TO " + user)
				_, err = member.CheckCapture(context.Background(), c)
				require.NoError(t, err)
			}
			require.NoError(t, member.CreateCapture(context.Background(), c))
			r.exec("INSERT INTO "+r.quoted("people")+" VALUES ('DE', 1, 'a')", "UPDATE "+r.quoted("people")+" SET no = 2", "DELETE FROM "+r.quoted("people"))
			require.Equal(t, []string{"I|DE|1", "U|DE|2", "D|DE|1", "D|DE|2"}, r.log(c))
			require.NoError(t, member.DropCapture(context.Background(), c))
		})
	}
}
