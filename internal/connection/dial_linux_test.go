package connection

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestAPeerThatIsGoneIsNoticedWithinAMinute(t *testing.T) {
	conn, err := dial(t.Context(), "tcp", listen(t, func(net.Conn) {}))
	require.NoError(t, err)
	defer conn.Close()
	raw, err := conn.(syscall.Conn).SyscallConn()
	require.NoError(t, err)
	options := map[string]int{}
	require.NoError(t, raw.Control(func(fd uintptr) {
		for name, option := range map[string]int{
			"idle": unix.TCP_KEEPIDLE, "interval": unix.TCP_KEEPINTVL, "count": unix.TCP_KEEPCNT, "unanswered": unix.TCP_USER_TIMEOUT,
		} {
			options[name], err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option)
			require.NoError(t, err)
		}
	}))
	require.LessOrEqual(t, options["idle"]+options["interval"]*options["count"], 60)
	require.Equal(t, 45000, options["unanswered"], "milliseconds")
}
