package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A request is the bytes of an HTTP request. Clients that only write them use little of the processors shared with the
// server.
type request []byte

func newRequest(method, path, key string, body any, headers ...string) request {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: */*\r\n", method, path)
	if key != "" {
		headers = append(headers, "Authorization: Bearer "+key)
	}
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			panic(err) // bodies are made of texts
		}
		headers = append(headers, "Content-Type: application/json", fmt.Sprint("Content-Length: ", len(raw)))
	}
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	return request(b.String() + "\r\n" + string(raw))
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
	if err == nil && (res.StatusCode >= 300 || bytes.Contains(body, []byte(`"isError":true`))) {
		err = fmt.Errorf("%s: %.300s", res.Status, body)
	}
	return body, err
}

// ask returns the response to a request over a new connection, or ends the row.
func (p *process) ask(r request) []byte {
	w := must(p.dial())
	defer w.Close()
	return must(w.do(r))
}

// A response has the microseconds of its request too: wall time, and of a single client the server's CPU.
type response struct {
	body      []byte
	wall, cpu float64
}

// sendAll sends n requests over several connections at once. It calls onResponse, if there is one, for one response
// after another.
func (p *process) sendAll(clients, n int, makeRequest func(i int) request, onResponse func(i int, r response)) error {
	var last atomic.Int64
	var all sync.WaitGroup
	var mu sync.Mutex
	failed := make([]error, clients)
	for c := range clients {
		all.Go(func() {
			w, err := p.dial()
			if err == nil {
				defer w.Close()
			}
			for i := int(last.Add(1)) - 1; i < n && err == nil; i = int(last.Add(1)) - 1 {
				var r response
				raw, start := makeRequest(i), time.Now()
				if clients == 1 {
					r.cpu = -p.cpu()
				}
				r.body, err = w.do(raw)
				r.wall = microseconds(time.Since(start))
				if clients == 1 {
					r.cpu += p.cpu()
				}
				if onResponse != nil && err == nil {
					mu.Lock()
					onResponse(i, r)
					mu.Unlock()
				}
			}
			failed[c] = err
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// measure sends n requests over several connections at once. Its figures are microseconds of a request: cpu has the
// server's work after the responses too; p50 and p99 are latencies. A single client has each and each99 too, the CPU
// from a request to its response. MB is the anonymous memory after the turn.
func (p *process) measure(clients, n int, makeRequest func(i int) request) figures {
	var walls, cpus []float64
	before := p.cpu()
	check(p.sendAll(clients, n, makeRequest, func(_ int, r response) {
		if !bytes.Contains(r.body, []byte(`"mode":"keyword_fallback"`)) { // the machine was too busy for the stub
			walls, cpus = append(walls, r.wall), append(cpus, r.cpu)
		}
	}))
	if len(walls) < n-n/10 {
		check(fmt.Errorf("%d of %d queries got no vector", n-len(walls), n))
	}
	f := figures{"cpu": (p.waitIdle() - before) / float64(n), "p50": quantile(walls, .5), "p99": quantile(walls, .99)}
	if f["MB"] = p.anonymousMemory(); clients == 1 {
		f["each"], f["each99"] = quantile(cpus, .5), quantile(cpus, .99)
	}
	return f
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// firstID returns the first id in a response.
func firstID(body []byte) string { return textField(body, "id") }

// textField returns the first text in a response that has a name.
func textField(body []byte, name string) string {
	_, rest, _ := bytes.Cut(body, []byte(`"`+name+`":"`))
	text, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(text)
}

// listen opens a stream of an agent, and returns it after its first event.
func (p *process) listen(key string) *conn {
	w := must(p.dial())
	must(w.Write(newRequest("GET", "/v1/agent-messages/events", key, nil, agentHeader)))
	check(w.waitForLine("retry:", "event: ready"))
	return w
}

// waitForLine reads until a line begins in one of these ways.
func (w *conn) waitForLine(prefixes ...string) error {
	for {
		text, err := w.in.ReadString('\n')
		if err != nil {
			return err
		}
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) }) {
			return nil
		}
	}
}
