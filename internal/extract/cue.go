package extract

// The cues are in lower case. A space at an end stands for the end of a word.

// abandonments void a whole prompt.
var abandonments = []string{"forget that", "never mind", "nevermind", "scrap ", "no wait", "changed my mind",
	"off the table", "gave up on", "overruled", "ignore what i said", "undo it", "just kidding", "forget about"}

// doubts mark hedges, sarcasm, and words of other people.
var doubts = []string{"maybe", "perhaps", "might ", "not sure", "i guess", "i think", "could ", "would be", "someday",
	"if we ", "\"", "“", " lol", "lol ", "/s", "yeah right", "oh great", "according to", " says:", " said ", " told ",
	" thinks", " claims", "they say", " wrote:", "you noted", "you said", "thinking about", "i wish", "in this pr",
	"in this change", "just for now", "this run", "we were going to", "had decided", "can you ", "right now"}

// openings mark sentences that are hypothetical, or whose subject is not in them.
var openings = []string{"if ", "suppose", "imagine", "what if", "it ", "it's ", "this ", "that ", "they ", "he ",
	"she ",
	"you ", "can ", "could ", "would ", "should ", "is ", "are ", "do ", "does ", "did ", "now ", "oh "}

var taskOpenings = []string{"todo", "remind me", "remember to", "don't forget to", "note to self", "follow-up:",
	"follow up:", "next step is", "open item", "please remind", "action item", "remaining:", "one follow-up"}

var taskCues = []string{"remind me to", "todo:", "still need", "still have to", "someone has to", "somebody has to",
	"someone must", "still missing", "must happen"}

var obligations = []string{"we need to ", "i need to ", "we have to ", "i have to ", "need to be ", "needs to be ",
	"has to be ", "must be "}

var deadlines = []string{" before ", " by ", "tomorrow", " until ", " later", "next week", "next month", "after the"}

var decisionCues = []string{"we decided", "decision:", "decision is", "we agreed", "agreed that", "was decided",
	"we chose", "we picked", "settled on", "'ll go with", "we go with", "let's go with", "let's use", "let's not use",
	"let's keep", "stick with", "standardize on", "standardizing on", "dropping support", "no longer support",
	"from now on", "going forward", "made up my mind", "we rejected", "has been set to", "that's final",
	"plan is fixed", "we're moving to", "we are moving to"}

var preferenceOpenings = []string{"always ", "never ", "avoid ", "prefer ", "don't ever", "do not ever",
	"please don't",
	"please always", "please never", "please stop", "whenever you", "when you write", "by default,"}

var preferenceCues = []string{"i prefer", "i'd rather", "my preference", "i like ", "i hate ", "i don't like ",
	"not a fan of", "i want all", "i always want", "how i like", ", always", "we don't use", ", never ",
	" in all ", "in general", "answer me"}

// moods are preferences about this turn, or none.
var moods = []string{"i don't like that", "i like that", "i love", "don't touch"}

var factOpenings = []string{"remember that", "keep in mind", "fyi", "just so you know", "important:", "call me ",
	"i work in", "i'm the ", "we deploy", "our main"}

// factCues are predicates of a lasting state.
var factCues = []string{" runs on ", " is called ", " is named ", " listens on ", " lives in ", " live in ",
	" is stored ", " are stored ", " is served ", " owns ", " is owned by ", " are kept ", " only allows ",
	" requires ",
	" is versioned ", " talks to ", " resets ", " shuts down ", " are billed ", " belongs to ", " has about ",
	" uses conventional", " expire after ", " is at ", " caches for ", " need the environment", " must stay ",
	" can't use ", " key is ", "the license ", " enforced by "}

// answerCues are predicates by which an answer to a question states a lasting fact.
var answerCues = []string{" is called ", " is stored ", " are stored ", " expire after ", " requires ", " runs on ",
	" listens on ", " uses the ", "the convention ", "root cause", " lives in "}
