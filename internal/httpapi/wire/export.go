package wire

// TrailerRows is the trailer that ends a complete export: how many rows it has.
// An answer without it is cut short.
const TrailerRows = "Sluice-Rows"
