package mysqlwire

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
)

// script is what a server sends, packet by packet.
type script struct {
	bytes    []byte
	sequence byte
}

func answer() *script { return &script{sequence: 1} }

func (s *script) packet(payload ...byte) *script {
	s.bytes = append(s.bytes, byte(len(payload)), byte(len(payload)>>8), byte(len(payload)>>16), s.sequence)
	s.bytes = append(s.bytes, payload...)
	s.sequence++
	return s
}

func (s *script) columns(n byte) *script {
	s.packet(n)
	for range n {
		s.packet(0x03, 'd', 'e', 'f')
	}
	return s
}

func (s *script) end() *script    { return s.packet(0xfe, 0, 0, 0x02, 0, 0, 0) }
func (s *script) oldEnd() *script { return s.packet(0xfe, 0, 0, 0x02, 0) }

func (s *script) skip() *script { s.sequence++; return s }

func (s *script) cut(n int) *script { s.bytes = s.bytes[:len(s.bytes)-n]; return s }

// receive reads the script as the result of a query, to the end or an error.
func (s *script) receive(t *testing.T) (rows [][]string, err error) {
	client, server := net.Pipe()
	defer client.Close()
	go func() {
		defer server.Close()
		if _, err := io.ReadFull(server, make([]byte, headerSize+1+len("SELECT 1"))); err == nil {
			_, _ = server.Write(s.bytes)
		}
	}()
	r := &Rows{reader: packetReader{ctx: t.Context(), conn: client, buffer: make([]byte, bufferSize), sequence: 1}}
	if err := r.start("SELECT 1"); err != nil {
		return nil, err
	}
	for {
		row, err := r.Next()
		if err != nil {
			return rows, err
		}
		var texts []string
		for _, value := range row {
			texts = append(texts, string(value))
		}
		rows = append(rows, texts)
	}
}

func TestResultsOfOlderServersAndOfNewerOnesAreTheSame(t *testing.T) {
	for name, s := range map[string]*script{
		"new":                 answer().columns(2).packet(1, 'a', 1, 'b').packet(0xfb, 0).end(),
		"old":                 answer().columns(2).oldEnd().packet(1, 'a', 1, 'b').packet(0xfb, 0).oldEnd(),
		"told about metadata": answer().packet(2, 1).packet('x').packet('y').packet(1, 'a', 1, 'b').packet(0xfb, 0).end(),
		"without metadata":    answer().packet(2, 0).packet(1, 'a', 1, 'b').packet(0xfb, 0).end(),
	} {
		rows, err := s.receive(t)
		require.Equal(t, io.EOF, err, name)
		require.Equal(t, [][]string{{"a", "b"}, {"", ""}}, rows, name)
	}
	for name, s := range map[string]*script{
		"new": answer().columns(1).end(), "old": answer().columns(1).oldEnd().oldEnd(),
	} {
		rows, err := s.receive(t)
		require.Equal(t, io.EOF, err, name)
		require.Empty(t, rows, name)
	}
}

func TestNothingButTheEndMarkerEndsAResult(t *testing.T) {
	for name, s := range map[string]*script{
		"nothing at all":            answer(),
		"closed in the columns":     answer().packet(2).packet('x'),
		"closed before a row":       answer().columns(1),
		"closed between rows":       answer().columns(1).packet(1, 'a'),
		"closed in a header":        answer().columns(1).packet(1, 'a').cut(2 + 2),
		"closed in a row":           answer().columns(1).packet(2, 'a', 'b').cut(1),
		"closed in the end marker":  answer().columns(1).packet(1, 'a').end().cut(1),
		"an empty packet":           answer().columns(1).packet(),
		"a packet that is missing":  answer().columns(1).skip().packet(1, 'a').end(),
		"an end out of order":       answer().columns(1).packet(1, 'a').skip().end(),
		"an end marker cut short":   answer().columns(1).packet(0xfe, 0, 0),
		"a row with too few values": answer().columns(2).packet(1, 'a').end(),
		"a row with too many":       answer().columns(1).packet(1, 'a', 1, 'b').end(),
		"a value beyond the row":    answer().columns(1).packet(5, 'a').end(),
		"a length beyond the row":   answer().columns(1).packet(0xfc, 1).end(),
		"a huge length":             answer().columns(1).packet(0xfd, 0xff, 0xff, 0xff, 'a').end(),
		"another result after this": answer().columns(1).packet(0xfe, 0, 0, 0x0a, 0, 0, 0),
		"more after the end":        answer().columns(1).end().packet(1, 'a'),
		"no columns":                answer().packet(0, 0, 0, 2, 0, 0, 0),
		"a request for a file":      answer().packet(0xfb, 'f'),
		"a count that is none":      answer().packet(0xfe, 1),
		"an error cut short":        answer().columns(1).packet(0xff, 1),
	} {
		rows, err := s.receive(t)
		require.Error(t, err, "%s: %v", name, rows)
		require.NotEqual(t, io.EOF, err, name)
	}
}

func TestAnErrorOfTheServerIsReadWhateverItsNumberInTheSequence(t *testing.T) {
	for name, s := range map[string]*script{
		"at once":         answer().packet(append([]byte{0xff, 0x51, 0x04, '#', '0', '8', 'S', '0', '1'}, "going down"...)...),
		"among the rows":  answer().columns(1).packet(1, 'a').packet(append([]byte{0xff, 0x51, 0x04, '#', '0', '8', 'S', '0', '1'}, "going down"...)...),
		"out of order":    answer().columns(1).skip().skip().packet(append([]byte{0xff, 0x51, 0x04, '#', '0', '8', 'S', '0', '1'}, "going down"...)...),
		"without a state": answer().columns(1).packet(append([]byte{0xff, 0x51, 0x04}, "going down"...)...),
	} {
		_, err := s.receive(t)
		server, ok := errors.AsType[*mysql.MySQLError](err)
		require.True(t, ok, "%s: %v", name, err)
		require.Equal(t, uint16(1105), server.Number)
		require.Equal(t, "going down", server.Message, name)
	}
}

func FuzzWhateverTheServerSendsIsARowAnErrorOrTheEnd(f *testing.F) {
	f.Add(answer().columns(2).packet(1, 'a', 0xfb).end().bytes)
	f.Add(answer().columns(1).packet(0xfc, 3, 0, 'a', 'b', 'c').oldEnd().bytes)
	f.Fuzz(func(t *testing.T, sent []byte) {
		if _, err := (&script{bytes: sent}).receive(t); err == nil {
			t.Fatal("no end")
		}
	})
}
