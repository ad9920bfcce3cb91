package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// scriptedTask is the work of a model on one task: each line is a tool, its arguments, and the name of the record that
// the answer has. An argument $name is the id of a record.
const scriptedTask = `
memory_context {"query": "move the tide service to the new queue"}
atlas_list {}
atlas_create {"name": "Tide service", "keywords": ["tide", "queue"], "description": "What the tide service and its queue need"} atlas
memory_create {"content": "The tide service reads its gauges every 90 seconds, because the harbour's sensors answer at most 40 times an hour.", "type": "fact", "onDuplicate": "return"} gauges
memory_create {"content": "We decided: the tide service publishes to NATS JetStream, no longer to RabbitMQ. JetStream keeps messages for a week.", "type": "decision", "tags": ["queue", "tide"]} nats
memory_create {"content": "Ann prefers table tests with one case a line, and no assertion library.", "type": "preference"} tests
memory_create {"content": "The consumer is called tide-writer. It acknowledges after the commit of Postgres, so a crash delivers again; rows are unique by gauge and minute.", "type": "architecture", "tags": ["tide"]} writer
memory_create {"content": "To do before the release: alert when the stream of the queue is older than ten minutes.", "type": "task"} alert
memory_search {"query": "which queue does the tide service use"}
memory_search {"query": "how often are gauges read", "limit": 3}
memory_list {"limit": 5}
memory_get {"memoryId": "$writer"}
memory_update {"memoryId": "$alert", "tags": ["release", "tide"]}
memory_append {"memoryId": "$writer", "content": "It runs twice, in two zones, with the queue group tide."}
memory_create {"content": "Staging has its own stream, tide-staging, with a limit of 200 MB; load tests fill it in about four minutes.", "type": "fact"} staging
memory_create {"content": "# Deploying the tide service\n\n1. Drain the consumer with nats consumer pause.\n2. Run the migration; it takes the lock for less than a second.\n3. Deploy, resume, and watch the age of the stream for ten minutes.\n\nRoll back with the tag before; the schema is compatible with one release back.", "type": "note", "tags": ["deploy"]} deploy
memory_create {"content": "The old RabbitMQ cluster is kept until the end of the quarter, read only.", "type": "decision"} rabbit
memory_search {"query": "deploy the tide service", "limit": 5}
memory_verify {"memoryId": "$nats", "evidence": "nats stream info shows max_age 168h", "confidence": 0.9}
memory_create {"content": "The RabbitMQ cluster was switched off on Friday; its disks are kept for thirty days.", "type": "fact"} off
memory_supersede {"memoryId": "$rabbit", "replacementMemoryId": "$off"}
memory_search {"query": "\"RabbitMQ\""}
memory_archive {"memoryId": "$alert"}
memory_list {"type": "decision"}
memory_restore {"memoryId": "$alert"}
memory_update {"memoryId": "$gauges", "content": "The tide service reads its gauges every 60 seconds since the sensors were replaced."}
memory_context {"query": "write the consumer of tide messages", "max_tokens": 1500}
memory_create {"content": "The consumer must not retry poison messages more than five times: they go to tide-dead, which a person reads on Mondays.", "type": "decision"} dead
memory_create {"content": "Timestamps of gauges are in local time without a zone; the writer converts them with the zone of the harbour.", "type": "fact"} zone
memory_search {"query": "time zone of gauges"}
memory_get {"memoryId": "$deploy"}
memory_create {"content": "We decided: gauges without a reading for an hour are shown grey, not as zero.", "type": "decision"} grey
memory_update {"memoryId": "$zone", "title": "Gauges report local time"}
memory_list {"tags": "tide"}
atlas_get {"atlasId": "$atlas"}
session_start {"task": "Write the consumer of tide messages", "externalId": "tide-1"} session
session_capture {"sessionId": "$session", "content": "The dead letters of the tide service have the reason in the header Tide-Reason.", "type": "fact"}
session_checkpoint {"sessionId": "$session", "summary": "The consumer is written; next are the alerts."}
session_candidates {"session_id": "$session"}
session_finalize {"sessionId": "$session", "summary": "The consumer runs in staging."}
memory_search {"query": "dead letters"}
agent_send {"workspaceId": "$team", "broadcast": true, "subject": "Tide consumer", "content": "The tide consumer is on staging: please run your load test against tide-staging."}
agent_inbox {"sent": true}
memory_create {"content": "The load test of the tide consumer reached 900 messages a second on staging, bound by the commits of Postgres.", "type": "fact"} load
memory_search {"query": "load test results"}
memory_context {"query": "tune the tide consumer"}
memory_list {"since": "7d", "limit": 20}
`

// anyID is what an answer has of ids, which no shorter name replaces.
var anyID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|agt_[0-9a-f]{32}`)

// The bounds of answers on the wire. A write repeats nothing of what was sent. The content of an answer is the texts
// in it that were stored, and that of a write the texts that were sent.
const (
	maxWriteBytes   = 600 // beyond ids
	maxAnswerFactor = 4   // times the content, over the whole task
)

func TestAnswersOfScriptedTaskAreLean(t *testing.T) {
	t.Parallel()
	w := conformance.New(t, conformance.OpenSQLite, conformance.Options{})
	h := newTestServer(t, w)
	ids, stored := map[string]string{"team": string(w.Team)}, map[string]bool{}
	calls, answered, content := 0, 0, 0
	for line := range strings.Lines(strings.TrimSpace(scriptedTask)) {
		tool, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		end := strings.LastIndex(rest, "}") + 1
		given, name := rest[:end], strings.TrimSpace(rest[end:])
		for name, id := range ids {
			given = strings.ReplaceAll(given, `"$`+name+`"`, `"`+id+`"`)
		}
		i := slices.IndexFunc(service.Ops.Ops, func(o *op.Op) bool { return o.ToolName() == tool })
		o := service.Ops.Ops[i]
		var in args
		testenv.NoError(t, json.Unmarshal([]byte(given), &in))
		res, raw := h.send("POST", "/mcp", &op.Call{Credential: w.Ann.Key}, bytes.NewReader(toolCall(h, o, in)))
		a := result(h, raw)
		if res.StatusCode != 200 || a.code() != "" {
			t.Fatalf("%s: %d %s", line, res.StatusCode, raw)
		}
		if name != "" {
			resource, _, _ := strings.Cut(o.Name, ".")
			record, _ := a.object[resource].(args)
			ids[name] = fmt.Sprint(record["id"])
		}
		calls, answered = calls+1, answered+len(raw)
		for _, field := range []string{"content", "description", "evidence", "summary", "task", "title", "name"} {
			if text, ok := in[field].(string); ok {
				stored[text] = true
				content += len(text)
			}
		}
		if n := len(anyID.ReplaceAll(raw, nil)); !o.ReadOnly && a.object["context"] == nil { // a snapshot was asked for
			if n > maxWriteBytes {
				t.Errorf("the answer of %s has %d bytes beyond ids: %s", tool, n, raw)
			}
			continue
		}
		for text := range stored {
			for line := range strings.Lines(text) {
				if quoted := strings.TrimSpace(line); quoted != "" && bytes.Contains(raw, []byte(quoted)) {
					content += len(quoted)
				}
			}
		}
	}
	t.Logf("%d calls, %d bytes, %.2f times the content", calls, answered, float64(answered)/float64(content))
	if calls != 47 || answered > maxAnswerFactor*content {
		t.Errorf("%d calls were answered with %d bytes, for %d bytes of content", calls, answered, content)
	}
}
