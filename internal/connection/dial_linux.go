package connection

import (
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unansweredLimit is how long what was sent may stay without an answer of the
// peer's kernel. Keepalive does not look at that case, and by itself the kernel
// tries for a quarter of an hour.
const unansweredLimit = 45 * time.Second

func limitUnanswered(network, _ string, conn syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := conn.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unansweredLimit.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
