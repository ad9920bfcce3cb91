package extract

import "strings"

// Words of an order to ignore rules: "disregard all of the prior instructions". Rules of something, such as "the lint
// rules", are not meant.
var (
	overrides  = wordSet("ignore disregard forget override overrule bypass")
	qualifiers = wordSet("all any every each of the your my our its these those this that previous prior preceding " +
		"earlier former above other existing current given initial original system safety memory")
	ruleNouns = wordSet("rule rules instruction instructions guideline guidelines directive directives prompt " +
		"prompts policy policies")
	refusals = wordSet("not never cannot don't don’t can't can’t won't won’t")
)

// overridesRules reports whether a text orders to ignore rules. That is the sign of an injection: what else the text
// says is nobody's decision.
func overridesRules(text string) bool {
	last, isOverride := "", false
	for field := range strings.FieldsSeq(lowerASCII(text)) {
		w := strings.Trim(field, "\"'“”‘’`*_()[].,;:!?-")
		switch {
		case overrides[w]:
			isOverride = !refusals[last]
		case isOverride && ruleNouns[w]:
			return true
		default:
			isOverride = isOverride && (w == "" || qualifiers[w])
		}
		if last = w; strings.ContainsAny(field[len(field)-1:], ".!?;:") {
			last = ""
		}
	}
	return false
}
