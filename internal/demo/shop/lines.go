package shop

import (
	"encoding/hex"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"time"
)

// lines writes rows in the default format of LOAD DATA: columns between tabs, rows between line feeds, \N for NULL.
type lines struct {
	*chance
	buf   []byte
	open  bool  // the line has a column
	total int64 // lines written
}

func newLines(seed uint64, table string) *lines {
	return &lines{chance: newChance(seed, table)}
}

func (l *lines) end() {
	l.buf = append(l.buf, '\n')
	l.open = false
	l.total++
}

func (l *lines) next() {
	if l.open {
		l.buf = append(l.buf, '\t')
	}
	l.open = true
}

func (l *lines) null() *lines {
	l.next()
	l.buf = append(l.buf, `\N`...)
	return l
}

func (l *lines) number(n int64) *lines {
	l.next()
	l.buf = strconv.AppendInt(l.buf, n, 10)
	return l
}

func (l *lines) real(f float64, bits int) *lines {
	l.next()
	l.buf = strconv.AppendFloat(l.buf, f, 'g', -1, bits)
	return l
}

// cents writes hundredths as a decimal.
func (l *lines) cents(n int64) *lines {
	l.next()
	l.buf = strconv.AppendInt(l.buf, n/100, 10)
	l.buf = append(l.buf, '.', byte('0'+n/10%10), byte('0'+n%10))
	return l
}

func (l *lines) text(s string) *lines {
	l.next()
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\':
			l.buf = append(l.buf, `\\`...)
		case '\t':
			l.buf = append(l.buf, `\t`...)
		case '\n':
			l.buf = append(l.buf, `\n`...)
		case '\r':
			l.buf = append(l.buf, `\r`...)
		default:
			l.buf = append(l.buf, c)
		}
	}
	return l
}

// bytes are written in hexadecimal digits, for UNHEX.
func (l *lines) bytes(b []byte) *lines {
	l.next()
	l.buf = hex.AppendEncode(l.buf, b)
	return l
}

func (l *lines) time(t time.Time, layout string) *lines {
	l.next()
	l.buf = t.AppendFormat(l.buf, layout)
	return l
}

// Layouts of times with as many digits as the columns have.
const (
	seconds = time.DateTime
	millis  = time.DateTime + ".000"
	micros  = time.DateTime + ".000000"
)

// chance decides what is random about the rows of a table. It starts anew with every row, so that each row can be made by
// itself.
type chance struct {
	table uint64 // its seed
	pcg   rand.PCG
	*rand.Rand
}

func newChance(seed uint64, table string) *chance {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(table)) // it never fails
	c := &chance{table: mix(seed ^ hash.Sum64())}
	c.Rand = rand.New(&c.pcg)
	return c
}

// begin starts the chances of a row.
func (c *chance) begin(row int64) { c.pcg.Seed(c.table, mix(uint64(row))) }

// one tells true once in n times, on average.
func (c *chance) one(n int) bool { return c.IntN(n) == 0 }

// pick is one of several.
func pick[T any](c *chance, from []T) T { return from[c.IntN(len(from))] }

// mix spreads the bits of numbers that differ in little (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
