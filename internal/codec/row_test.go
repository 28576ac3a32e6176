package codec

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// carry binds a row of the named codecs, with columns c0, c1 …
func carry(t testing.TB, codecs ...string) *Row {
	t.Helper()
	row := &Row{Source: engine.Name{Schema: "shop", Table: "orders"}}
	for i, name := range codecs {
		name, size, _ := strings.Cut(name, ":")
		column := Column{Source: "c" + string(rune('0'+i)), Codec: name}
		if size != "" {
			require.NoError(t, json.Unmarshal([]byte(size), &column.Size))
		}
		row.Columns = append(row.Columns, column)
	}
	require.NoError(t, row.Bind())
	return row
}

func line(t *testing.T, row *Row, raw ...[]byte) string {
	t.Helper()
	out, err := row.Append([]byte("before\n"), raw)
	require.NoError(t, err)
	return strings.TrimPrefix(string(out), "before\n")
}

func b(s string) []byte { return []byte(s) }

func TestARowIsALineOfCopyText(t *testing.T) {
	row := carry(t, "integer", "text", "text", "text", "bytes", "set", "bit:12", "timestamptz", "boolean", "float4")
	require.Equal(t, "42\t\\N\t\t\\\\N\t\\\\x00ff5c\t{\"x\",\"y z\"}\t101010111100\t2024-02-29 23:59:59.500000+00\tt\t-0\n",
		line(t, row, b("42"), nil, b(""), b(`\N`), b("\x00\xff\\"), b("x,y z"), b("\x0a\xbc"), b("2024-02-29 23:59:59.500000"), b("1"), b("-0")))
}

func TestTextIsEscapedWhereverTheSpecialCharacterStands(t *testing.T) {
	row := carry(t, "text")
	for length := 0; length < 40; length++ {
		for at := 0; at < length; at++ {
			for special, escaped := range map[string]string{"\t": `\t`, "\n": `\n`, "\r": `\r`, `\`: `\\`, "\b": "\b", "\x7f": "\x7f", "\x0f": "\x0f"} {
				before, after := strings.Repeat("x", at), strings.Repeat("y", length-at-1)
				require.Equal(t, before+escaped+after+"\n", line(t, row, b(before+special+after)))
			}
			_, err := row.Append(nil, [][]byte{b(strings.Repeat("x", at) + "\x00" + strings.Repeat("y", length-at-1))})
			require.ErrorContains(t, err, "NUL")
			_, err = row.Append(nil, [][]byte{b(strings.Repeat("x", at) + "\xff" + strings.Repeat("y", length-at-1))})
			require.ErrorContains(t, err, "UTF-8")
		}
	}
}

func TestAValueThatTheTargetCannotHoldIsNamedAndLeavesNothingBehind(t *testing.T) {
	for _, c := range []struct{ codec, value, shown, reason string }{
		{"date", "0000-00-00", "0000-00-00", "zero date"},
		{"date", "2024-00-10", "2024-00-10", "month or day is zero"},
		{"date", "2024-10-00", "2024-10-00", "month or day is zero"},
		{"date", "0000-05-05", "0000-05-05", "year 0"},
		{"date", "2023-02-29", "2023-02-29", "no such day"},
		{"date", "1900-02-29", "1900-02-29", "no such day"},
		{"date", "2024-04-31", "2024-04-31", "no such day"},
		{"date", "2024-13-01", "2024-13-01", "no such day"},
		{"date", "yesterday!", "yesterday!", "not a date"},
		{"date", "", "", "not a date"},
		{"timestamp", "0000-00-00 00:00:00.000000", "0000-00-00 00:00:00.000000", "zero date"},
		{"timestamp", "2024-00-01 00:00:00", "2024-00-01 00:00:00", "month or day is zero"},
		{"timestamptz", "0000-00-00 00:00:00", "0000-00-00 00:00:00", "zero date"},
		{"time", "24:00:00", "24:00:00", "time of day"},
		{"time", "-01:00:00", "-01:00:00", "time of day"},
		{"time", "838:59:59", "838:59:59", "time of day"},
		{"boolean", "2", "2", "boolean"},
		{"boolean", "-1", "-1", "boolean"},
		{"bit-boolean", "\x02", "10", "more bits"},
		{"bit:12", "\x1a\xbc", "0x1abc", "more bits"},
		{"label", "", "''", "error value"},
		{"text", "a\x00b", `"a\x00b"`, "NUL"},
		{"text", "a\xffb", `"a\xffb"`, "UTF-8"},
		{"set", "a,\x00", `"a,\x00"`, "NUL"},
		{"jsonb", `"a\u0000b"`, `'"a\u0000b"'`, `\u0000`},
		{"jsonb", `["\ud800"]`, `'["\ud800"]'`, "surrogate"},
		{"jsonb", `1e131072`, `'1e131072'`, "numeric"},
		{"jsonb", `1.`, `'1.'`, "not valid JSON"},
		{"json", `{"a":1,}`, `'{"a":1,}'`, "not valid JSON"},
	} {
		t.Run(c.codec+" "+c.value, func(t *testing.T) {
			row := carry(t, "integer", c.codec)
			out, err := row.Append([]byte("before\n"), [][]byte{b("1"), b(c.value)})
			require.Equal(t, "before\n", string(out))
			var refused *ValueError
			require.True(t, errors.As(err, &refused), "%v", err)
			require.Equal(t, "c1", refused.Column)
			require.Contains(t, refused.Reason, c.reason)
			name, _, _ := strings.Cut(c.codec, ":")
			if name == "bit-boolean" {
				require.Equal(t, "0x02", refused.Value)
			} else {
				require.Equal(t, c.shown, refused.Value)
			}
		})
	}
}

func TestDatesThatExistAreCopied(t *testing.T) {
	for _, date := range []string{"0001-01-01", "0009-12-31", "1000-01-01", "2000-02-29", "2024-02-29", "2024-01-31", "2024-04-30", "9999-12-31"} {
		require.Equal(t, date+"\n", line(t, carry(t, "date"), b(date)))
		require.Equal(t, date+" 23:59:59\n", line(t, carry(t, "timestamp"), b(date+" 23:59:59")))
	}
}

func TestALongValueIsShownShortened(t *testing.T) {
	row := carry(t, "text")
	long := strings.Repeat("é", 5000) + "\x00"
	_, err := row.Append(nil, [][]byte{b(long)})
	var refused *ValueError
	require.True(t, errors.As(err, &refused))
	require.Less(t, len(refused.Value), 300)
	require.Contains(t, refused.Value, "(10,001 bytes, xxh3 ")
	require.NotContains(t, refused.Value, `\x`, "a character was cut in two")
	require.NotEqual(t, row.ShowSource(0, b(long)), row.ShowSource(0, b(long+"x")))
}

func TestARowLongerThanALineOfCopyTakesIsRefusedByItsLongestValue(t *testing.T) {
	row := carry(t, "text", "bytes", "text")
	row.maxLine = 32
	require.Equal(t, "a\t\\\\x000102030405060708\tccccccc\n", line(t, row, b("a"), b("\x00\x01\x02\x03\x04\x05\x06\x07\x08"), b("ccccccc")))
	out, err := row.Append(nil, [][]byte{b("a"), b("\x00\x01\x02\x03\x04\x05\x06\x07\x08"), b("cccccccc")})
	require.Empty(t, out)
	require.ErrorContains(t, err, "column c1")
}

func TestARowOutlivesItsJSON(t *testing.T) {
	row := carry(t, "integer", "bit:9", "text")
	text, err := json.Marshal(row)
	require.NoError(t, err)
	var again Row
	require.NoError(t, json.Unmarshal(text, &again))
	require.NoError(t, again.Bind())
	require.Equal(t, "7\t100000001\tx\n", line(t, &again, b("7"), b("\x01\x01"), b("x")))
}

func TestAPlanOfANewerVersionIsRefused(t *testing.T) {
	row := &Row{Source: engine.Name{Schema: "shop", Table: "orders"}, Columns: []Column{{Source: "where", Codec: "geometry"}}}
	err := row.Bind()
	require.ErrorContains(t, err, "shop.orders.where")
	require.ErrorContains(t, err, "geometry")
	require.Equal(t, task.Config, fault.Of(err).Class)
}

func TestARowOfAnotherLengthIsAnError(t *testing.T) {
	row := carry(t, "integer", "text")
	_, err := row.Append(nil, [][]byte{b("1")})
	require.ErrorContains(t, err, "a row of shop.orders has 1 values where 2 are expected")
	unbound := &Row{Columns: row.Columns}
	_, err = unbound.Append(nil, [][]byte{b("1"), b("x")})
	require.Error(t, err)
}

func TestKeyColumnsAreFoundByTheirNames(t *testing.T) {
	row := carry(t, "integer", "text", "text")
	positions, err := row.Positions([]string{"c2", "c0"})
	require.NoError(t, err)
	require.Equal(t, []int{2, 0}, positions)
	_, err = row.Positions([]string{"c9"})
	require.ErrorContains(t, err, "c9")
}

// orderRow is a row as of a shop: ten columns, about 200 bytes.
func orderRow(t testing.TB) (*Row, [][]byte) {
	row := carry(t, "integer", "integer", "text", "text", "decimal", "timestamp", "timestamptz", "text", "text", "boolean")
	return row, [][]byte{
		b("1234567"), b("89012"), b("shipped"), b("O-2024-000123456"), b("1299.50"), b("2024-05-06 07:08:09.123456"),
		b("2024-05-06 07:08:09"), b("Jane Doe, 12 Long Street, Springfield 12345, and some more of it"),
		b("please leave the parcel with the neighbours, they are at home"), b("1"),
	}
}

func TestAppendingARowAllocatesNothing(t *testing.T) {
	row, raw := orderRow(t)
	buffer := make([]byte, 0, 1<<10)
	require.Zero(t, testing.AllocsPerRun(100, func() { buffer, _ = row.Append(buffer[:0], raw) }))

	row = carry(t, "bytes", "set", "bit:12", "jsonb", "json", "label", "date", "time", "text")
	raw = [][]byte{b("\x00\x01"), b("a,b"), b("\x0a\xbc"), b(`{"a": [1, {"b": "c\n"}]}`), b(`[]`), b("x"), b("2024-01-02"), b("01:02:03"), b("日本語\t")}
	require.Zero(t, testing.AllocsPerRun(100, func() { buffer, _ = row.Append(buffer[:0], raw) }))
}

func BenchmarkAppend(bench *testing.B) {
	row, raw := orderRow(bench)
	size := 0
	for _, value := range raw {
		size += len(value)
	}
	bench.SetBytes(int64(size))
	buffer := make([]byte, 0, 1<<20)
	for bench.Loop() {
		if len(buffer) > 1<<20-1<<10 {
			buffer = buffer[:0]
		}
		var err error
		if buffer, err = row.Append(buffer, raw); err != nil {
			bench.Fatal(err)
		}
	}
}

// BenchmarkAppendRaw is what no codec can be faster than: the same bytes with
// nothing looked at.
func BenchmarkAppendRaw(bench *testing.B) {
	_, raw := orderRow(bench)
	buffer := make([]byte, 0, 1<<20)
	for bench.Loop() {
		if len(buffer) > 1<<20-1<<10 {
			buffer = buffer[:0]
		}
		for _, value := range raw {
			buffer = append(append(buffer, value...), '\t')
		}
	}
}
