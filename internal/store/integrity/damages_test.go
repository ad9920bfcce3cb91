package integrity_test

import (
	"slices"
	"strings"
)

var damages = slices.Concat(
	changes(flushedMemory, "memories", "row_id = {memory}", "rows!", "title = 'Behind the back'", "checksum",
		"source_uri = 'https://example.com'", "", "source_group = 'another'", "", "tags = '[\"purple\"]'", "",
		"type = 4", "", "archived_at = 5", "", "agent_id = 'x'", "", "superseded_by = id", "",
		`supersedes = '["x"]'`, ""),
	changes(loggedMemory, "memories", "row_id = {memory}", "rows!", "title = 'Behind the back'", "",
		"evidence = 'Behind the back'", "", "confidence = 0.5", "", "verified_at = 5, valid_until = 7", ""),
	changes(noRepair(loggedMemory), "memories", "row_id = {memory}", "rows!", "type = 60", ""),
	changes(flushedMemory, "memories", "row_id = {memory}", "counters! rows!",
		"content = 'Another text altogether, and a longer one than what stood there'", ""),
	changes(revisedMemory, "memories", "row_id = {memory}", "rows! versions!", "version = 3", ""),
	changes(flushedMemory, "memories", "row_id = {memory}", "rows", "hash = hash + 1", "the hash of the text"),
	changes(flushedMemory, "memories", "row_id = {memory}", "counters! rows!",
		"atlas = (SELECT a.row_id FROM atlases a WHERE workspace = {workspace} AND a.row_id <> memories.atlas)", ""),
	written(changes(flushedMemory, "memories", "row_id = {memory}", "rows", "title = 'Behind the back'",
		"the title of the memory")),
	written(changes(flushedMemory, "memories", "row_id = {memory}", "links", "superseded_by = id", "is not superseded",
		"supersedes = '{'", "cannot be read")),
	written(changes(supersededMemory, "memories", "row_id = {memory}", "links",
		"superseded_by = ''", "that it has not superseded")),
	written(changes(supersededMemory, "memories", "row_id = {memory}", "links references!",
		"superseded_by = 'nobody'", "\"nobody\", is not there")),
	written(changes(supersededMemory, "memories", "workspace = {workspace}", "links",
		"supersedes = '[]'", "does not list it")),
	changes(supersededMemory, "memories", "row_id = {memory}", "rows!", "status = 0", "checksum"),
	changes(supersededMemory, "memories", "workspace = {workspace} AND supersedes <> '[]'", "rows!", "status = 1",
		"checksum"),

	changes(flushedMemory, "versions", "memory = {memory}", "versions!", "evidence = 'Behind the back'", "checksum",
		"tags = '[\"purple\"]'", "", "content = 'Behind the back', prefix_len = NULL", ""),
	changes(revisedMemory, "versions", "memory = {memory} AND version = 2", "versions!",
		"prefix_len = 999999", "",
		"prefix_len = 1", "", "content = '', prefix_len = 1", ""),

	changes(loggedMemory, "index_log", "memory = {memory}", "index", "document = {junk}", "cannot be read",
		"deleted = TRUE, document = {junk}", "is not in the index",
		"group_id = 5, position = 7", "is not that of its row"),
	changes(loggedMemory, "index_log", "memory = {memory}", "counters", "bytes = bytes - 1", ""),
	changes(flushedMemory, "segments", "workspace = {workspace}", "index", "header = {junk}", "cannot be read",
		"tombstones = {empty}", "more often than once"),
	changes(flushedMemory, "segment_pages", "segment IN (SELECT row_id FROM segments WHERE workspace = {workspace})",
		"index", "data = {junk}", "cannot be read"),
	changes(flushedMemory, "atlases", "workspace = {workspace}", "counters", "memories = memories + 3", "",
		"bytes = 0", ""),
	changes(flushedMemory, "vectors", "memory = {memory}", "vectors",
		"vector = (SELECT o.vector FROM vectors o ORDER BY o.row_id LIMIT 1)", "checksum"),
	[]damage{
		{flushedMemory, deleteMemory, "counters! index! references! sketches!", "the index names the memory"},
		{loggedMemory, deleteMemory, "counters! index! references! sketches!", "the index names the memory"},
		{revisedMemory, `DELETE FROM versions WHERE memory = {memory} AND version = 2`, "versions!", "2 is missing"},
		{revisedMemory, `DELETE FROM versions WHERE memory = {memory} AND version = 1`, "versions!", "1 is missing"},
		{loggedMemory, `DELETE FROM index_log WHERE memory = {memory}`, "counters index", "is not in the index"},
		{flushedMemory, `DELETE FROM segment_pages WHERE segment IN (SELECT row_id FROM segments
			WHERE workspace = {workspace}); DELETE FROM segments WHERE workspace = {workspace}`, "index", "is not in the index"},
		{flushedMemory, `DELETE FROM segment_pages WHERE segment IN (SELECT row_id FROM segments
			WHERE workspace = {workspace})`, "index", "cannot be read"},
		{flushedMemory, `DELETE FROM keyword_indexes WHERE workspace = {workspace}`, "index", "no state"},
		{flushedMemory, `DELETE FROM minhash_bands WHERE memory = {memory}`, "sketches", ""},
		{flushedMemory, `INSERT INTO minhash_bands (workspace, band, memory) VALUES ({workspace}, 1, {memory})`,
			"sketches", "not those of its text"},
		{flushedMemory, `INSERT INTO minhash_bands (workspace, band, memory) VALUES ({workspace}, 2, 999999)`,
			"sketches", "which is gone"},
		{flushedMemory, `DELETE FROM vectors WHERE memory = {memory}`, "vectors", "has no vectors"},
		{loggedMemory, `UPDATE index_log SET memory = memory + 1048576 WHERE memory = {memory};
			UPDATE memories SET title = 'Behind the back'
				WHERE row_id = (SELECT max(row_id) FROM memories WHERE workspace = {workspace})`,
			"index rows!", ""},
		// Damage of a row beside that of what is derived from it.
		{loggedMemory, `UPDATE index_log SET document = {junk} WHERE memory = {memory};
			UPDATE memories SET title = 'Behind the back' WHERE row_id = {memory}`, "index rows!", ""},
		{flushedMemory, `DELETE FROM segment_pages WHERE segment IN (SELECT row_id FROM segments
			WHERE workspace = {workspace}); UPDATE memories SET title = 'Behind the back' WHERE row_id = {memory}`,
			"index rows!", ""},
		{flushedMemory, `UPDATE memories SET hash = hash + 1 WHERE workspace = {workspace};
			UPDATE memories SET title = 'Behind the back' WHERE row_id = {memory}`, "rows rows!", ""},
		{indexedMemory, `UPDATE segments SET tombstones = {empty} WHERE workspace = {workspace};
			UPDATE memories SET title = 'Behind the back' WHERE row_id = {memory}`, "index rows!", ""},
	},

	changes(noRepair(filledSession), "sessions", "row_id = {session}", "rows! sessions!",
		"candidates = candidates + 1", "",
		"pending = 0", "", "checkpoints = 0", "", "units = 7", "", "events = 5", "", "audits = 1", "",
		"compilations = 0", "", "steps = 1", "", "redactions = '[]'", "", "redactions = '{'", "",
		"has_texts = FALSE", ""),
	changes(filledSession, "candidates", "session = {session}", "sessions", "workspace = workspace + 1", "",
		"atlas = 0", "", "user_id = ''", ""),
	written(changes(filledSession, "candidates", "session = {session}", "sessions", "title = 'Behind the back'",
		"the title of the candidate")),
	written(changes(filledSession, "sessions", "row_id = {session}", "sessions", "candidates = 0, pending = 0, "+
		"checkpoints = 0, units = 0, events = 0, audits = 0, compilations = 0, steps = 0, has_texts = FALSE, "+
		"redactions = '[]'", "counts other rows", "pending = 2", "counts other rows")),
	changes(noRepair(account), "users", "id = {user}", "rows!", "email_folded = 'x'", "", "pro_until = 5", ""),
	written(changes(account, "users", "id = {user}", "accounts", "email_folded = id", "email_folded of users",
		"pro_until = 5", "pro_until of users")),
	written(changes(account, "invitations", "workspace = {workspace}", "accounts", "email_folded = id",
		"email_folded of invitations")),
	written(changes(account, "grant_workspaces", "workspace = {workspace}", "accounts", "user_id = {guest}",
		"user_id of grant_workspaces")),
	[]damage{{noRepair(filledSession), `DELETE FROM session_events WHERE session = {session} AND event_id = 'tool'`,
		"sessions!", "counts other rows"}},

	changes(mail(wholeInbox), "agents", "row_id = {to}", "messages", "last_number = 1", "the last number",
		"last_number = -1", "the last number", "last_number = 9223372036854775807", "the last number"),
	written(changes(mail(newestLong), "receipts", "{receipt}", "messages", "number = 700", "the last number",
		"number = 9223372036854775807", "no number of its own", "number = 0", "no number of its own")),
	changes(damagedMail, "receipts", "{receipt}", "messages! rows!", "number = 700", "checksum"),
	changes(mail(wholeInbox), "receipts", "{receipt}", "messages", "workspace = -1", "another workspace"),
	written(slices.Concat(
		changes(mail(wholeInbox), "messages", "id = {direct}", "messages", "thread_id = {answer}", "the thread",
			"thread_id = 'x'", "the thread"),
		changes(mail(wholeInbox), "messages", "id = {reply}", "messages", "thread_id = id", "the thread"),
		changes(mail(wholeInbox), "messages", "id = {answer}", "messages", "thread_id = ''", "the thread"),
		changes(mail(wholeInbox), "messages", "id IN ({reply}, {answer})", "messages", "thread_id = id",
			"the thread"))),
	changes(damagedMail, "messages", "id = {reply}", "messages! rows!", "thread_id = id", "the thread"),
	changes(damagedMail, "receipts", "{receipt}", "messages! rows!", "status = 'lost'", "the status of a receipt",
		"updated_at = 0", "the time of a receipt", "updated_at = 253402300800000000", "the time of a receipt"),
	changes(damagedMail, "messages", "id = {answer}", "messages! rows!", "created_at = -5", "the time of the message",
		"id = {name}", "the id of the message", "content = ''", "no text",
		"subject = '"+strings.Repeat("ü", 201)+"'", "too long", "reply_to = 'x'", "it replies to is invalid",
		"to_agent = 'x'", "the id of the recipient",
		"to_agent = (SELECT a.id FROM agents a WHERE a.row_id = {from})", "another agent than the recipient"),
	[]damage{
		{mail("It is long unread, Very unread, To all unread"), `DELETE FROM receipts WHERE {receipt}`, "messages",
			"no receipt"},
		{damagedMail, `UPDATE messages SET thread_id = {answer} WHERE id = {direct};
			UPDATE messages SET content = 'Behind the back' WHERE id = {reply}`, "messages! rows!", "the thread"},
		{damagedMail, `UPDATE messages SET workspace = workspace - 1 WHERE id = {answer}; UPDATE receipts
			SET workspace = workspace - 1 WHERE message = (SELECT row_id FROM messages WHERE id = {answer})`,
			"messages! rows!", "another workspace"},
	},

	written(changes(storedFile, "memories", "id = {m}", "attachments", "attachments = '[]'", "lists other attachments",
		"attachments = 'x'", "lists other attachments")),
	written(changes(noRepair(storedFile), "memories", "id = {m}", "attachments! references!", `attachments = '["x"]'`,
		"\"x\", which is not there")),
	changes(storedFile, "attachments", "id = {a}", "attachments", "atlas = -1", "another atlas"),
	changes(storedFile, "attachments", "id = {a}", "attachments! rows!", "created_at = -1", "the time",
		"created_at = 253402300800000000", "the time", "sha256 = ''", "the checksums",
		"stored_sha256 = 'ABC'", "the checksums", "stored_sha256 = replace(stored_sha256, '2', '3')", "or differ",
		"size = -1", "the size", "file_name = ''", "the name"),
)

// mistyped is damage by values of other types than that of their column, which SQLite alone stores.
var mistyped = slices.Concat(
	changes(mail(wholeInbox), "agents", "row_id = {to}", "messages", "last_number = 'abc'", "the last number"),
	written(changes(mail(newestLong), "receipts", "{receipt}", "messages", "number = 'abc'",
		"no number of its own")),
	changes(damagedMail, "receipts", "{receipt}", "messages! rows!", "number = 2.5", "no number of its own",
		"status = x'00ff'", "the status of a receipt",
		"updated_at = 'abc'", "the time of a receipt"),
	changes(damagedMail, "messages", "id = {direct}", "messages! rows!", "created_at = 'abc'",
		"the time of the message"),
	changes(storedFile, "attachments", "id = {a}", "attachments! rows!", "size = 'abc'", "the size"),
)

// deleteMemory deletes a memory with its rows of other tables.
const deleteMemory = `DELETE FROM versions WHERE memory = {memory}; DELETE FROM vectors WHERE memory = {memory};
	DELETE FROM memories WHERE row_id = {memory}`

// written returns damage by statements that keep the checksums of rows.
func written(list []damage) []damage {
	for i := range list {
		list[i].statement = writtenMark + list[i].statement
	}
	return list
}

const writtenMark = "written: "

// noRepair is for damage that stays, or that no search can read.
func noRepair(f fixture) fixture {
	return func(x *damageTest, name string) damaged {
		r := f(x, name)
		r.whole = nil
		return r
	}
}
