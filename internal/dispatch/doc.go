// Package dispatch distributes new messages to the agents that listen on this server.
//
// The receipts in the database are the truth: a signal of this process, of another server or of the clock only leads to
// a look at them. One look serves all listeners, so an idle listener costs no query of its own. Of each agent the
// numbers of its newest messages are kept, and of all together some texts; a listener that is further behind reads the
// database itself.
package dispatch
