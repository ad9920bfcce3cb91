package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A request is the bytes of an HTTP request. Clients that only write them use little of the processors shared with the
// server.
type request []byte

func newRequest(method, path, key string, body any) request {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: */*\r\n", method, path)
	if key != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", key)
	}
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			panic(err) // bodies are made of texts
		}
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(raw), raw)
	} else {
		b.WriteString("\r\n")
	}
	return request(b.String())
}

// A conn is one connection.
type conn struct {
	net.Conn
	in *bufio.Reader
}

func (p *process) dial() (*conn, error) {
	c, err := net.Dial("tcp", p.address)
	if err != nil {
		return nil, err
	}
	return &conn{c, bufio.NewReader(c)}, nil
}

// do sends one request and returns the body of the response.
func (w *conn) do(r request) ([]byte, error) {
	if _, err := w.Write(r); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s: %.300s", res.Status, body)
	}
	return body, err
}

// send sends one request over a new connection.
func (p *process) send(r request) ([]byte, error) {
	w, err := p.dial()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return w.do(r)
}

// sendAll sends n requests over several connections at once. makeRequest returns the request with a number, and the
// optional heard gets its response.
func (p *process) sendAll(connections, n int, makeRequest func(i int) request,
	onResponse func(i int, body []byte)) error {
	var next atomic.Int64
	var all sync.WaitGroup
	failed := make([]error, connections)
	for c := range connections {
		all.Go(func() {
			w, err := p.dial()
			if err != nil {
				failed[c] = err
				return
			}
			defer w.Close()
			for i := int(next.Add(1)) - 1; i < n && failed[c] == nil; i = int(next.Add(1)) - 1 {
				var body []byte
				if body, failed[c] = w.do(makeRequest(i)); onResponse != nil && failed[c] == nil {
					onResponse(i, body)
				}
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// cpuPerRequest returns the microseconds of CPU that the server uses for one of
// n requests, including its work after them.
func (p *process) cpuPerRequest(connections, n int, makeRequest func(i int) request) (figures, error) {
	before := p.cpu()
	start := time.Now()
	err := p.sendAll(connections, n, makeRequest, nil)
	elapsed := time.Since(start)
	return figures{"cpu": (p.waitIdle() - before) / float64(n),
		"wall": float64(elapsed.Microseconds()) / float64(n)}, err
}

// sendSequentially sends one request after another. It calls onResponse with the server's CPU and the wall time of each
// in milliseconds.
func (p *process) sendSequentially(n int, makeRequest func(i int) request,
	onResponse func(body []byte, cpu, wall float64) error) error {
	w, err := p.dial()
	if err != nil {
		return err
	}
	defer w.Close()
	for i := range n {
		r := makeRequest(i)
		before, start := p.cpu(), time.Now()
		body, err := w.do(r)
		wall := float64(time.Since(start).Nanoseconds()) / 1e6
		if err == nil {
			err = onResponse(body, (p.cpu()-before)/1000, wall)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// latencies sends one request after another. It returns the server's CPU and the wall time of each in milliseconds.
func (p *process) latencies(n int, makeRequest func(i int) request) (cpu, wall []float64, err error) {
	err = p.sendSequentially(n, makeRequest, func(_ []byte, c, w float64) error {
		cpu, wall = append(cpu, c), append(wall, w)
		return nil
	})
	return cpu, wall, err
}
