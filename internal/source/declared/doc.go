// Package declared makes a source of a file: an API is described in YAML, and
// collected like any other source, one call for each job.
//
//   - schema.go, keys.go: which keys there are, what they hold and what they mean;
//     the reference and the schema for editors are made from it.
//   - mistakes.go, node.go: what is wrong with a file, with line and remedy.
//   - file.go: what a file says; load*.go: how it is read and checked.
//   - expression.go, template.go: what is written in {…}: compiled once, bounded.
//   - path.go: places in an answer.
//   - rations.go: what the rations of a file are to the keeper of today.
//   - source.go, params.go: the source and its jobs.
//   - auth.go, session.go: how calls show a credential, and tokens that are given for it.
//   - request.go, fetch.go, outcome.go: one call and what its answer means.
//   - walk.go, page.go, record.go: pages, records and what a complete walk proves;
//     slices.go: walks through slices of time; count.go: how many there are; xml.go: XML
//     as the same tree.
//   - keyed.go, rate.go: records that are kept fresh by key; inferred.go: columns that are
//     inferred once.
//   - probe*.go, infer.go: what an upstream shows, and the lines that a file lacks.
package declared
