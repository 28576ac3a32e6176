package mysql

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/sandbox"
)

func TestACopyIsToldWhatTheServerWouldNeedForIt(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		variable, threads := "innodb_log_file_size", ""
		if s.kind == sandbox.MySQL {
			variable, threads = "innodb_redo_log_capacity", "innodb_log_writer_threads"
		}
		var before string
		require.NoError(t, s.db.QueryRowContext(t.Context(), "SELECT @@GLOBAL."+variable).Scan(&before))
		reset := func(setting, value string) {
			t.Cleanup(func() {
				require.NoError(t, s.box.Exec(context.Background(), "", "SET GLOBAL "+setting+" = "+value))
			})
		}
		reset(variable, before)
		notes := func(bytes int64) engine.CopyTerms {
			terms, err := s.CopyTerms(t.Context(), &engine.Table{Bytes: bytes})
			require.NoError(t, err)
			return terms
		}

		big := strings.Join(notes(8<<30).Notes, "\n")
		require.Contains(t, big, variable)
		require.Contains(t, big, "the table 8.0 GiB")
		require.NotContains(t, strings.Join(notes(1<<20).Notes, "\n"), variable, "a small table fills no log")
		s.exec(t, "SET GLOBAL "+variable+" = 1073741824")
		require.NotContains(t, strings.Join(notes(8<<30).Notes, "\n"), variable)

		if threads == "" {
			require.Zero(t, notes(8<<30).Streams)
			return
		}
		reset(threads, "OFF")
		s.exec(t, "SET GLOBAL "+threads+" = OFF")
		require.Equal(t, 1, notes(8<<30).Streams)
		s.exec(t, "SET GLOBAL "+threads+" = ON")
		require.Zero(t, notes(8<<30).Streams)
	})
}
