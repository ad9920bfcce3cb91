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

// A request is the bytes of an HTTP request: clients that only write them take
// little of the processors that they share with the server.
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

// A wire is one connection.
type wire struct {
	net.Conn
	in *bufio.Reader
}

func (p *process) dial() (*wire, error) {
	c, err := net.Dial("tcp", p.address)
	if err != nil {
		return nil, err
	}
	return &wire{c, bufio.NewReader(c)}, nil
}

// ask sends one request and returns the body of the answer.
func (w *wire) ask(r request) ([]byte, error) {
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

// send sends n requests over some connections at once; made makes the request
// with a number, and heard, if it is there, gets its answer.
func (p *process) send(connections, n int, made func(i int) request, heard func(i int, body []byte)) error {
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
				if body, failed[c] = w.ask(made(i)); heard != nil && failed[c] == nil {
					heard(i, body)
				}
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// spend returns the microseconds of CPU that the server spends on one of n
// requests, with all that it does after them.
func (p *process) spend(connections, n int, made func(i int) request) (map[string]float64, error) {
	before := p.cpu()
	began := time.Now()
	err := p.send(connections, n, made, nil)
	took := time.Since(began)
	return map[string]float64{"cpu": (p.quiet() - before) / float64(n), "wall": float64(took.Microseconds()) / float64(n)}, err
}

// queue asks one after another and returns, for each request, the
// microseconds of the server's CPU and of time until its answer is here.
func (p *process) queue(n int, made func(i int) request) (cpu, wall []float64, err error) {
	w, err := p.dial()
	if err != nil {
		return nil, nil, err
	}
	defer w.Close()
	for i := range n {
		r := made(i)
		before, began := p.cpu(), time.Now()
		if _, err := w.ask(r); err != nil {
			return nil, nil, err
		}
		wall = append(wall, float64(time.Since(began).Nanoseconds())/1000)
		cpu = append(cpu, p.cpu()-before)
	}
	return cpu, wall, nil
}
