package extract

import (
	_ "embed"
	"strings"
)

// A cue is a feature of a sentence: it has one of the phrases.
type cue struct {
	name    string
	phrases []string
}

//go:embed cues.txt
var cueTable string

var cues = readCues(cueTable)

func readCues(table string) (list []cue) {
	for line := range strings.Lines(table) {
		switch line[0] {
		case '#':
			continue
		case ' ':
		default:
			name, first, _ := strings.Cut(line, ":")
			list, line = append(list, cue{name: name}), first
		}
		c := &list[len(list)-1]
		for phrase := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(line), "|"), "|") {
			c.phrases = append(c.phrases, strings.TrimSpace(phrase))
		}
	}
	return list
}

var foreignWords = wordSet("der das und nicht ist wir haben ein eine für mit auf auch le la les des est que et " +
	"nous avons pour dans une el los las una por con para vamos siempre il di che non sono het een niet och jest " +
	"nie com não")

// imperatives are the verbs that open an order for this turn.
var imperatives = wordSet("add fix run write show make remove delete rename move refactor update check look find " +
	"read explain create build install revert undo try test implement change replace convert port translate " +
	"summarize sum review compare list generate give tell help start continue go merge push commit open close set " +
	"put center format split extract use keep drop migrate upgrade bump pin rewrite redo apply configure enable " +
	"disable turn switch print sort group draw draft document describe debug profile measure investigate analyze " +
	"inspect search grep wire hook adapt adjust clean strip shorten bootstrap scaffold hide point ssh wipe lazy " +
	"load take get do let act ignore cancel compute count verify validate ensure skip stop leave report say ask " +
	"answer call send deploy release ship tag rebase cherry-pick squash clone copy paste insert append prepend " +
	"include exclude import export parse render wrap expose mock stub seed reset restart rerun retry resolve " +
	"handle improve optimize simplify speed reduce increase raise lower limit cap avoid prefer pass return log " +
	"store save cache compress encrypt sign toss choose pick decide propose plan recap prepare proceed finish " +
	"remember note remind think consider")

// questionWords open a question that may lack its mark.
var questionWords = wordSet("what what's whats who who's whose which where where's why how how's is are am does " +
	"did was were can could would will shall should has have doesn't isn't aren't any do may")

// reportVerbs open a report of what the agent did.
var reportVerbs = wordSet("done found ran wrote made set put took went got built cut left split reran rebuilt here " +
	"let here's nothing understood noted will all fine good right ok yes")

var auxiliaries = wordSet("is are be been being gets get isn't aren't never always only not this does was has")

var determiners = wordSet("the a an its our their no all every each any only two three both ` # \" nothing")

// ruleHeadings are looked up in lines above a sentence.
var ruleHeadings = []string{"rule", "prefer", "convention", "style", "always", "please", "remember", "how i"}

// handled are the words of a line above a text that the agent is to work on.
var handled = []string{"translate", "rewrite", "rephrase", "review", "group", "summar", "following", " log", "output",
	"error", "says", "wrote", "writes", "what's wrong", "look at", "check", "this:", "these", "explain", "proofread",
	"classify", "got:", "get:", "requirements", "feedback", "text", "below", "trace", "draft", "example", "quote"}
