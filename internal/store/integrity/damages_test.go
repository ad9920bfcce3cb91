package integrity_test

import "strings"

var damagesOfMemories = []damage{
	{"title", "", flushedMemory, `UPDATE memories SET title = 'Behind the back' WHERE row_id = {memory}`, "rows!", "", false},
	{"title in the log", "", loggedMemory, `UPDATE memories SET title = 'Behind the back' WHERE row_id = {memory}`,
		"rows!", "", false},
	{"source", "", flushedMemory, `UPDATE memories SET source_uri = 'https://example.com' WHERE row_id = {memory}`,
		"rows!", "", false},
	{"group", "", flushedMemory, `UPDATE memories SET source_group = 'another' WHERE row_id = {memory}`, "rows!", "", false},
	{"evidence", "", loggedMemory, `UPDATE memories SET evidence = 'Behind the back' WHERE row_id = {memory}`, "rows!",
		"", false},
	{"confidence", "", loggedMemory, `UPDATE memories SET confidence = 0.5 WHERE row_id = {memory}`, "rows!", "", false},
	{"tags", "", flushedMemory, `UPDATE memories SET tags = '["purple"]' WHERE row_id = {memory}`, "rows!", "", false},
	{"type", "", flushedMemory, `UPDATE memories SET type = 4 WHERE row_id = {memory}`, "rows!", "", false},
	{"review", "", loggedMemory, `UPDATE memories SET verified_at = 5, valid_until = 7 WHERE row_id = {memory}`, "rows!",
		"", false},
	{"content", "", flushedMemory, `UPDATE memories SET content = 'Another text altogether, and a longer one than what
		stood there' WHERE row_id = {memory}`, "counters rows! versions!", "", false},
	{"type that is none", "", noSearch(loggedMemory), `UPDATE memories SET type = 60 WHERE row_id = {memory}`, "rows!",
		"", false},

	{"row gone", "", flushedMemory, `DELETE FROM memories WHERE row_id = {memory}`, "counters index sketches", "", false},
	{"logged row gone", "", loggedMemory, `DELETE FROM memories WHERE row_id = {memory}`, "counters index sketches", "",
		false},
	{"other atlas", "atlases.memories", flushedMemory, `UPDATE memories SET atlas = (SELECT a.row_id FROM atlases a
		WHERE a.workspace = {workspace} AND a.row_id <> memories.atlas) WHERE row_id = {memory}`, "counters index", "", false},
	{"change lost", "index_log", loggedMemory, `DELETE FROM index_log WHERE memory = {memory}`, "counters index", "", false},
	{"change says gone", "index_log", loggedMemory, `UPDATE index_log SET deleted = TRUE, document = {junk}
		WHERE memory = {memory}`, "index", "", false},
	{"change broken", "index_log", loggedMemory, `UPDATE index_log SET document = {junk} WHERE memory = {memory}`,
		"index", "", false},
	{"change of a damaged row broken", "index_log", loggedMemory, `UPDATE index_log SET document = {junk}
		WHERE memory = {memory}; UPDATE memories SET title = 'Behind the back' WHERE row_id = {memory}`, "index rows!",
		"", false},
	{"group in the log", "index_log", loggedMemory, `UPDATE index_log SET group_id = 5, position = 7
		WHERE memory = {memory}`, "index", "", false},
	{"bytes in the log", "index_log atlases.bytes", loggedMemory, `UPDATE index_log SET bytes = bytes - 1
		WHERE memory = {memory}`, "counters", "", false},
	{"segments lost", "segments", flushedMemory, `DELETE FROM segments WHERE workspace = {workspace}`, "index", "", false},
	{"head broken", "segments", flushedMemory, `UPDATE segments SET header = {junk} WHERE row_id = (SELECT min(row_id)
		FROM segments WHERE workspace = {workspace})`, "index", "", false},
	{"tombstones lost", "segments", flushedMemory, `UPDATE segments SET tombstones = {empty}
		WHERE workspace = {workspace}`, "index", "more often than once", false},
	{"pages lost", "segment_pages", flushedMemory, `DELETE FROM segment_pages WHERE segment IN (SELECT row_id
		FROM segments WHERE workspace = {workspace})`, "index", "cannot be read", false},
	{"pages broken", "segment_pages", flushedMemory, `UPDATE segment_pages SET data = {junk} WHERE segment IN (SELECT
		row_id FROM segments WHERE workspace = {workspace})`, "index", "cannot be read", false},
	{"pages of a damaged row lost", "segment_pages", flushedMemory, `DELETE FROM segment_pages WHERE segment IN (SELECT
		row_id FROM segments WHERE workspace = {workspace}); UPDATE memories SET title = 'Behind the back'
		WHERE row_id = {memory}`, "index rows!", "", false},
	{"state lost", "keyword_indexes", flushedMemory, `DELETE FROM keyword_indexes WHERE workspace = {workspace}`,
		"index", "no state", false},
	{"counter", "atlases.memories", flushedMemory, `UPDATE atlases SET memories = memories + 3
		WHERE workspace = {workspace}`, "counters", "", false},
	{"counted bytes", "atlases.bytes", flushedMemory, `UPDATE atlases SET bytes = 0 WHERE workspace = {workspace}`,
		"counters", "", false},
	{"bands lost", "minhash_bands", flushedMemory, `DELETE FROM minhash_bands WHERE memory = {memory}`, "sketches", "",
		false},
	{"band too many", "minhash_bands", flushedMemory, `INSERT INTO minhash_bands (workspace, band, memory)
		VALUES ({workspace}, 1, {memory})`, "sketches", "not those of its text", false},
	{"band of none", "minhash_bands", flushedMemory, `INSERT INTO minhash_bands (workspace, band, memory)
		VALUES ({workspace}, 2, 999999)`, "sketches", "which is gone", false},
	{"hash", "memories.hash", flushedMemory, `UPDATE memories SET hash = hash + 1 WHERE row_id = {memory}`, "rows",
		"the hash of the text", false},
	{"vector broken", "vectors", flushedMemory, `UPDATE vectors SET vector = (SELECT o.vector FROM vectors o
		ORDER BY o.row_id LIMIT 1) WHERE memory = {memory}`, "vectors", "checksum", false},
	{"vectors lost", "vectors", flushedMemory, `DELETE FROM vectors WHERE memory = {memory}`, "vectors",
		"has no vectors", false},

	{"replacement forgets", "memories.supersedes", supersededMemory, `UPDATE memories SET supersedes = '[]'
		WHERE workspace = {workspace}`, "links", "does not list it", false},
	{"old one forgets", "memories.superseded_by", supersededMemory, `UPDATE memories SET superseded_by = ''
		WHERE row_id = {memory}`, "links", "that it has not superseded", false},
	{"link to nowhere", "memories.superseded_by", supersededMemory, `UPDATE memories SET superseded_by = 'nobody'
		WHERE row_id = {memory}`, "links", "", false},
	{"link of an active one", "memories.superseded_by", flushedMemory, `UPDATE memories SET superseded_by = id
		WHERE row_id = {memory}`, "links", "is not superseded", false},
	{"list broken", "memories.supersedes", flushedMemory, `UPDATE memories SET supersedes = '{' WHERE row_id = {memory}`,
		"links", "cannot be read", false},
}

var damagesOfVersions = []damage{
	{"evidence", "", flushedMemory, `UPDATE versions SET evidence = 'Behind the back' WHERE memory = {memory}`,
		"versions!", "", false},
	{"tag", "", loggedMemory, `UPDATE versions SET tags = '["purple"]' WHERE memory = {memory}`, "versions!", "", false},
	{"text", "", flushedMemory, `UPDATE versions SET content = 'Behind the back', prefix_len = NULL
		WHERE memory = {memory}`, "versions!", "", false},
	{"beyond the text", "", revisedMemory, `UPDATE versions SET prefix_len = 999999 WHERE memory = {memory}
		AND version = 2`, "versions!", "", false},
	{"within a character", "", revisedMemory, `UPDATE versions SET prefix_len = 1 WHERE memory = {memory}
		AND version = 2`, "versions!", "within a character", false},
	{"text and length", "", revisedMemory, `UPDATE versions SET content = '', prefix_len = 1 WHERE memory = {memory}
		AND version = 2`, "versions!", "", false},
	{"lost", "", revisedMemory, `DELETE FROM versions WHERE memory = {memory} AND version = 2`, "versions!",
		"version 2 is missing", false},
	{"first one lost", "", revisedMemory, `DELETE FROM versions WHERE memory = {memory} AND version = 1`, "versions!",
		"version 1 is missing", false},
	{"of the future", "", revisedMemory, `UPDATE memories SET version = 3 WHERE row_id = {memory}`, "rows! versions!",
		"", false},
}

var damagesOfSessions = []damage{
	{"candidates", "sessions.candidates", filledSession, `UPDATE sessions SET candidates = candidates + 1
		WHERE row_id = {session}`, "sessions", "candidates 4, not 3", false},
	{"pending", "sessions.pending", filledSession, `UPDATE sessions SET pending = 0 WHERE row_id = {session}`,
		"sessions", "pending 0, not 1", false},
	{"checkpoints", "sessions.checkpoints", filledSession, `UPDATE sessions SET checkpoints = 0
		WHERE row_id = {session}`, "sessions", "checkpoints 0, not 1", false},
	{"units", "sessions.units", filledSession, `UPDATE sessions SET units = 7 WHERE row_id = {session}`, "sessions",
		"units 7, not 1", false},
	{"events", "sessions.events", filledSession, `DELETE FROM session_events WHERE event_id = 'tool'
		AND session = {session}`, "sessions", "events 2, not 1", false},
	{"audits", "sessions.audits", filledSession, `UPDATE sessions SET audits = 1 WHERE row_id = {session}`, "sessions",
		"audits 1, not 2", false},
	{"compilations", "sessions.compilations", filledSession, `UPDATE sessions SET compilations = 0
		WHERE row_id = {session}`, "sessions", "compilations 0, not 1", false},
	{"steps", "sessions.steps", filledSession, `UPDATE sessions SET steps = 1 WHERE row_id = {session}`, "sessions",
		"steps 1, not ", false},
	{"redactions", "sessions.redactions", filledSession, `UPDATE sessions SET redactions = '[]'
		WHERE row_id = {session}`, "sessions", "another sum of redactions", false},
	{"broken redactions", "sessions.redactions", filledSession, `UPDATE sessions SET redactions = '{'
		WHERE row_id = {session}`, "sessions", "another sum of redactions", false},
	{"texts", "sessions.has_texts", filledSession, `UPDATE sessions SET has_texts = FALSE WHERE row_id = {session}`,
		"sessions", "has_texts false, not true", false},
	{"workspace of a candidate", "candidates.workspace", filledSession, `UPDATE candidates SET workspace = workspace + 1
		WHERE status = 'pending' AND session = {session}`, "sessions", "1 candidates of another", false},
	{"place of candidates", "candidates.atlas candidates.user_id", filledSession, `UPDATE candidates SET atlas = 0,
		user_id = '' WHERE session = {session}`, "sessions", "3 candidates of another", false},
}

var damagesOfMessages = []damage{
	{"low number", "agents.last_number", mail(wholeInbox), `UPDATE agents SET last_number = 1 WHERE row_id = {to}`,
		"messages", "the last number", false},
	{"negative number", "agents.last_number", mail(wholeInbox), `UPDATE agents SET last_number = -1
		WHERE row_id = {from}`, "messages", "the last number", false},
	{"high number", "agents.last_number", mail(wholeInbox), `UPDATE agents SET last_number = 9223372036854775807
		WHERE row_id = {to}`, "messages", "the last number", false},
	{"text as number", "agents.last_number", mail(wholeInbox), `UPDATE agents SET last_number = 'abc'
		WHERE row_id = {to}`, "messages", "the last number", true},
	{"receipt ahead", "receipts.number", mail(newestLong), `UPDATE receipts SET number = 700 WHERE {receipt}`,
		"messages", "the last number", false},
	{"receipt with a high number", "receipts.number", mail(newestLong), `UPDATE receipts
		SET number = 9223372036854775807 WHERE {receipt}`, "messages", "no number of its own", false},
	{"receipt without a number", "receipts.number", mail(newestLong), `UPDATE receipts SET number = 0
		WHERE {receipt}`, "messages", "no number of its own", false},
	{"receipt with a text as number", "receipts.number", mail(newestLong), `UPDATE receipts SET number = 'abc'
		WHERE {receipt}`, "messages", "no number of its own", true},
	{"receipt with a fraction", "receipts.number", mail(newestLong), `UPDATE receipts SET number = 2.5
		WHERE {receipt}`, "messages", "no number of its own", true},
	{"workspace of a receipt", "receipts.workspace", mail(wholeInbox), `UPDATE receipts SET workspace = -1
		WHERE {receipt}`, "messages", "another workspace", false},
	{"receipt lost", "", mail("It is long unread, Very unread, To all unread"), `DELETE FROM receipts
		WHERE {receipt}`, "messages", "no receipt", false},
	{"thread of the first", "messages.thread_id", mail(wholeInbox), `UPDATE messages SET thread_id = {answer}
		WHERE id = {direct}`, "messages", "the thread", false},
	{"impossible thread", "messages.thread_id", mail(wholeInbox), `UPDATE messages SET thread_id = 'x'
		WHERE id = {direct}`, "messages", "the thread", false},
	{"thread of its own", "messages.thread_id", mail(wholeInbox), `UPDATE messages SET thread_id = id
		WHERE id = {reply}`, "messages", "the thread", false},
	{"no thread", "messages.thread_id", mail(wholeInbox), `UPDATE messages SET thread_id = '' WHERE id = {answer}`,
		"messages", "the thread", false},
	{"threads of their own", "messages.thread_id", mail(wholeInbox), `UPDATE messages SET thread_id = id` +
		` WHERE id IN ({reply}, {answer})`, "messages", "the thread", false},

	{"status", "", damagedMail, `UPDATE receipts SET status = 'lost' WHERE {receipt}`, "messages!",
		"the status of a receipt", false},
	{"bytes as status", "", damagedMail, `UPDATE receipts SET status = x'00ff' WHERE {receipt}`, "messages!",
		"the status of a receipt", true},
	{"time of a receipt", "", damagedMail, `UPDATE receipts SET updated_at = 0 WHERE {receipt}`, "messages!",
		"the time of a receipt", false},
	{"late time of a receipt", "", damagedMail, `UPDATE receipts SET updated_at = 253402300800000000 WHERE {receipt}`,
		"messages!", "the time of a receipt", false},
	{"text as time of a receipt", "", damagedMail, `UPDATE receipts SET updated_at = 'abc' WHERE {receipt}`,
		"messages!", "the time of a receipt", true},
	{"time", "", damagedMail, `UPDATE messages SET created_at = -5 WHERE id = {direct}`, "messages!",
		"the time of the message", false},
	{"text as time", "", damagedMail, `UPDATE messages SET created_at = 'abc' WHERE id = {direct}`, "messages!",
		"the time of the message", true},
	{"id", "", damagedMail, `UPDATE messages SET id = {name} WHERE id = {answer}`, "messages!", "the id of the message",
		false},
	{"no text", "", damagedMail, `UPDATE messages SET content = '' WHERE id = {answer}`, "messages!", "no text", false},
	{"long subject", "", damagedMail, `UPDATE messages SET subject = '` + strings.Repeat("ü", 201) +
		`' WHERE id = {answer}`, "messages!", "too long", false},
	{"reply to nothing", "", damagedMail, `UPDATE messages SET reply_to = 'x' WHERE id = {answer}`, "messages!",
		"it replies to is invalid", false},
	{"recipient", "", damagedMail, `UPDATE messages SET to_agent = 'x' WHERE id = {answer}`, "messages!",
		"the id of the recipient", false},
	{"other recipient", "", damagedMail, `UPDATE messages SET to_agent = (SELECT id FROM agents WHERE row_id = {from})
		WHERE id = {answer}`, "messages!", "another agent than the recipient", false},
	{"other workspace", "", damagedMail, `UPDATE messages SET workspace = workspace - 1 WHERE id = {answer}; UPDATE
		receipts SET workspace = workspace - 1 WHERE message = (SELECT row_id FROM messages WHERE id = {answer})`,
		"messages!", "another workspace", false},
}

var damagesOfAttachments = []damage{
	{"empty list", "memories.attachments", storedFile, `UPDATE memories SET attachments = '[]' WHERE id = {m}`,
		"attachments", "lists other attachments", false},
	{"other list", "memories.attachments", storedFile, `UPDATE memories SET attachments = '["x"]' WHERE id = {m}`,
		"attachments", "lists other attachments", false},
	{"broken list", "memories.attachments", storedFile, `UPDATE memories SET attachments = 'x' WHERE id = {m}`,
		"attachments", "lists other attachments", false},
	{"atlas", "attachments.atlas", storedFile, `UPDATE attachments SET atlas = -1 WHERE id = {a}`, "attachments",
		"another atlas", false},
	{"time", "", storedFile, `UPDATE attachments SET created_at = -1 WHERE id = {a}`, "attachments!", "the time", false},
	{"late time", "", storedFile, `UPDATE attachments SET created_at = 253402300800000000 WHERE id = {a}`,
		"attachments!", "the time", false},
	{"checksum", "", storedFile, `UPDATE attachments SET sha256 = '' WHERE id = {a}`, "attachments!", "the checksums",
		false},
	{"stored checksum", "", storedFile, `UPDATE attachments SET stored_sha256 = 'ABC' WHERE id = {a}`, "attachments!",
		"the checksums", false},
	{"checksums that differ", "", storedFile, `UPDATE attachments SET stored_sha256 = replace(stored_sha256, '2', '3')
		WHERE id = {a}`, "attachments!", "or differ", false},
	{"size", "", storedFile, `UPDATE attachments SET size = -1 WHERE id = {a}`, "attachments!", "size", false},
	{"text as size", "", storedFile, `UPDATE attachments SET size = 'abc' WHERE id = {a}`, "attachments!", "size", true},
	{"name", "", storedFile, `UPDATE attachments SET file_name = '' WHERE id = {a}`, "attachments!", "the name", false},
}

// noSearch is for damage that no search can read.
func noSearch(f fixture) fixture {
	return func(x *damageTest, name string) damaged {
		r := f(x, name)
		r.whole = nil
		return r
	}
}
