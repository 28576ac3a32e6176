package digest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/codec"
	"godwit/internal/engine"
)

// rows is a stream of rows in memory, in the servers' text form.
type rows struct {
	rows   [][][]byte
	at     int
	end    error // instead of io.EOF
	buffer [][]byte
	closed *int
}

func (r *rows) Next() ([][]byte, error) {
	for _, value := range r.buffer { // what was returned before is not valid any more
		for i := range value {
			value[i] = '!'
		}
	}
	if r.at == len(r.rows) {
		if r.end != nil {
			return nil, r.end
		}
		return nil, io.EOF
	}
	r.buffer = r.buffer[:0]
	for _, value := range r.rows[r.at] {
		if value != nil {
			value = append([]byte{}, value...)
		}
		r.buffer = append(r.buffer, value)
	}
	r.at++
	return r.buffer, nil
}

func (r *rows) Close() error {
	if r.closed != nil {
		*r.closed++
	}
	return nil
}

// null is NULL in the rows of tests.
const null = "\x00NULL"

func row(values ...string) [][]byte {
	raw := make([][]byte, len(values))
	for i, value := range values {
		if value != null {
			raw[i] = []byte(value)
		}
	}
	return raw
}

// form binds a codec row with the columns a, b, c ….
func form(t testing.TB, codecs ...string) *codec.Row {
	r := &codec.Row{Source: engine.Name{Schema: "shop", Table: "t"}}
	for i, name := range codecs {
		r.Columns = append(r.Columns, codec.Column{Source: string(rune('a' + i)), Codec: name, Size: 8})
	}
	require.NoError(t, r.Bind())
	return r
}

func sumOf(t testing.TB, canon Canon, all ...[][]byte) Sum {
	sum, err := Stream(context.Background(), &rows{rows: all}, NewHasher(canon), nil)
	require.NoError(t, err)
	return sum
}

func TestTheOrderOfRowsDoesNotMatter(t *testing.T) {
	f := form(t, "integer", "text")
	one := sumOf(t, f.CanonSource, row("1", "x"), row("2", null), row("3", ""))
	other := sumOf(t, f.CanonTarget, row("3", ""), row("1", "x"), row("2", null))
	require.True(t, one.Equal(other))
	require.Equal(t, int64(3), one.Rows)
}

func TestASumIsThatOfItsParts(t *testing.T) {
	f := form(t, "integer", "text")
	whole := sumOf(t, f.CanonSource, row("1", "x"), row("2", null), row("3", ""))
	var parts Sum
	parts.Merge(sumOf(t, f.CanonSource, row("2", null)))
	parts.Merge(sumOf(t, f.CanonSource))
	parts.Merge(sumOf(t, f.CanonSource, row("3", ""), row("1", "x")))
	require.True(t, whole.Equal(parts))
}

func TestASumCarriesIntoItsUpperHalf(t *testing.T) {
	s := Sum{read: true}
	s.Add(Hash{Hi: 1, Lo: 1<<64 - 1})
	s.Add(Hash{Hi: 2, Lo: 1})
	require.Equal(t, "2 rows 00000000000000040000000000000000", s.String())
	s.Add(Hash{Hi: 1<<64 - 4, Lo: 0})
	require.Equal(t, "3 rows 00000000000000000000000000000000", s.String())
}

func TestWhatWasNotReadEqualsNothing(t *testing.T) {
	f := form(t, "integer")
	var unread Sum
	empty := sumOf(t, f.CanonSource)
	require.False(t, unread.Equal(unread))
	require.False(t, unread.Equal(empty))
	require.False(t, empty.Equal(unread))
	require.True(t, empty.Equal(empty))
	require.True(t, empty.Equal(Counted(0)))
	require.False(t, Counted(3).Equal(Sum{Rows: 3}))
	unread.Merge(Sum{})
	require.False(t, unread.Read())
	unread.Merge(empty)
	require.True(t, unread.Read())
}

func TestASumOutlivesTheLedger(t *testing.T) {
	f := form(t, "integer")
	for _, sum := range []Sum{sumOf(t, f.CanonSource), sumOf(t, f.CanonSource, row("1"), row("2")), Counted(7), {Rows: 1, Hi: 1<<64 - 1, Lo: 1, read: true}} {
		text, err := sum.MarshalJSON()
		require.NoError(t, err)
		var again Sum
		require.NoError(t, again.UnmarshalJSON(text))
		require.True(t, sum.Equal(again), "%s", text)
	}
	text, err := Sum{}.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, "null", string(text))
	again := Counted(7)
	require.NoError(t, again.UnmarshalJSON(text))
	require.False(t, again.Read(), "what was not read is read after the ledger")
	for _, bad := range []string{`{"rows":1,"sum":""}`, `{"rows":1,"sum":"00"}`, `{"rows":1,"sum":"zz000000000000000000000000000000"}`, `{"rows":1,"sum":"000000000000000000000000000000000"}`, `7`} {
		require.Error(t, again.UnmarshalJSON([]byte(bad)), bad)
		require.False(t, again.Read(), bad)
	}
}

func TestOnlyTheEndOfTheDataIsTheEndOfTheData(t *testing.T) {
	f := form(t, "integer")
	for _, broken := range []error{errors.New("connection reset"), io.ErrUnexpectedEOF, fmt.Errorf("read packet: %w", io.EOF)} {
		sum, err := Stream(context.Background(), &rows{rows: [][][]byte{row("1")}, end: broken}, NewHasher(f.CanonSource), nil)
		require.ErrorIs(t, err, broken)
		require.False(t, sum.Read())
		require.Zero(t, sum.Rows)
		b, err := ReadBuckets(context.Background(), &rows{end: broken}, NewHasher(f.CanonSource), nil, 4, nil)
		require.ErrorIs(t, err, broken)
		require.Nil(t, b)
	}
}

func TestAnErrorOfACanonicalFormIsAnError(t *testing.T) {
	f := form(t, "integer", "bytes")
	_, err := Stream(context.Background(), &rows{rows: [][][]byte{row("1", "not hex")}}, NewHasher(f.CanonTarget), nil)
	require.ErrorContains(t, err, "column 2")
	require.ErrorContains(t, err, "bytea_output")
}

func TestAStreamEndsWithItsContext(t *testing.T) {
	f := form(t, "integer")
	ctx, cancel := context.WithCancel(context.Background())
	many := make([][][]byte, 5*progressRows)
	for i := range many {
		many[i] = row("1")
	}
	var told int64
	_, err := Stream(ctx, &rows{rows: many}, NewHasher(f.CanonSource), func(rows, bytes int64) {
		require.Equal(t, rows, bytes)
		if told = rows; rows == 2*progressRows {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, int64(2*progressRows), told)
}

func TestProgressIsToldAtTheEnd(t *testing.T) {
	f := form(t, "integer", "text")
	var told []int64
	_, err := Stream(context.Background(), &rows{rows: [][][]byte{row("1", "abc"), row("22", null)}}, NewHasher(f.CanonSource), func(rows, bytes int64) {
		told = append(told, rows, bytes)
	})
	require.NoError(t, err)
	require.Equal(t, []int64{2, 6}, told)
}
