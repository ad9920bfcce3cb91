// Package attachmentdb keeps the records of attachments, the files of memories, in a table. Their bytes are objects of
// package blob. Whatever deletes a record adds the job that deletes the object, in the same transaction.
package attachmentdb
