package loci

// Messages returns the messages of an event, oldest first: the unread ones of ready, or the one of message.created.
func (e AgentEvent) Messages() (list []Message) {
	if e.Unread != nil {
		for _, m := range *e.Unread {
			list = append(list, m.Message)
		}
	}
	if e.Message != nil {
		list = append(list, *e.Message)
	}
	return list
}
