// Package attachment has the commands that upload, list, download and delete the files of memories.
package attachment
