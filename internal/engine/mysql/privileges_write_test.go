package mysql

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

func TestAllThatIsMissingForARewriteIsNamedAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE t (g int AS (a + 1) STORED, a int PRIMARY KEY, b int) ENGINE=InnoDB")
		user, me, all := s.newUser(t, "INSERT ON "+s.database+".t"), "", "`"+s.database+"`.*"
		me = "'" + user + "'@'%'"
		weak := s.connect(t, user, "")
		require.NoError(t, s.CheckRewrite(t.Context(), s.name("t"), true), "a superuser may do anything")

		err := weak.CheckRewrite(t.Context(), s.name("t"), true)
		require.ErrorContains(t, err, "user "+me+" of database "+s.database+" cannot do what is needed: no SELECT, UPDATE on table "+s.database+".t: "+
			"GRANT SELECT, UPDATE ON `"+s.database+"`.`t` TO "+me+"; no CREATE, SELECT, INSERT, UPDATE, DELETE, ALTER, INDEX, DROP on database "+s.database)
		require.ErrorContains(t, err, "GRANT CREATE, SELECT, INSERT, UPDATE, DELETE, ALTER, INDEX, DROP ON "+all+" TO "+me)
		require.Equal(t, task.Config, fault.Of(err).Class)

		s.exec(t, "GRANT SELECT, UPDATE (b) ON t TO "+user)
		require.ErrorContains(t, weak.CheckRewrite(t.Context(), s.name("t"), false), "needed: no CREATE, SELECT, INSERT, UPDATE, DELETE, ALTER, INDEX on database", "the column is enough")
		s.exec(t, "GRANT SELECT, INSERT, UPDATE, DELETE ON "+all+" TO "+user)
		require.ErrorContains(t, weak.CheckRewrite(t.Context(), s.name("t"), false), "needed: no CREATE, ALTER, INDEX on database", "there is no ledger yet")
		s.exec(t, "CREATE TABLE _godwit_schema_version (version int) ENGINE=InnoDB")
		require.NoError(t, weak.CheckRewrite(t.Context(), s.name("t"), false))
		require.ErrorContains(t, weak.CheckRewrite(t.Context(), s.name("t"), true), "needed: no CREATE, DROP on database", "old values need a table")
		s.exec(t, "GRANT "+OwnPrivileges+" ON "+all+" TO "+user)
		require.NoError(t, weak.CheckRewrite(t.Context(), s.name("t"), true))
		tables, err := s.Tables(t.Context(), s.database)
		require.NoError(t, err)
		require.Len(t, tables, 2, "nothing was made or dropped")
	})
}

func TestPrivilegesOfARoleCount(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE t (a int PRIMARY KEY) ENGINE=InnoDB")
		role := s.database + "_role"
		s.exec(t, "CREATE ROLE "+role, "GRANT ALL ON "+s.database+".* TO "+role)
		t.Cleanup(func() { require.NoError(t, s.box.Exec(context.Background(), "", "DROP ROLE "+role)) })
		user := s.newUser(t, role)
		make := "SET DEFAULT ROLE " + role + " TO " + user
		if s.isMariaDB() {
			make = "SET DEFAULT ROLE " + role + " FOR " + user
		}
		s.exec(t, make)
		require.NoError(t, s.connect(t, user, "").CheckRewrite(t.Context(), s.name("t"), true))
	})
}

func TestAServerThatTakesNoWritesIsFoundBeforehand(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE t (a int PRIMARY KEY) ENGINE=InnoDB")
		user := s.newUser(t, "ALL ON "+s.database+".*")
		s.exec(t, "SET GLOBAL read_only = ON")
		t.Cleanup(func() { require.NoError(t, s.box.Exec(context.Background(), "", "SET GLOBAL read_only = OFF")) })
		err := s.connect(t, user, "").CheckRewrite(t.Context(), s.name("t"), true)
		require.ErrorContains(t, err, "the server takes no writes: connect to its primary")
		require.Equal(t, task.Config, fault.Of(err).Class)
	})
}

func TestATableWithoutTransactionsIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE t (a int PRIMARY KEY) ENGINE=InnoDB", "CREATE TABLE m (a int PRIMARY KEY) ENGINE=MyISAM",
			"CREATE TABLE p (a int PRIMARY KEY) ENGINE=InnoDB PARTITION BY HASH (a) PARTITIONS 3")
		require.NoError(t, s.Transactional(t.Context(), s.name("t")))
		require.NoError(t, s.Transactional(t.Context(), s.name("p")))
		err := s.Transactional(t.Context(), s.name("m"))
		require.ErrorContains(t, err, ".m is stored by MyISAM")
		require.ErrorContains(t, err, "ALTER TABLE `"+s.database+"`.`m` ENGINE = InnoDB")
		require.Equal(t, task.Config, fault.Of(err).Class)
		require.ErrorContains(t, s.Transactional(t.Context(), s.name("missing")), "no such table")
	})
}

func TestTablesOfItsOwnNeedADatabase(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE t (a int PRIMARY KEY) ENGINE=InnoDB")
		nowhere := *s
		nowhere.database = ""
		err := nowhere.connect(t, "", "").CheckRewrite(t.Context(), s.name("t"), true)
		require.ErrorContains(t, err, "names no database")
		require.Equal(t, task.Config, fault.Of(err).Class)
	})
}
