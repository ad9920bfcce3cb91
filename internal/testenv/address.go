package testenv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// FreeAddress returns an address of loopback, host:port, on which nothing listens. The system gives such a port to no
// connection and to no listener on port 0, so that it is still free after a while.
func FreeAddress() (string, error) {
	var last error
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 10000+rand.IntN(20000)))
		if err == nil {
			return l.Addr().String(), l.Close()
		}
		last = err
	}
	return "", errors.Join(errors.New("no port is free"), last)
}
