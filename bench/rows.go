package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/rest"
)

// Sizes of turns and datasets.
const (
	busyClients  = 8 // keep a server busy: falling asleep and waking up cost time
	manyClients  = 32
	reads        = 2000
	searches     = 400
	memoriesEach = 100 // in a small workspace
)

// rows returns the rows in the order in which they run.
func rows() []row {
	return []row{
		{"get", 5, (*bench).get, append(overFloor("read of 700 bytes over HTTP", "REST cpu", 2.2),
			over("memory_get over MCP, over REST", "loci MCP cpu", "loci REST cpu", 1.5))},
		{"create", 1, (*bench).create, createLines()},
		{"search", 1, (*bench).search, searchLines()},
		{"hybrid", 1, (*bench).hybrid, hybridLines()},
		{"workspaces", 1, (*bench).workspaces, workspacesLines()},
		{"tenants", 2, (*bench).tenants, []line{
			over("search of 100 beside all small workspaces, over alone", "beside cpu", "alone cpu", 1.2)}},
		{"scale", 2, (*bench).scale, []line{
			over("status of all memories, over 100", "many status cpu", "few status cpu", 1.5),
			over("list of 20 of all, over 100", "many list cpu", "few list cpu", 1.3),
			over("context of 20 of all, over 100", "many context cpu", "few context cpu", 0)}},
		{"start", 1, (*bench).startup, []line{value("from the start to the first answered search", "loci ms", 150)}},
		{"ingest", 1, (*bench).ingest, []line{
			over("reads by 8 clients while notes are embedded, over at rest", "busy reads", "rest reads", .7).atLeast(),
			over("notes embedded beside these reads, over without", "busy rate", "quiet rate", 0)}},
		{"meaning", 1, (*bench).meaning, []line{
			over("create of 700 bytes until its vector is stored, over the former", "loci cpu", "former cpu", 1.3),
			over("the same, p50 of time", "loci p50", "former p50", 1.5),
			over("the same, p99 of time", "loci p99", "former p99", 0)}},
		{"send", 2, (*bench).sendScale, []line{
			over("agent.send to an agent with 100,000 messages, over 1,000", "100000 cpu", "1000 cpu", 1.4)}},
		{"streams", 1, (*bench).idleStreams, []line{
			over("anonymous memory of an idle stream of 2,000", "loci KB", "floor KB", 2)}},
		{"broadcast", 1, (*bench).broadcast, []line{
			over("an event of a broadcast to 60 agents that listen", "loci cpu", "floor cpu", 4)}},
		{"delivery", 1, (*bench).delivery, []line{
			over("from a POST to the event at the same server, p50, over the POST", "same p50", "same post", 2),
			over("the same at another server on PostgreSQL", "other p50", "other post", 5),
			value("the same server, p99", "same p99", 0), value("another server, p99", "other p99", 0)}},
		{"files", 1, (*bench).files, []line{
			over("upload of 100 MiB, over a handler that stores it", "loci upload cpu", "floor upload cpu", 1.3),
			over("four downloads of 100 MiB, over http.ServeFile", "loci download cpu", "floor download cpu", 1.3)}},
		{"hook", 1, (*bench).hook, []line{
			value("loci hook at a server that never answers, p50", "hook ms", 300),
			over("the same, p95, over loci version", "hook p95 ms", "version p95 ms", 0)}},
	}
}

// dataset returns the dataset of n memories of ann.
func (b *bench) dataset(name string, n int, text func(i int) string) dataset {
	return dataset{name: fmt.Sprint(name, "-", n), fill: func(at *fixture, p *process) {
		at.IDs = make([]string, n)
		check(p.sendAll(manyClients, n, func(i int) request { return createRequest(at, text(i)) },
			func(i int, r response) { at.IDs[i] = firstID(r.body) }))
		p.waitIdle()
	}}
}

// prose returns the dataset of memories of 700 bytes, for the rows without searches.
func (b *bench) prose() dataset { return b.dataset("prose", min(10_000, b.memories), b.corpus.prose) }

// notes returns the dataset of the notes that are searched by keywords.
func (b *bench) notes() dataset { return b.dataset("notes", b.memories, b.corpus.note) }

// chunks returns a dataset of notes of one chunk each, with vectors of the stub.
func (b *bench) chunks(n int) dataset {
	d := b.dataset("chunks", n, b.corpus.chunk)
	d.hasVectors = true
	return d
}

// crowd returns the dataset of 100 notes of ann, beside as many small workspaces of bob as all memories fill.
func (b *bench) crowd() dataset {
	const each = memoriesEach / 2
	d := b.dataset("crowd", memoriesEach, b.corpus.chunk)
	own := d.fill
	return dataset{fmt.Sprint("crowd-", b.memories), true, func(at *fixture, p *process) {
		own(at, p)
		ids := make([]string, max(1, b.memories/each))
		check(p.sendAll(busyClients, len(ids), func(i int) request {
			return newRequest("POST", "/v1/workspaces", at.Keys["bob"], map[string]any{"name": fmt.Sprint("Team ", i)})
		}, func(i int, r response) { ids[i] = firstID(r.body) }))
		check(p.sendAll(manyClients, each*len(ids), func(i int) request {
			return newRequest("POST", "/v1/memories", at.Keys["bob"],
				map[string]any{"content": b.corpus.chunk(i), "workspaceId": ids[i%len(ids)]})
		}, nil))
	}}
}

// loci is Loci with the first driver.
func (b *bench) loci(name string) []variant { return []variant{{name, b.drivers[0], nil}} }

func createRequest(at *fixture, content string) request {
	return at.request("POST", "/v1/memories",
		map[string]any{"content": content, "title": content[:32], "type": "note", "tags": []string{"bench"}})
}

// creates returns a load of texts that no other load has: seed distinguishes them.
func (b *bench) creates(name string, clients, n, seed int) load {
	return load{name, clients, n, func(at *fixture, i int) request {
		return createRequest(at, b.corpus.prose(seed*1_000_000+i))
	}}
}

// gets returns a load of one path.
func gets(name string, clients, n int, path string) load {
	return load{name, clients, n, func(at *fixture, _ int) request { return at.request("GET", path, nil) }}
}

// randomID returns the id of the memory that read number i reads.
func (at *fixture) randomID(i int) string { return at.IDs[newRand(seedReads, i).IntN(len(at.IDs))] }

// randomReads returns a load of reads over REST.
func randomReads(name string) load {
	return load{name, busyClients, reads, func(at *fixture, i int) request {
		return at.request("GET", "/v1/memories/"+at.randomID(i), nil)
	}}
}

// get compares a read over HTTP with a handler that has one prepared read, and a read over MCP with one over REST.
func (b *bench) get() []side {
	mcp := load{"MCP", busyClients, reads, func(at *fixture, i int) request {
		return at.request("POST", "/mcp", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
			"params": map[string]any{"name": "memory_get", "arguments": map[string]string{"memoryId": at.randomID(i)}}})
	}}
	sides := b.compare(b.prose(), b.versus("get"), randomReads("REST"))
	return append(sides, b.compare(b.prose(), b.loci("loci"), mcp)...)
}

// create compares creates with a floor that writes the same rows.
func (b *bench) create() []side {
	text := b.corpus.prose(0)
	document := index.AnalyzeEncoded(text[:32], text) // of the usual size
	return b.compare(b.prose(), b.versus("create", "-blob", fmt.Sprint(len(document))),
		b.creates("1 client", 1, 200, 1), b.creates("8 clients", busyClients, 800, 2),
		b.creates("32 clients", manyClients, 3200, 3))
}

func createLines() []line {
	return slices.Concat(overFloor("700 bytes, 32 clients, flushes counted", "32 clients cpu", 2.5),
		overFloor("the same, 8 clients", "8 clients cpu", 0), overFloor("the same, 1 client", "1 client cpu", 0),
		[]line{over("1 client, p50 of time, over the floor", "loci 1 client p50", "floor 1 client p50", 0)})
}

// tenants compares a search in a workspace alone with the same beside many workspaces of another user.
func (b *bench) tenants() []side {
	search := load{"", busyClients, reads, func(at *fixture, i int) request {
		return searchRequest(at.Keys["ann"], "keyword", b.corpus.question(i), i)
	}}
	return append(b.compare(b.chunks(memoriesEach), b.loci("alone"), search),
		b.compare(b.crowd(), b.loci("beside"), search)...)
}

// scale compares reads of a user with all notes, which wait for their vectors, with those of a user with few.
func (b *bench) scale() []side {
	loads := []load{gets("status", busyClients, reads, "/v1/status"),
		gets("list", busyClients, reads, "/v1/memories?limit=20"),
		gets("context", busyClients, 200, "/v1/memories/context")}
	return append(b.compare(b.dataset("notes", memoriesEach, b.corpus.note), b.loci("few"), loads...),
		b.compare(b.notes(), b.loci("many"), loads...)...)
}

const (
	fileBlocks = 100 // of 1 MiB, in a file
	fileSize   = fileBlocks << 20
)

// files compares uploads with a handler that stores its body, and downloads with http.ServeFile.
func (b *bench) files() []side {
	at, p := b.serveVariant(b.prose(), b.loci("loci")[0])
	_, floor := b.serveVariant(b.prose(), b.versus("files")[0])
	block := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(block) // it never fails
	measure := func(name string, p *process, transfer func()) side {
		return side{name, func(int) figures {
			before := p.waitIdle()
			transfer()
			return figures{"cpu": p.waitIdle() - before}
		}}
	}
	var up loci.Upload
	var down loci.Download
	return []side{
		measure("floor upload", floor, func() { floor.put("/file", block) }),
		{"announcement", func(turn int) figures {
			p.fileCall(at, "POST", "upload-url", map[string]any{"memoryId": at.IDs[turn], "fileName": "drawing.bin",
				"size": fileSize, "mimeType": "application/octet-stream"}, &up)
			return nil
		}},
		measure("loci upload", p, func() { p.put(pathOf(up.UploadURL), block) }),
		{"confirmation", func(int) figures {
			id := up.Attachment.ID
			p.fileCall(at, "POST", "confirm-upload", map[string]any{"attachmentId": id}, new(loci.OneAttachment))
			p.fileCall(at, "GET", "download-url?attachmentId="+string(id), nil, &down)
			return nil
		}},
		measure("floor download", floor, func() { floor.fetch("/file") }),
		measure("loci download", p, func() { p.fetch(pathOf(down.URL)) })}
}

// fileCall calls an operation of files with a new token, and decodes the response.
func (p *process) fileCall(at *fixture, method, path string, in, out any) {
	token := textField(p.ask(at.request("POST", rest.FilePrefixes[0]+"/auth/exchange", nil)), "token")
	check(json.Unmarshal(p.ask(newRequest(method, rest.FilePrefixes[0]+"/storage/"+path, token, in)), out))
}

// pathOf returns the path and the query of a signed address.
func pathOf(address string) string { return must(url.Parse(address)).RequestURI() }

// put sends a file of equal blocks.
func (p *process) put(path string, block []byte) {
	w := must(p.dial())
	defer w.Close()
	must(fmt.Fprintf(w, "PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"+
		"Content-Length: %d\r\n\r\n", path, fileSize))
	for range fileBlocks - 1 {
		must(w.Write(block))
	}
	must(w.do(request(block)))
}

// fetch reads a file four times, and drops it.
func (p *process) fetch(path string) {
	w := must(p.dial())
	defer w.Close()
	for range 4 {
		must(w.Write(newRequest("GET", path, "", nil)))
		res := must(http.ReadResponse(w.in, nil))
		size := must(io.CopyBuffer(struct{ io.Writer }{io.Discard}, res.Body, make([]byte, 256<<10)))
		if size != fileSize || res.StatusCode != http.StatusOK {
			check(fmt.Errorf("%s: %d bytes", res.Status, size))
		}
	}
}
