package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// acpAgent is an agent of the Agent Client Protocol. It calls a tool, answers "Understood.", and ends with 7 at a
// SIGTERM.
func acpAgent() {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	go func() {
		<-terminated
		os.Exit(7)
	}()
	out := json.NewEncoder(os.Stdout)
	update := func(fields map[string]any) {
		_ = out.Encode(map[string]any{"jsonrpc": "2.0", "method": "session/update",
			"params": map[string]any{"sessionId": "s", "update": fields}})
	}
	type object = map[string]any
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct {
			ID     int
			Method string
		}
		_ = json.Unmarshal(in.Bytes(), &m)
		result := object{}
		switch m.Method {
		case "initialize":
			result = object{"protocolVersion": 1, "agentInfo": object{"name": "player", "version": "1"}}
		case "session/new":
			result["sessionId"] = "s"
		case "session/prompt":
			text := object{"type": "text", "text": "We decided: the tool runs on granite from now on."}
			update(object{"sessionUpdate": "tool_call", "toolCallId": "t", "title": "ls", "content": []object{
				{"type": "content", "content": text}}})
			answer := object{"type": "text", "text": "Understood."}
			update(object{"sessionUpdate": "agent_message_chunk", "content": answer})
			result["stopReason"] = "end_turn"
		}
		_ = out.Encode(object{"jsonrpc": "2.0", "id": m.ID, "result": result})
	}
}

// acpClient runs a command as an agent: it opens a session, sends one prompt, and closes the stream, or with
// -terminate sends SIGTERM. With -until it sends the prompt again until a command of the shell succeeds: the end of a
// conversation leaves little time for a delivery. It prints the exit code.
func acpClient() {
	terminate := flag.Bool("terminate", false, "")
	until := flag.String("until", "true", "")
	flag.Parse()
	args := flag.Args()
	c := exec.Command(args[1], args[2:]...)
	c.Stderr = os.Stderr
	in, _ := c.StdinPipe()
	out, _ := c.StdoutPipe()
	if err := c.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	answers := bufio.NewScanner(out)
	id := 0
	ask := func(request string) (runs bool) {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,%s}`+"\n", id, request)
		for id++; answers.Scan(); {
			var m struct{ ID *int }
			if json.Unmarshal(answers.Bytes(), &m) != nil || m.ID != nil {
				return true
			}
		}
		return false
	}
	ask(`"method":"initialize","params":{"protocolVersion":1}`)
	ask(`"method":"session/new","params":{"cwd":"/home/ann/proj","mcpServers":[]}`)
	prompt, _ := json.Marshal(args[0])
	for isDone := false; !isDone; { // the deadline of the test run ends it
		if !ask(`"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":` + string(prompt) +
			`}]}`) {
			break
		}
		for try := 0; try < 5 && !isDone; try++ {
			isDone = exec.Command("sh", "-c", *until).Run() == nil
		}
	}
	if *terminate {
		_ = c.Process.Signal(syscall.SIGTERM)
	} else {
		_ = in.Close()
	}
	for answers.Scan() {
		fmt.Println("more:", answers.Text())
	}
	_ = c.Wait() // the code tells how it ended
	fmt.Println("code", c.ProcessState.ExitCode())
}
