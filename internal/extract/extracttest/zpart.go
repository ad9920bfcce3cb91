package extracttest

func MeasurePart(turns []Turn, part string) (Score, []string) {
	var s Score
	for _, t := range turns {
		var d []Label
		for _, x := range draw(t) {
			if x.From == part {
				d = append(d, x)
			}
		}
		s = s.plus(score(d, t.Want))
	}
	return s, nil
}
