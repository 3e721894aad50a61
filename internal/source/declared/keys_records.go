package declared

// recordForm is one kind of keyed records.
func recordForm() *form {
	return object(
		must("get", simple(shapeTemplate), "the address, below the base, over key, config and what is kept of other records: /detail?id={id}"),
		opt("query", mapOf(simple(shapeTemplate)), "parameters of the address"),
		opt("doc", simple(shapeText), "a line about it"),
		opt("keep", listOf(simple(shapePath)), "what is kept of an answer: paths, in which lists do not count as a step; all of it if left out. What of it has a name without a dot can stand in the address of other records"),
		opt("fresh", simple(shapeDuration), "for how long a value counts as fresh: it is not asked for again before, by tiers or by records that need it; the setting fresh-for if left out"),
	)
}

func tiersForm() *form {
	return object(
		opt("hot", simple(shapeDuration), "after how long a record is refreshed that was read in the last day; 1h if left out"),
		opt("warm", simple(shapeDuration), "one that was read in the last week; 6h if left out"),
		opt("cold", simple(shapeDuration), "all others; 24h if left out"),
	)
}
