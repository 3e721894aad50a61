package query

import (
	"slices"
	"strings"
)

// functions are those of SQLite that people may call: none of them reads files,
// settings or other tables, or stops for a while.
var functions = strings.Fields(`
abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce concat concat_ws cos cosh count cume_dist
current_date current_time current_timestamp date datetime degrees dense_rank exp first_value floor format glob
group_concat hex if ifnull iif instr
json json_array json_array_length json_error_position json_extract json_group_array json_group_object json_object
json_patch json_pretty json_quote json_remove json_replace json_set json_type json_valid -> ->>
julianday lag last_value lead length like likelihood likely ln log log10 log2 lower ltrim max median min mod nth_value
ntile nullif octet_length percent_rank percentile percentile_cont percentile_disc pi pow power printf quote radians random
rank replace round row_number rtrim sign sin sinh sqrt strftime string_agg substr substring sum tan tanh time timediff
total trim trunc typeof unhex unicode unixepoch unlikely upper zeroblob
`)

// tableFunctions are those that stand where a table does.
var tableFunctions = []string{"json_each", "json_tree", "generate_series"}

// Functions lists the functions that can be called on the embedded store.
func Functions() []string { return slices.Concat(functions, tableFunctions) }

// MayCall says whether a function may be called on the embedded store.
func MayCall(name string) bool { return slices.Contains(functions, strings.ToLower(name)) }

// MayRead says whether a function may stand where a table does.
func MayRead(name string) bool { return slices.Contains(tableFunctions, strings.ToLower(name)) }
