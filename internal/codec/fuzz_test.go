package codec

import (
	"bytes"
	"encoding/json"
	"io"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// decodeCopyText reads one line of COPY text as PostgreSQL's documentation
// describes it, nil for NULL.
func decodeCopyText(t testing.TB, line string) []*string {
	line, complete := strings.CutSuffix(line, "\n")
	require.True(t, complete)
	require.NotContains(t, line, "\n", "an unescaped end of line")
	require.NotContains(t, line, "\r", "an unescaped carriage return")
	var fields []*string
	for field := range strings.SplitSeq(line, "\t") {
		if field == `\N` {
			fields = append(fields, nil)
			continue
		}
		value := decodeField(t, field)
		fields = append(fields, &value)
	}
	return fields
}

func decodeField(t testing.TB, field string) string {
	var value strings.Builder
	for i := 0; i < len(field); i++ {
		if field[i] != '\\' {
			value.WriteByte(field[i])
			continue
		}
		i++
		require.Less(t, i, len(field), "a backslash at the end of a field")
		at := strings.IndexByte("bfnrtv", field[i])
		if at >= 0 {
			value.WriteByte("\b\f\n\r\t\v"[at])
			continue
		}
		require.NotContains(t, "01234567x", field[i:i+1], "an octal or hexadecimal escape")
		value.WriteByte(field[i])
	}
	return value.String()
}

func FuzzARowComesOutOfCopyTextAsItWentIn(f *testing.F) {
	for _, seed := range []string{"", "plain", `\N`, "\\", "a\tb\nc\rd\\e", "日本語", `\.`, "\x00", "\xff", "{\"a\\b\"}", "a,b", ",", strings.Repeat("x", 100) + "\t"} {
		f.Add(seed, []byte(seed))
	}
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		row := carry(t, "text", "bytes", "set", "text")
		out, err := row.Append(nil, [][]byte{b(text), data, b(text), nil})
		if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		fields := decodeCopyText(t, string(out))
		require.Len(t, fields, 4)
		require.Equal(t, text, *fields[0])
		require.Nil(t, fields[3])
		source, target := canonical(t, "bytes", string(data), *fields[1])
		require.Equal(t, source, target)
		source, target = canonical(t, "set", text, *fields[2])
		require.Equal(t, source, target)
	})
}

// meaning is what a JSON document means to jsonb, in Go's own terms.
func meaning(t testing.TB, document []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var value any
	require.NoError(t, decoder.Decode(&value))
	_, err := decoder.Token()
	require.ErrorIs(t, err, io.EOF)
	return normalise(value)
}

func normalise(value any) any {
	switch v := value.(type) {
	case json.Number:
		r, _ := new(big.Rat).SetString(string(v))
		return "number " + r.RatString()
	case string:
		return "string " + v
	case []any:
		for i := range v {
			v[i] = normalise(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = normalise(v[key])
		}
	}
	return value
}

func FuzzJSONIsComparedByWhatItMeans(f *testing.F) {
	for _, seed := range []string{
		`{"bb":1,"a":1.0,"a":2,"c":[1e2,-0.0,true,false,null]}`, `"\ud83d\ude00\u00e9\/"`, `[[],{},""]`, ` { "x" : [ 1 , 2 ] } `, `01`, `1.`, `-`, `{"a"}`,
		`[1,]`, "\"a\tb\"", `nul`, `1e5`, `100000`, `0.00001`, `1E-5`, `{"a":{"b":1},"a":{"c":2}}`, `12345678901234567890.0`, `12345678901234567890`,
	} {
		f.Add([]byte(seed), []byte(`{"a":2,"bb":1}`))
	}
	f.Fuzz(func(t *testing.T, one, other []byte) {
		for _, document := range [][]byte{one, other} {
			if !utf8.Valid(document) || len(document) > maxDepth || bytes.Contains(document, []byte(`\ud`)) || bytes.Contains(document, []byte(`\uD`)) || hugeExponent(document) {
				return
			}
			_, err := carry(t, "json").Append(nil, [][]byte{document})
			require.Equal(t, json.Valid(document), err == nil, "%s: %v", document, err)
			if err != nil {
				return
			}
			rewritten, err := json.MarshalIndent(json.RawMessage(document), " ", "\t")
			require.NoError(t, err)
			source, target := canonical(t, "jsonb", string(document), string(rewritten))
			require.Equal(t, source, target)
		}
		source, target := canonical(t, "jsonb", string(one), string(other))
		if meansTheSame := sameMeaning(meaning(t, one), meaning(t, other)); meansTheSame {
			require.Equal(t, source, target)
		} else {
			require.NotEqual(t, source, target)
		}
	})
}

// hugeExponent is for numbers that the oracle would need gigabytes for.
func hugeExponent(document []byte) bool {
	for _, e := range []byte("eE") {
		for rest := document; ; {
			_, after, found := bytes.Cut(rest, []byte{e})
			if !found {
				break
			}
			digits := len(after) - len(bytes.TrimLeft(after, "+-0123456789"))
			if digits > 4 {
				return true
			}
			rest = after
		}
	}
	return false
}

func sameMeaning(a, b any) bool {
	one, _ := json.Marshal(a)
	other, _ := json.Marshal(b)
	return bytes.Equal(one, other)
}

func FuzzDecimalsAreComparedByTheirValue(f *testing.F) {
	f.Add(int64(-120), uint8(2), uint8(3))
	f.Add(int64(0), uint8(2), uint8(0))
	f.Fuzz(func(t *testing.T, digits int64, scale, zeros uint8) {
		number := new(big.Rat).SetFrac(big.NewInt(digits), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale%30)), nil))
		exact := number.FloatString(int(scale % 30))
		padded := number.FloatString(int(scale%30) + int(zeros%20))
		source, target := canonical(t, "decimal", exact, padded)
		require.Equal(t, source, target)
		_, target = canonical(t, "decimal", exact, new(big.Rat).Add(number, big.NewRat(1, 1)).FloatString(int(scale%30)))
		require.NotEqual(t, source, target)
	})
}
