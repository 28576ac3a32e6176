package sandbox

import (
	"fmt"
	"os"
	"strings"
)

const tailLines = 12

// openLog opens what the server writes to; it is kept over restarts.
func (s *Server) openLog() (*os.File, error) {
	return os.OpenFile(s.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
}

func (s *Server) logFrom(offset int64) string {
	text, err := os.ReadFile(s.logPath())
	if err != nil || int64(len(text)) < offset {
		return ""
	}
	return string(text[offset:])
}

// wrap makes an error of this server one that can be understood when the server and its folder are gone.
func (s *Server) wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	log := strings.TrimSpace(s.logFrom(0))
	if log == "" {
		return fmt.Errorf("%s %s on port %d: %w", doing, s.Kind, s.Port, err)
	}
	tail := strings.Split(log, "\n")
	tail = tail[max(0, len(tail)-tailLines):]
	text := strings.ReplaceAll(strings.Join(tail, "\n  "), s.password, "…")
	return fmt.Errorf("%s %s on port %d: %w; end of its log:\n  %s", doing, s.Kind, s.Port, err, text)
}
