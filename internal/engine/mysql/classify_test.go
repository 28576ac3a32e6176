package mysql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

func TestEveryKnownErrorHasItsClass(t *testing.T) {
	expected := map[task.Class][]uint16{
		task.Transient: {1015, 1030, 1043, 1047, 1053, 1077, 1079, 1080, 1105, 1152, 1156, 1157, 1158, 1159, 1160, 1161, 1184, 1189, 1190,
			1317, 1615, 1927, 2002, 2003, 2006, 2013, 2055, 3032, 3168, 3169, 4031},
		task.Busy: {1020, 1021, 1040, 1041, 1114, 1135, 1180, 1197, 1203, 1205, 1206, 1213, 1226, 1412, 1613, 1614, 1637, 1705, 1969, 3024, 3058, 3101, 3572},
		task.Data: {1022, 1048, 1062, 1136, 1138, 1169, 1216, 1217, 1261, 1262, 1263, 1264, 1265, 1292, 1300, 1301, 1365, 1366, 1367, 1406, 1411, 1416, 1441,
			1451, 1452, 1525, 1526, 1557, 1586, 1644, 1690, 1748, 1761, 1762, 1859, 1977, 3140, 3141, 3143, 3144, 3146, 3156, 3157, 3751, 3819, 3854, 3903, 4025, 4038},
		task.Config: {1044, 1045, 1049, 1050, 1051, 1052, 1054, 1060, 1061, 1064, 1071, 1072, 1091, 1093, 1095, 1109, 1111, 1115, 1118, 1129, 1130, 1133, 1142, 1143, 1146, 1148, 1149,
			1153, 1176, 1193, 1194, 1195, 1210, 1221, 1227, 1231, 1235, 1251, 1267, 1270, 1271, 1273, 1286, 1288, 1290, 1298, 1305, 1347, 1348, 1356, 1364, 1370, 1396, 1419, 1442, 1449, 1524, 1553,
			1698, 1709, 1712, 1785, 1786, 1787, 1792, 1812, 1820, 1828, 1829, 1836, 1845, 1846, 1862, 1877, 1906, 1932, 3105, 3118, 3159, 3750, 3780, 3948, 4151},
	}
	listed := 0
	for class, numbers := range expected {
		for _, number := range numbers {
			err := fmt.Errorf("read t: %w", &mysql.MySQLError{Number: number, Message: "x"})
			got, known := Classify(err)
			require.True(t, known)
			require.Equal(t, class, got, "%d", number)
			listed++
		}
	}
	require.Len(t, serverErrors, listed, "every known error is in this test")
}

func TestAnUnknownErrorGoesByItsState(t *testing.T) {
	for state, class := range map[string]task.Class{
		"08S01": task.Transient, "HY000": task.Transient, "00000": task.Transient, "40001": task.Busy, "XA102": task.Transient,
		"22001": task.Data, "23000": task.Data, "21S01": task.Data, "42000": task.Config, "28000": task.Config, "3D000": task.Config, "0A000": task.Config,
	} {
		e := &mysql.MySQLError{Number: 65000, Message: "x"}
		copy(e.SQLState[:], state)
		got, known := Classify(e)
		require.True(t, known)
		require.Equal(t, class, got, state)
	}
}

func TestErrorsOfTheDriverAndTheNetworkHaveTheirClass(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for _, c := range []struct {
		err   error
		class task.Class
	}{
		{driver.ErrBadConn, task.Transient}, {sql.ErrConnDone, task.Transient}, {mysql.ErrInvalidConn, task.Transient}, {mysql.ErrMalformPkt, task.Transient},
		{mysql.ErrPktSync, task.Transient}, {mysql.ErrPktSyncMul, task.Transient}, {mysql.ErrBusyBuffer, task.Transient},
		{mysql.ErrPktTooLarge, task.Config}, {mysql.ErrNoTLS, task.Config}, {mysql.ErrCleartextPassword, task.Config}, {mysql.ErrNativePassword, task.Config},
		{mysql.ErrOldPassword, task.Config}, {mysql.ErrUnknownPlugin, task.Config}, {mysql.ErrOldProtocol, task.Config},
		{refused, task.Transient}, {&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, task.Transient},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, task.Config},
		{errors.Join(errors.New("close"), fmt.Errorf("x: %w", mysql.ErrInvalidConn)), task.Transient},
	} {
		got, known := Classify(fmt.Errorf("read t: %w", c.err))
		require.True(t, known, "%v", c.err)
		require.Equal(t, c.class, got, "%v", c.err)
	}
	for _, err := range []error{errors.New("something else"), context.Canceled, context.DeadlineExceeded, sql.ErrNoRows, fault.New(task.Human, "decide")} {
		_, known := Classify(err)
		require.False(t, known, "%v", err)
	}
}

func TestServersReportWhatIsExpectedOfThem(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE p (id int PRIMARY KEY)", "CREATE TABLE t (id int PRIMARY KEY, p int REFERENCES p (id), v varchar(3) NOT NULL, n tinyint, d date, CHECK (n < 100), CONSTRAINT f FOREIGN KEY (p) REFERENCES p (id))",
			"INSERT INTO t VALUES (1, NULL, 'a', 1, NULL)", "CREATE TABLE g (n int, g int AS (n + 1) STORED)", "INSERT INTO g (n) VALUES (1)")
		tooLong := "SELECT /*+ MAX_EXECUTION_TIME(20) */ COUNT(*) FROM information_schema.COLUMNS a, information_schema.COLUMNS b, information_schema.COLUMNS c"
		if s.isMariaDB() {
			tooLong = "SET STATEMENT max_statement_time = 0.02 FOR SELECT SLEEP(5)"
		}
		for statement, class := range map[string]task.Class{
			"INSERT INTO t VALUES (1, NULL, 'a', 1, NULL)":            task.Data,
			"INSERT INTO t VALUES (2, 7, 'a', 1, NULL)":               task.Data,
			"INSERT INTO t VALUES (2, NULL, 'abcd', 1, NULL)":         task.Data,
			"INSERT INTO t VALUES (2, NULL, NULL, 1, NULL)":           task.Data,
			"INSERT INTO t VALUES (2, NULL, 'a', 1000, NULL)":         task.Data,
			"INSERT INTO t VALUES (2, NULL, 'a', 101, NULL)":          task.Data,
			"INSERT INTO t VALUES (2, NULL, 'a', 1, '2024-02-30')":    task.Data,
			"INSERT INTO t VALUES (2)":                                task.Data,
			"INSERT INTO t (id) VALUES (2)":                           task.Config,
			"UPDATE t a JOIN t b ON a.id = b.id SET a.n = n":          task.Config,
			"DELETE FROM t WHERE id > sum(n)":                         task.Config,
			"UPDATE t SET n = (SELECT max(x.n) FROM g x), g = 1":      task.Config,
			"UPDATE g SET g = 1":                                      task.Config,
			"SELECT * FROM nowhere":                                   task.Config,
			"SELECT nothing FROM t":                                   task.Config,
			"SELEC 1":                                                 task.Config,
			"SELECT 1 FROM t FORCE INDEX (nothing)":                   task.Config,
			"USE nowhere":                                             task.Config,
			"SELECT 'a' COLLATE utf8mb4_bin = 'b' COLLATE latin1_bin": task.Config,
			tooLong: task.Busy,
		} {
			_, err := s.db.ExecContext(t.Context(), statement)
			require.Error(t, err, statement)
			got, known := Classify(err)
			require.True(t, known, "%s: %v", statement, err)
			require.Equal(t, class, got, "%s: %v", statement, err)
		}

		wrong := s.pool(t, s.box.User(), "wrong")
		got, _ := Classify(wrong.PingContext(t.Context()))
		require.Equal(t, task.Config, got)

		blocker, err := s.db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = blocker.ExecContext(t.Context(), "UPDATE t SET n = 2")
		require.NoError(t, err)
		s.settings = []func(*mysql.Config){func(c *mysql.Config) { c.Params["innodb_lock_wait_timeout"] = "1" }}
		waiting := s.pool(t, s.box.User(), s.box.Password())
		for _, statement := range []string{"UPDATE t SET n = 3", "SELECT * FROM t FOR UPDATE NOWAIT"} {
			_, err = waiting.ExecContext(t.Context(), statement)
			got, _ = Classify(err)
			require.Equal(t, task.Busy, got, "%s: %v", statement, err)
		}
		require.NoError(t, blocker.Rollback())
	})
}

func TestAPoolThatIsClosedBelongsToAStoppingWorker(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		require.NoError(t, s.db.Close())
		for _, use := range []func() error{
			func() error { _, err := s.Exec(t.Context(), "SELECT 1"); return err },
			func() error { _, err := s.Begin(t.Context()); return err },
			func() error { _, err := s.Acquire(t.Context()); return err },
			func() error { return s.KillSession(t.Context(), "1@x") },
			func() error { return s.WithLock(t.Context(), "x", func(context.Context) error { return nil }) },
		} {
			class, known := Classify(use())
			require.True(t, known)
			require.Equal(t, task.Stopping, class)
		}
	})
}

func TestAServerThatIsGoneIsTransient(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address := listener.Addr().String()
		require.NoError(t, listener.Close())
		s.settings = []func(*mysql.Config){func(c *mysql.Config) { c.Addr = address }}
		err = s.pool(t, s.box.User(), s.box.Password()).PingContext(t.Context())
		got, known := Classify(err)
		require.True(t, known, "%v", err)
		require.Equal(t, task.Transient, got, "%v", err)
	})
}
