package chaos

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATableIsMigratedByOneMigrationAtATime(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t))
	s.worker()
	first := startSlowly(s)
	first.awaitMoreRows()
	second := s.start("tables: [customers, {name: items, to: public.goods}]")
	a := second.wait()
	require.Equal(t, 3, a.code)
	require.Contains(t, a.out, "public.customers")
	require.Contains(t, a.out, first.id)
	require.Contains(t, a.out, "godwit cancel "+first.id)
	require.Zero(t, one[int](s, "SELECT count(*) FROM pg_class WHERE relname = 'goods'"), "nothing was made")

	first.ask("cancel")
	require.Equal(t, 5, first.wait().code)
	second.must("retry", second.id)
	second.succeeds()
	s.arrived("customers")
}

func TestOfTwoThatClaimATableInTheSameMomentOneIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t, sturdyRig(t))
	// Both come to the same place before either goes on.
	g1, g2 := newGate(t), newGate(t)
	s.worker(g1.at("plan made"), fmt.Sprintf("plan made:2:hold=%s", g2.file))
	both := []*migration{s.start("tables: [journal]"), s.start("tables: [journal]")}
	g1.reached()
	g2.reached()
	g1.open()
	g2.open()
	codes := map[int]*migration{}
	for _, m := range both {
		codes[m.wait().code] = m
	}
	require.Len(t, codes, 2)
	require.Contains(t, codes[3].status().Error.Message, codes[0].id)
	s.arrived("journal")
}
