package codec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// canonical returns the canonical bytes of a value as the source writes it and
// of one as the target does.
func canonical(t testing.TB, codec, source, target string) (string, string) {
	t.Helper()
	row := carry(t, codec)
	s, err := row.CanonSource(0, []byte("before"), b(source))
	require.NoError(t, err)
	d, err := row.CanonTarget(0, []byte("before"), b(target))
	require.NoError(t, err)
	require.Equal(t, "beforebefore", string(s[:6])+string(d[:6]))
	return string(s[6:]), string(d[6:])
}

func TestTheSameValueHasTheSameCanonicalBytesOnBothSides(t *testing.T) {
	for _, c := range []struct{ codec, source, target string }{
		{"integer", "42", "42"},
		{"integer", "-42", "-42"},
		{"integer", "0", "0"},
		{"integer", "0000", "0"}, // YEAR
		{"integer", "00042", "42"},
		{"decimal", "42", "42.00"},
		{"decimal", "00000000000000000007", "7"},
		{"decimal", "0.10", "0.1000"},
		{"decimal", "-0.00", "0"},
		{"decimal", "-0.50", "-0.5"},
		{"decimal", "100", "100"},
		{"decimal", "12345678901234567890123456789012345.123456789012345678901234567890", "12345678901234567890123456789012345.12345678901234567890123456789"},
		{"float4", "0.10000000149011612", "0.1"},
		{"float4", "12345.669921875", "12345.67"},
		{"float4", "1.401298464324817e-45", "1e-45"},
		{"float4", "3.4028234663852886e38", "3.4028235e+38"},
		{"float4", "16777216", "1.6777216e+07"},
		{"float4", "-0", "-0"},
		{"float8", "1.7976931348623157e308", "1.7976931348623157e+308"},
		{"float8", "5e-324", "5e-324"},
		{"float8", "0.30000000000000004", "0.30000000000000004"},
		{"float8", "10000000000", "10000000000"},
		{"float8", "0.10000000149011612", "0.10000000149011612"},
		{"boolean", "1", "t"},
		{"boolean", "0", "f"},
		{"bit:12", "\x0a\xbc", "101010111100"},
		{"bit:1", "\x00", "0"},
		{"bit:64", "\xff\x00\xff\x00\xff\x00\xff\x01", "1111111100000000111111110000000011111111000000001111111100000001"},
		{"bit-boolean", "\x01", "t"},
		{"date", "2024-02-29", "2024-02-29"},
		{"timestamp", "2024-02-29 12:00:00", "2024-02-29 12:00:00"},
		{"timestamp", "2024-02-29 12:00:00.120000", "2024-02-29 12:00:00.12"},
		{"timestamp", "2024-02-29 12:00:00.000000", "2024-02-29 12:00:00"},
		{"timestamp", "2024-02-29 12:00:10.000100", "2024-02-29 12:00:10.0001"},
		{"timestamptz", "2024-02-29 12:00:00.5", "2024-02-29 12:00:00.5"},
		{"interval", "-838:59:59.000", "-838:59:59"},
		{"interval", "00:00:00.500", "00:00:00.5"},
		{"interval", "-00:00:00", "00:00:00"},
		{"interval", "-00:00:00.000", "00:00:00"},
		{"time", "23:59:59.100", "23:59:59.1"},
		{"text", "日本語 \t\\ 😀", "日本語 \t\\ 😀"},
		{"char", "ab", "ab   "},
		{"label", "a", "a"},
		{"set", "", "{}"},
		{"set", "x", "{x}"},
		{"set", `x,y z,a"b\c,NULL,{,é`, `{x,"y z","a\"b\\c","NULL","{",é}`},
		{"bytes", "", `\x`},
		{"bytes", "\x00\xff\\x", `\x00ff5c78`},
		{"uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"},
		{"inet", "1.2.3.4", "1.2.3.4"},
		{"inet", "::ffff:1.2.3.4", "::ffff:1.2.3.4"},
		{"inet", "::1.2.3.4", "::102:304"},
		{"inet", "1:0:0:2::", "1:0:0:2::"},
		{"jsonb", `{"bb":1, "a":1.0,"a":2}`, `{"a": 2, "bb": 1}`},
		{"jsonb", ` [1e2,-0.0,1E+3, 0.10, 12345678901234567890.50] `, `[100, 0.0, 1000, 0.1, 12345678901234567890.5]`},
		{"jsonb", `"\u00e9\ud83d\ude00\/\n\u001f"`, `"é😀/\n\u001f"`},
		{"jsonb", `{"b":{"d":1,"c":[{"z":1,"y":2}]},"a":null}`, `{"a": null, "b": {"c": [{"y": 2, "z": 1}], "d": 1}}`},
		{"jsonb", `{}`, `{}`},
		{"jsonb", `{"":[]}`, `{"": []}`},
		{"jsonb", `"2024-01-02"`, `"2024-01-02"`},
	} {
		t.Run(c.codec+" "+c.source, func(t *testing.T) {
			source, target := canonical(t, c.codec, c.source, c.target)
			require.Equal(t, source, target)
		})
	}
}

func TestDifferentValuesHaveDifferentCanonicalBytes(t *testing.T) {
	for _, c := range []struct{ codec, source, target string }{
		{"integer", "10", "1"},
		{"integer", "-1", "1"},
		{"decimal", "100", "1"},
		{"decimal", "100", "10.0"},
		{"decimal", "-0.5", "0.5"},
		{"decimal", "0.1", "0.01"},
		{"decimal", "1", "NaN"},
		{"float4", "0", "-0"},
		{"float4", "0.10000000149011612", "0.10000001"},
		{"float8", "-0", "0"},
		{"float8", "0.1", "0.10000000000000002"},
		{"float8", "1", "Infinity"},
		{"float8", "1", "NaN"},
		{"boolean", "2", "t"},
		{"boolean", "2", "f"},
		{"bit:3", "\x01", "0001"},
		{"bit:3", "\x01", "011"},
		{"bit-boolean", "\x01", "f"},
		{"date", "0000-00-00", "1970-01-01"},
		{"date", "2024-02-28", "2024-02-29"},
		{"timestamp", "2024-02-29 12:00:00.000001", "2024-02-29 12:00:00"},
		{"timestamp", "2024-02-29 12:00:00", "2024-02-29 12:00:00 BC"},
		{"timestamp", "2024-02-29 12:00:10", "2024-02-29 12:00:01"},
		{"timestamp", "2024-02-29 12:00:00", "infinity"},
		{"interval", "-00:00:01", "00:00:01"},
		{"interval", "24:00:00", "1 day"},
		{"interval", "24:00:10", "24:00:01"},
		{"text", "a", "a "},
		{"text", "a", "A"},
		{"text", "é", "e\u0301"},
		{"text", "", " "},
		{"char", "ab", "abc"},
		{"set", "", `{""}`},
		{"set", "NULL", `{NULL}`},
		{"set", "a,b", `{"a,b"}`},
		{"set", "a,b", `{b,a}`},
		{"set", "a", `{{a}}`},
		{"set", "a", `[0:0]={a}`},
		{"set", "ab", `{a,b}`},
		{"bytes", "a", `\x6100`},
		{"bytes", `\x61`, `\x61`},
		{"inet", "1.2.3.4", "1.2.3.0/24"},
		{"inet", "1.2.3.4", "::ffff:1.2.3.4"},
		{"jsonb", `1`, `"1"`},
		{"jsonb", `null`, `"null"`},
		{"jsonb", `[1,2]`, `[12]`},
		{"jsonb", `[]`, `{}`},
		{"jsonb", `[[1],2]`, `[[1, 2]]`},
		{"jsonb", `10`, `1`},
		{"jsonb", `1e1`, `1`},
		{"jsonb", `-1`, `1`},
		{"jsonb", `9007199254740993`, `9007199254740992`},
		{"jsonb", `{"a":1,"b":2}`, `{"a": 2, "b": 1}`},
		{"jsonb", `{"a":1}`, `{"a": 1, "b": null}`},
		{"jsonb", `{"a":2,"a":1}`, `{"a": 2}`},
		{"jsonb", `["a","b"]`, `["ab", ""]`},
		{"json", `"\ud800"`, `"\ud801"`},
		{"json", `"\u0000"`, `""`},
		{"json", `1e1000000000001`, `1e1000000000002`},
	} {
		t.Run(c.codec+" "+c.source, func(t *testing.T) {
			source, target := canonical(t, c.codec, c.source, c.target)
			require.NotEqual(t, source, target)
		})
	}
}

func TestBinaryDataInAnotherFormThanHexIsAnErrorNotADifference(t *testing.T) {
	_, err := carry(t, "bytes").CanonTarget(0, nil, b(`a\000`))
	require.ErrorContains(t, err, "bytea_output")
}

func TestBothSidesAreShownAlike(t *testing.T) {
	for _, c := range []struct{ codec, source, target, shown string }{
		{"integer", "42", "42", "42"},
		{"text", "it's", "it's", "'it''s'"},
		{"text", "a\tb", "a\tb", `"a\tb"`},
		{"bytes", "\x00\xff", `\x00ff`, "0x00ff"},
		{"bit:3", "\x05", "101", "101"},
		{"timestamp", "2024-02-29 12:00:00", "2024-02-29 12:00:00", "2024-02-29 12:00:00"},
	} {
		row := carry(t, c.codec)
		require.Equal(t, c.shown, row.ShowSource(0, b(c.source)))
		require.Equal(t, c.shown, row.ShowTarget(0, b(c.target)))
	}
	require.Equal(t, "NULL", carry(t, "text").ShowSource(0, nil))
	require.Equal(t, "'NULL'", carry(t, "text").ShowTarget(0, b("NULL")))
	long := make([]byte, 5000)
	require.Equal(t, carry(t, "bytes").ShowSource(0, long), carry(t, "bytes").ShowTarget(0, b(`\x`+strings.Repeat("0", 10000))))
}

func BenchmarkCanonJSON(bench *testing.B) {
	row := carry(bench, "jsonb")
	document := b(`{"id": 12, "name": "Jane Doe", "tags": ["a", "b\n"], "price": 12.50, "address": {"city": "Springfield", "zip": "12345"}}`)
	bench.SetBytes(int64(len(document)))
	bench.ReportAllocs()
	var buffer []byte
	for bench.Loop() {
		buffer, _ = row.CanonSource(0, buffer[:0], document)
	}
}
