package relational

// Statements that are done all the time, for those who look at their plans.
const (
	DueSQL          = dueSQL
	EntityColumns   = entityColumns
	ValuesSQL       = valuesSQL
	ForgottenSQL    = forgottenSQL
	PastSQL         = pastSQL
	RemoveValuesSQL = removeValuesSQL
)
