package connection

import (
	"context"
	"net"
	"time"
)

// dial reaches a server. A statement may run for hours without a byte on the
// wire, so reads have no time limit; instead the kernel asks the peer whether
// it is still there, and gives up on it within a minute.
func dial(ctx context.Context, network, place string) (net.Conn, error) {
	dialer := net.Dialer{
		Timeout:         openLimit,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 6},
		Control:         limitUnanswered,
	}
	return dialer.DialContext(ctx, network, place)
}
