package mysqlwire

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
)

func TestARenewedPoolUsesNoneOfItsConnectionsAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, s *sandbox.Server) {
		db := open(t, s)
		number := func(on interface {
			QueryRowContext(context.Context, string, ...any) *sql.Row
		}) (id int64) {
			require.NoError(t, on.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id))
			return id
		}
		idle := number(db)
		require.Equal(t, idle, number(db), "it is used again and again")
		busy, err := db.Conn(t.Context())
		require.NoError(t, err)
		require.Equal(t, idle, number(busy))
		other := number(db) // idle again by now

		Renew(db)
		require.Equal(t, idle, number(busy), "what is in use goes on")
		require.NoError(t, busy.Close())
		fresh := number(db)
		require.NotContains(t, []int64{idle, other}, fresh)
		require.Equal(t, fresh, number(db))
	})
}
