package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
)

// resolvePorts turns names into addresses and wishes into free ports, and refuses those that are taken. The ports are
// let go again before the server takes them: that the server itself can listen is the final word.
func (o *options) resolvePorts() error {
	if o.uiIP == "" {
		o.uiIP = o.ip
	}
	var err error
	if o.ip, err = resolveIP("ip", o.ip); err != nil {
		return err
	}
	if o.uiIP, err = resolveIP("ui-ip", o.uiIP); err != nil {
		return err
	}
	anyPort := o.port == 0
	if o.port, err = claim(o.ip, o.port, "port"); err != nil {
		return err
	}
	if o.uiPort == 0 && !anyPort {
		o.uiPort = o.port + 1000
	}
	if !o.headless {
		if o.uiPort, err = claim(o.uiIP, o.uiPort, "ui-port"); err != nil {
			return err
		}
	}
	if o.httpPort, err = claim(o.ip, o.httpPort, "http-port"); err != nil {
		return err
	}
	if o.metricsPort != 0 {
		o.metricsPort, err = claim(o.ip, o.metricsPort, "metrics-port")
	}
	return err
}

func resolveIP(flag, host string) (string, error) {
	address, err := net.ResolveIPAddr("ip", host)
	if err != nil || address.IP == nil {
		return "", fmt.Errorf("--%s %q is not an address of this machine: give one such as 127.0.0.1 or 0.0.0.0", flag, host)
	}
	return address.String(), nil
}

// claim checks that the port can be listened on, and returns it, or a free one for 0.
func claim(ip string, port int, flag string) (int, error) {
	listener, err := net.Listen("tcp", hostPort(ip, port))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return 0, fmt.Errorf("port %d on %s is in use, perhaps by another Temporal server: stop that one, or choose another port with --%s", port, ip, flag)
	case err != nil:
		return 0, fmt.Errorf("cannot listen for --%s: %w", flag, err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// freePorts returns n different free ports of the loopback address.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		listener, err := net.Listen("tcp", hostPort(loopback, 0))
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close()
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

const loopback = "127.0.0.1"

func hostPort(ip string, port int) string { return net.JoinHostPort(ip, strconv.Itoa(port)) }

// dialable is the address at which something that listens on ip can be reached from this machine.
func dialable(ip string) string {
	if parsed := net.ParseIP(ip); parsed == nil || !parsed.IsUnspecified() {
		return ip
	}
	if strings.Contains(ip, ":") {
		return "::1"
	}
	return loopback
}
