package printer

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

type animal struct {
	Name string `json:"name"`
}

func TestDataAndNotesNeverMix(t *testing.T) {
	for format, want := range map[Format]string{
		Text: "a <godwit>\na line\n",
		JSON: "{\n  \"name\": \"<godwit>\"\n}\n{\"name\":\"<godwit>\"}\n",
	} {
		var out, notes bytes.Buffer
		p := New(&out, &notes, format)
		value := animal{Name: "<godwit>"}
		require.NoError(t, p.Document(value, func(w io.Writer) error {
			_, err := io.WriteString(w, "a <godwit>\n")
			return err
		}))
		require.NoError(t, p.Line(value, "a line"))
		p.Note("by the way: %d", 1)
		require.Equal(t, want, out.String())
		require.Equal(t, "by the way: 1\n", notes.String())
	}
}
