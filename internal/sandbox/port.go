package sandbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

var errPortTaken = errors.New("the port is taken by another program")

// Ports are taken from below those that systems give to outgoing connections (32768 and up on Linux): among those, a
// client that keeps dialling a server that is down is sooner or later given the server's own port, connects to itself
// and keeps the server from coming back.
const (
	firstPort = 15000
	lastPort  = 31999
)

func freePort() (int, error) {
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		return port, listener.Close()
	}
	return 0, fmt.Errorf("no free port found on 127.0.0.1 between %d and %d", firstPort, lastPort)
}
