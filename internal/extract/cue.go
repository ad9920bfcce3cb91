package extract

// A cue is a feature of a sentence: it has one of the phrases. Words are as normalize returns them; "^" is the start
// of a clause, "$" the end of the sentence, "#" a number.
type cue struct{ name, phrases string }

var cues = []cue{
	{"plain decision", "^ decision ^|decision is ^|we decided|we agreed|we've decided|we have decided|we chose|" +
		"we picked|we settled|it was decided|it's decided|team agreed|team decided|team chose|decided to use|" +
		"decided on|we've agreed|we've settled|we have settled|we have agreed|we've picked|we've chosen|" +
		"we're going with|we go with|we'll go with|let's go with|let's use|let's stick with|let's keep|let's not|" +
		"i decided|i've decided|we'll stick with|we're dropping|we're moving to|we're switching to|" +
		"we're settling on|we ended up|verdict|made up my mind|we standardize|we're standardizing|we rejected|" +
		"we no longer|we will not|we won't"},
	{"plain task", "^ todo|todo ^|remind me|note to self|action item|^ follow-up ^|^ open item|don't forget to|" +
		"remember to|let me forget|still need to|still needs|still has to|still have to|still owe|someone needs to|" +
		"someone has to|somebody needs to|somebody has to|next step is|still to be|still missing|^ remaining|" +
		"must not forget|please remind"},
	{"plain preference", "i prefer|i'd prefer|i'd rather|my preference|i hate|^ always|^ never|whenever you|" +
		"i always want|ask me first|i don't like|not a fan|i like|don't ever|do not ever|by default ^|^ prefer|" +
		"^ avoid|stop asking|stop adding|stop using|stop writing|stop making|stop saying|without asking|" +
		"i can't stand|i want all|i'd appreciate|drives me|ever ^|ever $|always $|please don't|^ please ^ don't"},
	{"plain fact", "fyi|keep in mind|just so you know|remember that|call me|for the record|be aware|note that|" +
		"i'm the|i work|worth knowing|turns out|heads up|by the way|btw|mind you|bear in mind|root cause|" +
		"convention in|don't forget that|is called|for reference|for context"},
	{"lasting", "from now on|from here on|from today|from this|from then on|from tomorrow|going forward|" +
		"moving forward|in future|in the future|for the future|for good|permanently|any more|anymore|no longer|" +
		"no more|at all times|every time|each time|any time|henceforth|starting in|starting with|starting #|as of|" +
		"until the|until we|since #|for now on|from version|from # on|forever|until further"},
	{"always", "always|never|ever|whenever|everywhere|without exception|no exceptions|at all|in general|generally|" +
		"by default|anywhere|nowhere|as a rule|consistently|strictly"},
	{"all", "every|each|all|any|everything|nothing|everyone|nobody|none|both|across|no one|anyone|anything"},
	{"only", "only|solely|exclusively|nothing else|nothing but|no other|at most|at least|max|under #|below #|" +
		"at minimum"},
	{"contrast", "^ not|^ never|^ no|instead of|rather than|not the|^ instead|but not|^ without|^ don't|and not|" +
		"not by|over the|not just|and no|never the"},
	{"finality", "that's settled|that's it|that's that|no more debate|no debate|deal|bought|won me|sold on|" +
		"i'm sold|we've chosen|we have chosen|we have decided|we've decided|chose|meeting|retro|call|team agreed|" +
		"everyone|vote|ok from|blessed|adr|policy|from the top|boss|cto|lead|go with that|thought about it|" +
		"thinking it over|after all|my call|call it|final|full stop|period ^|period $|last word|end of story|" +
		"end of discussion|no discussion|had that discussion|settled|signed off|sign off|sold|verdict|decision|" +
		"decisions|decided|agreed|made up my mind|ruled|approved|case closed|done deal|confirmed|we agree|" +
		"conclusion|outcome|consensus|decide|voted|greenlit"},
	{"elliptic", "it is $|it is ^|it is then|wins $|wins ^|stays $|stays ^|then $|then ^|lost $|won $|is out $|" +
		"are out $|is out ^|are out ^|remains for|stays with|stays on|is frozen|goes away|is dead|wins|lost ^|" +
		"^ over|is gone|are gone|it'll be|stay $|it shall be|is king"},
	{"choose", "we've moved|we're now|we now|now on|over to|stopped using|stop using|stop supporting|we support|" +
		"won't support|not supporting|will not|won't use|won't do|done with|no to|yes to|go back to|going back|" +
		"back to|in favor of|in favour of|replacing|swap|swapping|consolidate|consolidating|split into|merge into|" +
		"moves|move into|ship without|ships without|ships with|ship with|make it|prefer|instead of|will ship|" +
		"gets its|get their|lives under|scrapping|kill|standard is|going all|committed to|commit to|bet on|" +
		"betting on|pinned to|freeze|freezing|cut|rename to|called|named|picked|chose|choose|chosen|settled on|" +
		"settling on|settle on|going with|go with|go for|going for|went with|stick with|stick to|sticking with|" +
		"sticking to|stay with|stay on|staying with|staying on|standardize|standardise|standardizing|standardising|" +
		"standardized|adopt|adopting|adopted|switch to|switching to|switching from|switched to|moving to|move to|" +
		"moves to|moved to|migrate to|migrating to|moving from|drop|drops|dropping|abandon|abandoning|abandoned|" +
		"replaces|replaced by|leave|leaving|rejected|postpone|ended up with|retire|retiring|deprecate|sunset|ditch|" +
		"ditching|killing|keep|keeping|take|becomes|become|gets|will use|will be|is going to be|are going to|" +
		"phase out|phasing out|we use|we'll use|opted for|opt for|we're using"},
	{"we", "we|we're|we've|we'll|the team|us"},
	{"our", "our|ours|this repo|this project|this codebase|this repository|here $|here ^|in here|this product|" +
		"this team"},
	{"taste", "i tend|i'm allergic|i'm a fan|my eyes|i value|i need to see|i'm not a|i'd like all|i'd like every|" +
		"i usually|please always|please never|can't stand|hate it|love it when|like it when|hate when|annoyed|" +
		"i keep telling|i told you|how many times|second time|like i said|as i said|you keep|you always|you tend|" +
		"too often|not my style|i'd want|easier for me|i want to be|i want to see every|nitpick|rule of mine|" +
		"my rule|for my taste|i insist|prefer|i'd rather|rather have|preference|i like|i hate|i don't like|" +
		"not a fan|drives me|annoys|annoying|i'd appreciate|i appreciate|i want all|i always|i never|hard to read|" +
		"for me $|for me ^|my taste|i dislike|i can't stand|how i like|makes my|i read|tired of|sick of|i expect|" +
		"i care|i find|helps me|i'd prefer|i'm used to|the way i|bothers me|i want you|i don't want|pet peeve|" +
		"can't read|i won't"},
	{"manner", "concise|short|shorter|terse|verbose|brief|details|plain|german|french|output|steps|lists|list|" +
		"tables|file|helpers|classes|types|abstractions|abstraction|indent|quotes|casing|case|docstrings|docstring|" +
		"logs|snippets|log|wording|language|capital|caps|title|titles|apologies|apologize|apologise|filler|jargon|" +
		"buzzwords|answer|answers|reply|replies|summary|summaries|recap|commit|commits|comments|comment|diff|diffs|" +
		"naming|names|functions|style|emojis|emoji|explain|sentences|words|subject lines|lines|docs|files under|" +
		"prs|branches|variable|variables|tests|bullet|bullets|messages|report|mocks|code|english|spelling|tabs|" +
		"spaces|semicolons|paragraphs|explanations|tone|formatting|indentation|imports|markdown|headings"},
	{"agent", "one at a time|step by step|at a time|on your own|by yourself|your answers|your replies|" +
		"your messages|your code|your commits|do not ask|check with me|come back to me|run by me|propose|spare me|" +
		"keep it|your explanations|your summary|before touching|before editing|before changing|before writing|" +
		"before running|before committing|when writing|when editing|when naming|when you're|before i|after each|" +
		"after every|before every|before each|ask me|tell me|show me|asking|confirmation|without asking|when you|" +
		"whenever you|before you|after you|unless i|if i ask|unless you|every time you|if you're|when i|" +
		"let me know|instead of|answer me|talk to me|ping me|wait for me|don't ask|just do|my approval|my ok|" +
		"you change|you write|you add|you make|you touch|you run|you need to"},
	{"stop", "stop|^ don't|^ do not|^ dont|^ avoid|^ no|quit|^ not again|^ skip|^ leave|^ spare|^ cut"},
	{"must", "must|mustn't|has to|have to|may only|may not|required|mandatory|forbidden|not allowed|is supposed|" +
		"can only|needs to|need to|needs|need|is to be|are to be|refuses|only works|are allowed|is allowed|banned|" +
		"prohibited|obliged|compulsory|non-negotiable|off limits"},
	{"task", "have got to|gotta|need someone to|not forget|afterwards|sometime|another day|separate pr|" +
		"separate ticket|separate issue|on hold|parked|postponed|deferred|for later|left for|out of scope|" +
		"open question|is due|are due|due on|due by|needs doing|want to do|want to go|want to look|i'll have to|" +
		"we'll have to|we'll need|i'll need|have yet to|has yet to|keep me|nag me|poke me|hold me|must not forget|" +
		"mustn't forget|ticket for|make sure we|todo|to do ^|action item|action items|remind|reminder|note to self|" +
		"let me forget|don't forget|follow-up|follow up|open item|open point|open points|remember to|owe|owes|" +
		"still open|still missing|next step|someone needs|someone has|someone must|someone should|somebody needs|" +
		"somebody has|somebody should|still to do|left to do|pending|on my list|to-do|make a note|must happen|" +
		"i promised|we promised|on the list|later on|come back to|revisit|put it on|park|backlog|don't let me|" +
		"i need to|i have to|i must|i still|we still"},
	{"unfinished", "not covered|untouched|left out|not wired|not started|to do|stub|only partly|half done|" +
		"in progress|not implemented|not migrated|not tested|not verified|not updated|not documented|still to|" +
		"isn't wired|is still|are still|needs a|need a|i haven't|i didn't|i did not|i have not|i left|i skipped|" +
		"open is|open are|what's left|to follow|still need|still needs|still has to|still have to|to be written|" +
		"to be done|to be run|to be tested|outstanding|remaining ^|has not been|have not been|hasn't been|" +
		"haven't been|not yet|yet $|yet ^|is missing|are missing|still|isn't done|not done|can't yet|remains|" +
		"left ^|left $|unfinished|not been|untested|never been|nobody has|blocked by|blocked on|waiting for|" +
		"waits for|awaiting"},
	{"deadline", "until #|no later than|in # weeks|in # days|in # months|in two weeks|in a week|in a month|the end|" +
		"when it|when the|is done|is finished|is merged|is live|is ready|is through|are done|are through|" +
		"has landed|lands|goes out|the launch|launch ^|launch $|the deadline|the audit|the demo|the migration|" +
		"the upgrade|the rollout|the freeze|before the|before we|before #|before it's|before it|once|after the|" +
		"after we|later this|next week|next month|next quarter|next year|next sprint|tomorrow|due|deadline|when we|" +
		"as soon as|by the end|until then|by #|by monday|by tuesday|by wednesday|by thursday|by friday|by january|" +
		"by february|by march|by april|by may|by june|by july|by august|by september|by october|by november|" +
		"by december|by next|on monday|on tuesday|on wednesday|on thursday|on friday|later ^|later $|the release|" +
		"release ^|before|goes live|go live|is over|end of the|this quarter|this sprint|at the latest|by tomorrow|" +
		"eventually|by then"},
	{"aside", "what you can't|what you don't|didn't know|don't know yet|you can't know|little known|new here|" +
		"explains|which explains|remember ^|reminder ^|fun fact|ps ^|p.s|clarification|correction|correct ^|" +
		"as you know|caveat|gotcha|pitfall|trap|hint|tip ^|to be clear|just so|be careful|mind that|mind the|" +
		"don't be surprised|don't trust|unlike|btw|by the way|fyi|keep in mind|note that|just so you|" +
		"for the record|careful|important|remember that|heads up|mind you|turns out|worth knowing|for context|" +
		"in case you|don't forget that|be aware|beware|for reference|you should know|worth noting|as a reminder|" +
		"please note|one thing|if anyone asks|good to know|background|just to clarify|for your information|" +
		"you need to know|bear in mind|watch out|attention|caution"},
	{"stative", "lie|lies|resides|reside|rests|holds|counts|carries|carry|speaks|answers|responds|identifies|lasts|" +
		"takes place|refreshes|renews|rounds|truncates|caps|allow|limit|require|enforces|guarantees|equals|differs|" +
		"differ|varies|spans|consists|comprises|derives|inherits|overrides|extends|wraps|imports|invokes|calls|" +
		"registers|subscribes|listens|binds|binds to|bind|mounts|manages|controls|monitors|checks|verifies|" +
		"validates|rejects|denies|grants|hashes|compresses|encrypts|decrypts|decides|assigns|allocates|generates|" +
		"produces|creates|builds|compiles|deploys|updates|deletes|removes|clears|purges|retries|waits|locks|opens|" +
		"closes|skips|adds|applies|converts|copies|runs every|retained|cached|configured|defined|set|sent|written|" +
		"read by|used|based|measured|installed|documented|tracked|scheduled|triggered|disabled|enabled|blocked|" +
		"capped|exposed|routed|forwarded|proxied|loaded|runs|run on|run in|lives|live|sits|sit|belongs|belong|owns|" +
		"uses|use|hold|contains|expires|expire|talks|talk to|reads|read from|points to|point to|called|named|" +
		"stored|kept|served|hosted|deployed|deploy|owned|billed|versioned|issued|shipped|built|generated|located|" +
		"managed|allows|limits|requires|depends|supports|connects|enforced|caches|resets|switches|rebuilds|pulls|" +
		"sets|sends|takes|means|goes through|go through|comes from|come from|read-only|polls|writes|returns|" +
		"rotates|bypasses|blocks|keeps|drops|accepts|assumes|expects|happens|happen|goes|gets|starts|serves|maps|" +
		"works|covers|mounted|signed|shared|restricted|limited|protected|locked|pinned|computed|rounded|merged|" +
		"deleted|encrypted|restarts|stays|stores|exports|emits|publishes|consumes|delivers|replicates|mirrors|" +
		"syncs|handles|triggers|ends|fires|overwrites|strips|throttles|routes|forwards|proxies|ignores|includes|" +
		"excludes|provides|exposes|contain|depend on|support|store|charges|charged|paid|approves|signs|scans|" +
		"flushes|lags|wakes|sleeps|measures|speak|ships|knows|loads|bills|counted|indexed|archived|backed|" +
		"replicated|synced|mirrored|licensed|hardcoded"},
	{"is", "is|are|isn't|aren't|there's|there is|there are"},
	{"has", "has|have|has no|have no|comes with"},
	{"can't", "cannot|can't|can not|cant|impossible|doesn't|don't|won't"},
	{"past", "was|were|had|did|didn't|wasn't|weren't|got|happened|used to|yesterday|last week|last year|last time|" +
		"ago|turned out|came|went|tried|found|saw|noticed|looked|changed|forgot|began|thought|this morning|" +
		"last night"},
	{"hedge", "maybe|perhaps|might|probably|possibly|not sure|i guess|i think|could|would be|wonder|wondering|" +
		"thinking about|considering|someday|some day|at some point|hmm|hm|seems|i suppose|my theory|no opinion|" +
		"don't know|who knows|let's see|we'll see|can't decide|i wish|would it|if possible|wouldn't|i'm not|" +
		"undecided|tempted|toying|leaning|could be|i believe|i assume|my guess|unsure|no idea|supposedly|" +
		"i was thinking|likely|debating|in doubt|we should|on the fence|we'd|it'd|i'd be"},
	{"hypothetical", "if we|^ if|suppose|imagine|what if|let's say|let's suppose|hypothetically|in theory|" +
		"were going to|was going to|wanted to|had decided|assume|assuming|say we|pretend|theoretically|in an ideal|" +
		"i were"},
	{"speech", "says|said|say|wrote|writes|told|claims|thinks|according|asks|article|they say|you said|you noted|" +
		"the sentence|the text|the comment|saying|quote|reads ^|translate|suggests|mentions|states|stated|blog|" +
		"rumor|rumour|i heard|claimed|argues|insists|keeps saying|tweet|stack overflow|stackoverflow|chatgpt"},
	{"now", "for now|right now|for the moment|at the moment|for today|today|this time|this run|in this pr|" +
		"in this change|for this|this once|just this|currently|at present|temporarily|in this commit|this session|" +
		"for the test|for a minute|now $|now ^|as a trial|in this file|this file|this function|this variable|" +
		"for the demo|throwaway|quick|no need|here instead|this one|just once|this pr|this branch|this test|" +
		"this case|in this case|for a moment|tonight|asap|the change|this change"},
	{"pronoun", "^ this|^ that|^ it|^ it's|^ they|^ he|^ she|^ these|^ those|^ that's|^ thats|^ its|^ here's|" +
		"^ here|^ they're|^ there"},
	{"anaphora", "that $|this $|it $|them $|with that|do that|that one|like that|like this|same|those $|that ^|" +
		"this ^|the above|it back|it again|that again"},
	{"display", "button|buttons|page|header|footer|tooltip|menu|modal|dialog|icon|layout|font|chart|graph|screen|" +
		"animation|sidebar|banner|dropdown|scrollbar|cursor|spinner|popup|toast|row|div|navbar|label|logo|margin|" +
		"padding|tab|field|preview|the test|the build|the tests|the pipeline|the ci|the job|the output|the log|" +
		"the logs|the result|the script"},
	{"symptom", "suddenly|sometimes|randomly|occasionally|overlaps|jumps|flickers|flicker|disappears|disappeared|" +
		"vanishes|shows|displays|duplicates|duplicated|empty|is off|truncated|cut off|garbled|incorrect|" +
		"incorrectly|inconsistent|laggy|stutters|slower|forever ^|forever $|twice|null|undefined|nan|denied|" +
		"refused|unreachable|unavailable|stale|corrupt|corrupted|mismatch|off by|doesn't show|doesn't start|" +
		"doesn't build|doesn't compile|won't start|won't build|no idea why|for some reason|somehow|out of disk|" +
		"out of memory|oom|can't start|can't connect|can't find|can't open|fails|fail|failed|failing|failure|" +
		"broken|breaks|broke|wrong|error|errors|bug|crash|crashes|crashed|slow|hangs|not working|chokes|drifts|red|" +
		"flaky|leak|leaks|grows|spike|confused|complains|warning|weird|stuck|diverged|looks like|too|not found|" +
		"chaos|mess|problem|issue|misses|died|freezes|timeout|times out|throws|panics|strange|odd|ugly|unexpected|" +
		"panic|exception|blank|regression|keeps failing|garbage|nothing happens"},
	{"sarcasm", "lol|haha|great another|seriously|yeah right|oh great|wow|joking|kidding|brilliant idea|" +
		"of course ^|surely|what could|obviously ^|genius|sure ^ because|lovely|bravo|rofl|lmao|hilarious|ha ^"},
	{"ask", "can you|could you|would you|will you|have a look|i'd like|i want to see|i need you|give me|help|" +
		"tell me about|any ideas|ideas|suggestions|thoughts|what do you|take a look|let me see|i'm curious|curious"},
	{"naming", "call me|is called|are called|is named|i mean|nickname|refer to|refers to|calls|short for|" +
		"stands for|named after|known as|code name|codename|alias|we call"},
	{"role", "i'm the|we're a|i work|i keep|my name|my team|our team|i live|i use|my editor|my machine|my laptop|" +
		"i'm a|i'm on|i maintain|i own|we're on|we run|we have|we host|we deploy|we ship|we build|we get|we store|" +
		"we sell"},
	{"authority", "legal|security|finance|product|marketing|board|architecture|auditors|customer|customers|" +
		"compliance|client|clients|vendor|provider|advisor|contract|management|policy|convention|rule|rules|law|" +
		"regulator|gdpr|ops|upstream|partner|supplier|hospital|school|warehouse|the bank|license|regulation|" +
		"agreement|insurance"},
	{"advice", "you should|you can|i'd|i would|consider|recommend|suggest|you could|you may|you need|want me|" +
		"tell me if|let me know|if you want|i can|i could|would|you'll|you'd|to get|make sure|i'd suggest"},
	{"told", "i ran|i changed|i set|i upgraded|i tried|i found|i thought|i just|i got|i was|i had|i made|i added|" +
		"i fixed|i moved|i removed|i put|i've|i see|i get|i'm getting|i'm trying|i did|i replaced|i checked|" +
		"i extracted|i also|i went"},
	{"date", "monday|tuesday|wednesday|thursday|friday|saturday|sunday|mondays|tuesdays|wednesdays|thursdays|" +
		"fridays|saturdays|sundays|january|february|march|april|in may|of may|by may|june|july|august|september|" +
		"october|november|december|q1|q2|q3|q4|week|weeks|month|months|quarter|year|christmas|easter|summer|winter|" +
		"spring|autumn|weekend|midnight|noon|nightly|daily|weekly|monthly|hours|hour|minutes|days|day"},
	{"determined", "^ the|^ our|^ my|^ all|^ every|^ any|^ each|^ both|^ most|^ some|^ only"},
	{"scope", "for the|for all|for every|for any|for each|in all|in every|in any|in production|in prod|in staging|" +
		"on production|on prod|on staging|on all|on every|across all|to prod|prod|production|staging|main|master|" +
		"team|everyone|customers|users|clients|tenants|services|environments|repos|machines|hosts|cluster|database|" +
		"db"},
	// A prompt with this cue makes all of it hypothetical, or the text of somebody else.
	{"fiction", "suppose|imagine|act as|pretend|what if|let's say|hypothetically|hypothetical|rubber duck|play the|" +
		"thought experiment|example|examples|write a|write an|write me|draft|translate|rephrase|rewrite|story|poem"},
	// A prompt with this cue is given up, all of it.
	{"abandoned", "^ forget that|^ forget it|never mind|nevermind|^ scrap|no wait|no ^ wait|changed my mind|" +
		"off the table|gave up on|overruled|ignore what i said|undo it|just kidding|forget about|i was joking|" +
		"scratch that|on second thought"},
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
