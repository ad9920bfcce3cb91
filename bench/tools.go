package main

// tools compares the list of the full set of tools with a handler that writes as many bytes.
func (b *bench) tools() error {
	from, err := b.proseFixture()
	if err != nil {
		return err
	}
	at, p, err := b.serveCopy(from, b.drivers[0], "tools")
	if err != nil {
		return err
	}
	list := newRequest("POST", "/mcp?toolset=full", at.Key, map[string]any{"jsonrpc": "2.0", "id": 1,
		"method": "tools/list", "params": map[string]any{}})
	floor, turn, err := b.emptyHandler(p, list)
	if err != nil {
		return err
	}
	s, err := b.interleave("tools", turnsPerRound, benchSide{"floor", turn(floor)}, benchSide{"loci", turn(p)})
	if err == nil {
		b.report.add(s.ratioLine(line{Row: "tools", What: "tools/list of full, over a handler of the same bytes",
			Unit: "us CPU", Threshold: 4}, "loci cpu", "floor cpu"))
	}
	return err
}
