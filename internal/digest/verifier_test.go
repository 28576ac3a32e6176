package digest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/codec"
	"godwit/internal/engine"
	"godwit/internal/task"
)

func opening(all ...[][]byte) func(context.Context) (engine.Stream, error) {
	return func(context.Context) (engine.Stream, error) { return &rows{rows: all}, nil }
}

func diff(t testing.TB, f *codec.Row, key []int, source, target [][][]byte) ([]task.Difference, int64) {
	t.Helper()
	found, total, err := Diff(context.Background(), opening(source...), opening(target...), f, key, Options{Table: "public.t", Report: 100})
	require.NoError(t, err)
	return found, total
}

// planted is a table in which a fault is planted, and what has to be said of it.
type planted struct {
	name   string
	codecs []string
	key    []int
	source [][][]byte
	target [][][]byte
	found  []task.Difference
}

func unlike(key string, columns ...string) task.Difference {
	d := task.Difference{Table: "public.t", What: "different", Key: key}
	for i := 0; i < len(columns); i += 3 {
		d.Columns = append(d.Columns, task.ColumnDiff{Column: columns[i], Source: columns[i+1], Target: columns[i+2]})
	}
	return d
}

var faults = []planted{
	{"a value that is not the same", []string{"integer", "text"}, []int{0},
		[][][]byte{row("1", "x"), row("2", "y")}, [][][]byte{row("1", "x"), row("2", "z")}, []task.Difference{unlike("2", "b", "'y'", "'z'")}},
	{"one bit", []string{"integer", "bytes"}, []int{0},
		[][][]byte{row("1", "\x00\x01")}, [][][]byte{row("1", `\x0000`)}, []task.Difference{unlike("1", "b", "0x0001", "0x0000")}},
	{"one microsecond", []string{"integer", "timestamp"}, []int{0},
		[][][]byte{row("1", "2024-05-06 07:08:09.000001")}, [][][]byte{row("1", "2024-05-06 07:08:09")},
		[]task.Difference{unlike("1", "b", "2024-05-06 07:08:09.000001", "2024-05-06 07:08:09")}},
	{"the sign of zero", []string{"integer", "float8"}, []int{0},
		[][][]byte{row("1", "-0")}, [][][]byte{row("1", "0")}, []task.Difference{unlike("1", "b", "-0", "0")}},
	{"the last digit of a float", []string{"integer", "float4"}, []int{0},
		[][][]byte{row("1", "0.10000000149011612")}, [][][]byte{row("1", "0.10000001")}, []task.Difference{unlike("1", "b", "0.10000000149011612", "0.10000001")}},
	{"NULL that became empty", []string{"integer", "text"}, []int{0},
		[][][]byte{row("1", null)}, [][][]byte{row("1", "")}, []task.Difference{unlike("1", "b", "NULL", "''")}},
	{"empty that became NULL", []string{"integer", "text"}, []int{0},
		[][][]byte{row("1", "")}, [][][]byte{row("1", null)}, []task.Difference{unlike("1", "b", "''", "NULL")}},
	{"NULL that became the word", []string{"integer", "text"}, []int{0},
		[][][]byte{row("1", null)}, [][][]byte{row("1", "NULL")}, []task.Difference{unlike("1", "b", "NULL", "'NULL'")}},
	{"a trailing blank", []string{"integer", "text"}, []int{0},
		[][][]byte{row("1", "x ")}, [][][]byte{row("1", "x")}, []task.Difference{unlike("1", "b", "'x '", "'x'")}},
	{"case", []string{"integer", "text"}, []int{0},
		[][][]byte{row("1", "x")}, [][][]byte{row("1", "X")}, []task.Difference{unlike("1", "b", "'x'", "'X'")}},
	{"another form of Unicode", []string{"integer", "text"}, []int{0},
		[][][]byte{row("1", "\u00e9")}, [][][]byte{row("1", "e\u0301")}, []task.Difference{unlike("1", "b", `'\u00e9'`, `'e\u0301'`)}},
	{"a character that cannot be seen", []string{"integer", "text"}, []int{0},
		[][][]byte{row("1", "x")}, [][][]byte{row("1", "x\u200b")}, []task.Difference{unlike("1", "b", "'x'", `"x\u200b"`)}},
	{"values swapped between columns", []string{"integer", "text", "text"}, []int{0},
		[][][]byte{row("1", "x", "y")}, [][][]byte{row("1", "y", "x")}, []task.Difference{unlike("1", "b", "'x'", "'y'", "c", "'y'", "'x'")}},
	{"a value that slipped into the next column", []string{"integer", "text", "text"}, []int{0},
		[][][]byte{row("1", "xy", "")}, [][][]byte{row("1", "x", "y")}, []task.Difference{unlike("1", "b", "'xy'", "'x'", "c", "''", "'y'")}},
	{"values swapped between rows", []string{"integer", "text"}, []int{0},
		[][][]byte{row("1", "x"), row("2", "y")}, [][][]byte{row("1", "y"), row("2", "x")},
		[]task.Difference{unlike("1", "b", "'x'", "'y'"), unlike("2", "b", "'y'", "'x'")}},
	{"a NULL swapped between columns", []string{"integer", "text", "text"}, []int{0},
		[][][]byte{row("1", null, "x")}, [][][]byte{row("1", "x", null)}, []task.Difference{unlike("1", "b", "NULL", "'x'", "c", "'x'", "NULL")}},
	{"a row lost", []string{"integer", "text"}, []int{0},
		[][][]byte{row("1", "x"), row("2", "y")}, [][][]byte{row("1", "x")}, []task.Difference{{Table: "public.t", What: "missing", Key: "2"}}},
	{"a row too many", []string{"integer", "text"}, []int{0},
		[][][]byte{row("1", "x")}, [][][]byte{row("1", "x"), row("2", "y")}, []task.Difference{{Table: "public.t", What: "extra", Key: "2"}}},
	{"all rows lost", []string{"integer"}, []int{0},
		[][][]byte{row("1"), row("2")}, nil, []task.Difference{{Table: "public.t", What: "missing", Key: "1"}, {Table: "public.t", What: "missing", Key: "2"}}},
	{"a row doubled", []string{"integer", "text"}, []int{0},
		[][][]byte{row("1", "x")}, [][][]byte{row("1", "x"), row("1", "x")}, []task.Difference{{Table: "public.t", What: "extra", Key: "1 (once in the source, 2 times in the target)"}}},
	{"a row doubled and one lost", []string{"integer", "text"}, []int{0},
		[][][]byte{row("1", "x"), row("2", "y")}, [][][]byte{row("1", "x"), row("1", "x")},
		[]task.Difference{{Table: "public.t", What: "extra", Key: "1 (once in the source, 2 times in the target)"}, {Table: "public.t", What: "missing", Key: "2"}}},
	{"another key", []string{"integer", "text"}, []int{0},
		[][][]byte{row("1", "x")}, [][][]byte{row("2", "x")}, []task.Difference{{Table: "public.t", What: "missing", Key: "1"}, {Table: "public.t", What: "extra", Key: "2"}}},
	{"the case of a key", []string{"text", "integer"}, []int{0},
		[][][]byte{row("Key", "1")}, [][][]byte{row("key", "1")}, []task.Difference{{Table: "public.t", What: "missing", Key: "'Key'"}, {Table: "public.t", What: "extra", Key: "'key'"}}},
	{"a composite key's parts swapped", []string{"integer", "text", "text"}, []int{1, 2},
		[][][]byte{row("1", "x", "y")}, [][][]byte{row("1", "y", "x")},
		[]task.Difference{{Table: "public.t", What: "missing", Key: "('x', 'y')"}, {Table: "public.t", What: "extra", Key: "('y', 'x')"}}},
	{"without a key, one of two equal rows lost", []string{"integer", "text"}, nil,
		[][][]byte{row("1", "x"), row("1", "x"), row("2", "y")}, [][][]byte{row("1", "x"), row("2", "y")},
		[]task.Difference{{Table: "public.t", What: "missing", Key: "(1, 'x') (2 times in the source, once in the target)"}}},
	{"without a key, both of two equal rows lost", []string{"integer", "text"}, nil,
		[][][]byte{row("1", "x"), row("1", "x"), row("2", "y")}, [][][]byte{row("2", "y")},
		[]task.Difference{{Table: "public.t", What: "missing", Key: "(1, 'x') (2 times in the source, 0 times in the target)"}}},
	{"without a key, a value that is not the same", []string{"integer", "text"}, nil,
		[][][]byte{row("1", "x")}, [][][]byte{row("1", null)}, []task.Difference{{Table: "public.t", What: "missing", Key: "(1, 'x')"}, {Table: "public.t", What: "extra", Key: "(1, NULL)"}}},
}

func TestEveryPlantedDifferenceIsFound(t *testing.T) {
	for _, p := range faults {
		t.Run(p.name, func(t *testing.T) {
			f := form(t, p.codecs...)
			require.False(t, sumOf(t, f.CanonSource, p.source...).Equal(sumOf(t, f.CanonTarget, p.target...)), "the digests are the same")
			found, total := diff(t, f, p.key, p.source, p.target)
			require.ElementsMatch(t, p.found, found)
			if p.name != "without a key, both of two equal rows lost" {
				require.Equal(t, int64(len(p.found)), total)
			} else {
				require.Equal(t, int64(2), total)
			}
		})
	}
}

func TestAPlantedDifferenceIsFoundAmongManyRows(t *testing.T) {
	for _, p := range faults {
		t.Run(p.name, func(t *testing.T) {
			source, target := p.source, p.target
			for i := 100; i < 3000; i++ {
				more := make([]string, len(p.codecs))
				same := make([]string, len(p.codecs))
				for c, name := range p.codecs {
					more[c] = map[string]string{"timestamp": fmt.Sprintf("2020-01-01 00:00:00.%06d", i), "bytes": strconv.Itoa(i)}[name]
					if same[c] = more[c]; more[c] == "" {
						more[c], same[c] = strconv.Itoa(i), strconv.Itoa(i)
					}
					if name == "bytes" {
						same[c] = fmt.Sprintf(`\x%x`, more[c])
					}
				}
				source, target = append(source, row(more...)), append(target, row(same...))
			}
			shuffle := rand.New(rand.NewPCG(1, 2))
			shuffle.Shuffle(len(target), func(i, j int) { target[i], target[j] = target[j], target[i] })
			f := form(t, p.codecs...)
			require.False(t, sumOf(t, f.CanonSource, source...).Equal(sumOf(t, f.CanonTarget, target...)), "the digests are the same")
			found, _ := diff(t, f, p.key, source, target)
			require.ElementsMatch(t, p.found, found)
		})
	}
}

func TestEqualSidesHaveNoDifference(t *testing.T) {
	f := form(t, "integer", "timestamp", "bytes", "decimal", "jsonb")
	source := [][][]byte{row("1", "2024-05-06 07:08:09.500000", "ab", "1.50", `{"b":1,"a":2}`), row("2", null, null, null, null)}
	target := [][][]byte{row("2", null, null, null, null), row("1", "2024-05-06 07:08:09.5", `\x6162`, "1.5000", `{"a": 2, "b": 1.0}`)}
	require.True(t, sumOf(t, f.CanonSource, source...).Equal(sumOf(t, f.CanonTarget, target...)))
	found, total := diff(t, f, []int{0}, source, target)
	require.Empty(t, found)
	require.Zero(t, total)
	found, total = diff(t, f, nil, nil, nil)
	require.Empty(t, found)
	require.Zero(t, total)
}

// numbered is rows 1 to n with a text column.
func numbered(n int, text func(i int) string) [][][]byte {
	all := make([][][]byte, n)
	for i := range all {
		all[i] = row(strconv.Itoa(i+1), text(i))
	}
	return all
}

func same(int) string { return "x" }

func TestMoreDifferencesThanAreListedAreCounted(t *testing.T) {
	f := form(t, "integer", "text")
	source := numbered(5000, same)
	target := numbered(5000, func(i int) string { return strconv.Itoa(i % 2) })
	for _, report := range []int{0, 1, 10} {
		found, total, err := Diff(context.Background(), opening(source...), opening(target...), f, []int{0}, Options{Report: report})
		require.NoError(t, err)
		require.Len(t, found, report)
		require.Equal(t, int64(5000), total)
	}
}

func TestDifferencesAreListedInTheOrderOfTheSource(t *testing.T) {
	f := form(t, "integer", "text")
	source, target := numbered(50, same), numbered(50, func(i int) string { return "y" })
	found, _ := diff(t, f, []int{0}, source, target)
	require.Len(t, found, 50)
	for i := range found {
		require.Equal(t, strconv.Itoa(i+1), found[i].Key)
	}
}

func TestFewRowsAtATimeAreHeldInMemory(t *testing.T) {
	f := form(t, "integer", "text")
	source, target := numbered(3000, same), numbered(2900, func(i int) string { return []string{"x", "y"}[i/2000] })
	opened := 0
	open := func(ctx context.Context) (engine.Stream, error) {
		opened++
		return opening(source...)(ctx)
	}
	found, total, err := Diff(context.Background(), open, opening(target...), f, []int{0}, Options{Report: 5, maxRows: 100, maxPasses: 1000, buckets: 10})
	require.NoError(t, err)
	require.Len(t, found, 5)
	require.Equal(t, int64(1000), total)
	require.Greater(t, opened, 20, "all the differing rows were held at once")

	opened = 0
	found, total, err = Diff(context.Background(), open, opening(target...), f, []int{0}, Options{Report: 5, maxRows: 100, maxPasses: 3, buckets: 10})
	require.NoError(t, err)
	require.Len(t, found, 5)
	require.Greater(t, total, int64(100))
	require.LessOrEqual(t, total, int64(1000), "more are reported than there are")
	require.Equal(t, 1+3+1, opened)
}

func TestManyRowsOfOneKeyAreCompared(t *testing.T) {
	f := form(t, "integer", "text")
	var source, target [][][]byte
	for i := range 100 {
		source = append(source, row("7", strconv.Itoa(i)))
		target = append(target, row("7", strconv.Itoa(99-i)))
	}
	found, total := diff(t, f, []int{0}, source, target)
	require.Empty(t, found)
	require.Zero(t, total)
	target[50] = row("7", "changed")
	found, total = diff(t, f, []int{0}, source, target)
	require.Equal(t, []task.Difference{{Table: "public.t", What: "different", Key: "7 (100 times in the source, 100 times in the target)"}}, found)
	require.Equal(t, int64(1), total)
}

// changing opens another set of rows each time.
func changing(versions ...[][][]byte) func(context.Context) (engine.Stream, error) {
	at := 0
	return func(context.Context) (engine.Stream, error) {
		version := versions[min(at, len(versions)-1)]
		at++
		return &rows{rows: version}, nil
	}
}

func TestARowThatHasArrivedInTheMeantimeIsNoDifference(t *testing.T) {
	f := form(t, "integer", "text")
	source := numbered(10, same)
	late := numbered(9, same)
	// Reads: buckets, suspects, rows, and the first recheck, which finds it.
	found, total, err := Diff(context.Background(), opening(source...), changing(late, late, late, source), f, []int{0}, Options{Report: 5, Rechecks: 1, Delay: time.Millisecond})
	require.NoError(t, err)
	require.Empty(t, found)
	require.Zero(t, total)

	found, total, err = Diff(context.Background(), opening(source...), changing(late, late, late, late, source), f, []int{0}, Options{Report: 5, Rechecks: 1, Delay: time.Millisecond})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, int64(1), total)
}

func TestARealDifferenceBehindLateOnesIsFound(t *testing.T) {
	f := form(t, "integer", "text")
	source := numbered(200, same)
	broken := numbered(200, func(i int) string {
		if i == 150 {
			return "y"
		}
		return "x"
	})
	late := append(numbered(100, func(int) string { return "old" }), broken[100:]...)
	found, total, err := Diff(context.Background(), opening(source...), changing(late, late, broken), f, []int{0}, Options{Report: 1, Rechecks: 5, Delay: time.Millisecond})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "151", found[0].Key)
	require.GreaterOrEqual(t, total, int64(1))
}

func TestADiffThatCannotReadASideIsAnError(t *testing.T) {
	f := form(t, "integer", "text")
	source, target := numbered(10, same), numbered(9, same)
	broken := errors.New("connection reset")
	for failing := 1; failing <= 4; failing++ {
		for _, failure := range []func() (engine.Stream, error){
			func() (engine.Stream, error) { return nil, broken },
			func() (engine.Stream, error) { return &rows{rows: source[:3], end: broken}, nil },
		} {
			_, _, err := Diff(context.Background(), openFailing(failing, failure, source), opening(target...), f, []int{0}, Options{Report: 5, Rechecks: 1})
			require.ErrorIs(t, err, broken)
			_, _, err = Diff(context.Background(), opening(target...), openFailing(failing, failure, source), f, []int{0}, Options{Report: 5, Rechecks: 1})
			require.ErrorIs(t, err, broken)
		}
	}
}

func openFailing(failing int, failure func() (engine.Stream, error), all [][][]byte) func(context.Context) (engine.Stream, error) {
	at := 0
	return func(context.Context) (engine.Stream, error) {
		if at++; at == failing {
			return failure()
		}
		return &rows{rows: all}, nil
	}
}

func TestEveryStreamThatIsOpenedIsClosed(t *testing.T) {
	f := form(t, "integer", "text")
	opened, closed := 0, 0
	open := func(context.Context) (engine.Stream, error) {
		opened++
		return &rows{rows: numbered(10, same), closed: &closed}, nil
	}
	_, _, err := Diff(context.Background(), open, opening(numbered(9, same)...), f, []int{0}, Options{Report: 5, Rechecks: 1})
	require.NoError(t, err)
	require.Equal(t, 4, opened)
	require.Equal(t, opened, closed)
}

func TestADiffStopsWithItsContext(t *testing.T) {
	f := form(t, "integer", "text")
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, _, err := Diff(ctx, opening(numbered(10, same)...), opening(numbered(9, same)...), f, []int{0}, Options{Report: 5, Rechecks: 1, Delay: time.Hour})
	require.ErrorIs(t, err, context.Canceled)
}

func TestBucketsOfAnotherNumberCannotBeCompared(t *testing.T) {
	f := form(t, "integer")
	four, err := ReadBuckets(context.Background(), &rows{}, NewHasher(f.CanonSource), nil, 2, nil)
	require.NoError(t, err)
	eight, err := ReadBuckets(context.Background(), &rows{}, NewHasher(f.CanonSource), nil, 3, nil)
	require.NoError(t, err)
	_, err = four.Differing(eight)
	require.Error(t, err)
	require.True(t, four.Total().Equal(sumOf(t, f.CanonSource)))
}
