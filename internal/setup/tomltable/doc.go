// Package tomltable edits one table of a TOML document that a person keeps, such as [mcp_servers.loci], and leaves all
// other bytes as they are. A table that was set and then removed leaves no trace.
package tomltable
