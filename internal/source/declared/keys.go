package declared

import (
	"sync"

	"sluice/internal/ration"
)

// schema is the whole format. What is not here is a mistake in a file.
var schema = sync.OnceValue(func() *form {
	return object(
		must("source", simple(shapeText), "the name of the source: small letters, digits and hyphens; accounts and tables are called by it"),
		opt("title", simple(shapeText), "what people call it; the name if left out"),
		opt("doc", simple(shapeText), "a line about it"),
		opt("target", simple(shapeText), "what an account of it is, such as group or site; one word"),
		opt("config", mapOf(simple(shapeScalar)), "values that expressions see as config.NAME, each with its default; --set NAME=VALUE replaces one"),
		must("base", simple(shapeTemplate), "what addresses begin with, such as https://api.example.org/v2; the only host that is ever called"),
		opt("auth", authForm(), "how a call shows its credential; none if left out"),
		opt("owner", object(
			must("get", simple(shapeTemplate), "one call that tells whose credential it is"),
			must("id", simple(shapePath), "where its answer names the owner"),
		), "who the credential belongs to: credentials of one owner share a ration"),
		opt("headers", mapOf(simple(shapeTemplate)), "headers of every call"),
		must("ration", either(mapOf(rationForm()), text("unknown")), "what the upstream grants, by name; several hold at once. unknown asks one call a second until it is found out"),
		opt("park", parkForm(), "which answers mean that the upstream wants to be left alone, for as long as it says and for two hours at most: one call goes first then; 429 and Retry-After if left out"),
		opt("error", simple(shapePath), "where an answer that is not good says why; the path of the text that rules see as error"),
		opt("answers", listOf(ruleForm()), "rules about answers, before all else; the first that holds counts"),
		opt("streams", mapOf(streamForm()), "what is collected in runs, by name"),
		opt("records", mapOf(recordForm()), "what is kept fresh by key instead, by name; a file has streams or records"),
		opt("tiers", tiersForm(), "how often records are refreshed before anybody asks, by how much they are read"),
	)
})

func fieldForm() *form {
	return either(simple(shapeText), object(
		opt("header", simple(shapeText), "a header"),
		opt("body", simple(shapePath), "a path in the body"),
	))
}

func instantForm() *form {
	return object(
		opt("header", simple(shapeText), "a header"),
		opt("body", simple(shapePath), "a path in the body"),
		must("as", text(words(ration.Forms())...), "how the instant is written"),
	)
}

func rationForm() *form {
	per := either(text(words(ration.Dimensions())...), object(must("header", simple(shapeText), "the header whose value tells counts apart")))
	return object(
		must("per", either(per, listOf(per)), "whose it is: each owner, key (credential), the source as a whole, each stream, or what a header of the answer tells"),
		opt("unit", text(words(ration.Units())...), "what is counted; calls if left out"),
		opt("calls", simple(shapeInteger), "how much is granted in every period, in its unit; at once, for concurrent"),
		opt("cost", simple(shapeInteger), "what a call is thought to take before it is made, at least; what the last ones of its stream took is asked for if that was more; 1 if left out"),
		opt("actual", fieldForm(), "where an answer tells what the call took: a header, or {body: path}; of bytes, the size of the answer if left out"),
		opt("every", simple(shapeText), "for how long: a duration, or minute, hour, day, month of the calendar"),
		opt("zone", simple(shapeText), "where the calendar is read; UTC if left out"),
		opt("shape", text(words(ration.Shapes())...), "how it comes back: at the end of a window, a period after each call, steadily, or when a call ends; fixed if left out"),
		opt("refill", simple(shapeInteger), "what a bucket gets back in every period; all of it if left out"),
		opt("match", either(simple(shapeText), listOf(simple(shapeText))), "which calls draw on it, as /groups/*/projects or POST /search; all if left out"),
		opt("read", either(text("ietf"), object(
			opt("limit", fieldForm(), "where an answer tells what is granted: a header, or {body: path}"),
			opt("remaining", fieldForm(), "where it tells what is left"),
			opt("used", fieldForm(), "where it tells what is taken, also as 32/40"),
			opt("refill", fieldForm(), "where it tells what a bucket gets back in every period"),
			opt("reset", instantForm(), "where it tells when the window ends, and how that is written"),
		)), "where answers tell of it"),
		opt("keep", simple(shapeInteger), "what stays for the owner"),
		opt("use", simple(shapeText), "what share of it is used, such as 90%"),
		opt("low", simple(shapeText), "what share of it runs of low priority use, such as 70%; they wait while others go on"),
	)
}

func parkForm() *form {
	return object(
		must("on", listOf(simple(shapeInteger)), "the statuses that say so"),
		opt("for", either(simple(shapeText), object(
			opt("header", simple(shapeText), "a header"),
			opt("body", simple(shapePath), "a path in the body"),
			opt("as", text(words(ration.Forms())...), "how it is written"),
		)), "the header that says how long; Retry-After if left out"),
		opt("else", simple(shapeDuration), "how long where it does not say"),
		opt("after", instantForm(), "where a good answer says how long to stay away after it"),
		opt("what", text(words(ration.Whos())...), "who waits; the owner if left out"),
	)
}

func ruleForm() *form {
	return object(
		must("if", simple(shapeCondition), "over status, error, answer and headers"),
		must("do", text("wait", "retry", "fail", "pause", "skip", "gone", "stop", "renew"), "wait without counting a failure, try again, fail the job or the record, pause the account, take it for an empty page, take it for something that is gone, fail the run, or, of records, try again once what is kept of others was asked for anew"),
		opt("for", simple(shapeDuration), "how long to wait"),
		opt("what", text("key", "owner", "source", "account"), "of records, who waits: the key, or everything that is asked for with the credential; everything if left out"),
		opt("say", simple(shapeText), "what people are told; the upstream's own words if left out"),
	)
}

func pageForm() *form {
	place := either(simple(shapePath), object(opt("header", simple(shapeText), "a header"), opt("body", simple(shapePath), "a path in the body")))
	return object(
		must("type", text(pageTypes()...), "how pages follow each other: by number, by offset, by a token of the last page, by its Link header, by the last record's key, or not at all, where a walk of a stream with pages has one page"),
		opt("param", simple(shapeText), "the parameter that says which page"),
		opt("size", mapOf(simple(shapeInteger)), "the parameter of a page's size, and the size"),
		opt("start", simple(shapeInteger), "the number of the first page; 1 if left out, 0 for an offset"),
		opt("total", place, "where the answer tells how many records there are; all pages are planned at once then"),
		opt("pages", place, "where it tells how many pages there are"),
		opt("next", place, "where it tells the token or the address of the next page"),
		opt("more", simple(shapePath), "where it tells whether there are more"),
		opt("rel", simple(shapeText), "the relation of the link; next if left out"),
		opt("by", simple(shapePath), "for keyset: what of the last record begins the next page; the key if left out"),
		opt("most", simple(shapeInteger), "after how many pages a walk is taken to be endless; 100000 if left out"),
	)
}

// walkKeys are those of a walk of a stream that says itself how it is asked for.
func walkKeys(more ...key) []key {
	keys := requestKeys(more...)
	for i := range keys {
		switch keys[i].name {
		case "page":
			keys[i].doc = "how pages follow each other, as a whole; as the stream's do if left out"
		case "records":
			keys[i].doc = "where the records are; where the stream's are if left out"
		}
	}
	return keys
}

func requestKeys(more ...key) []key {
	return append([]key{
		opt("get", simple(shapeTemplate), "the address, below the base"),
		opt("post", simple(shapeTemplate), "the address, for a call that posts"),
		opt("query", mapOf(simple(shapeTemplate)), "parameters of the address"),
		opt("body", mapOf(simple(shapeTemplate)), "what is posted, as an object of JSON"),
		opt("page", pageForm(), "how pages follow each other; one page if left out"),
		opt("records", simple(shapePath), "where the records are; * stands for every member. The whole answer if left out"),
	}, more...)
}

func streamForm() *form {
	keys := requestKeys(
		opt("of", simple(shapeText), "the stream for whose records this one is asked, one walk each"),
		opt("doc", simple(shapeText), "a line about it"),
		must("key", either(simple(shapePath), listOf(simple(shapePath))), "what names a record: a path, or several; a parent's is written as projects.id, and guid|link is the first that is there"),
		opt("version", simple(shapePath), "the record's own time of change"),
		opt("title", simple(shapePath), "what people call a record; searched"),
		opt("parent", simple(shapePath), "where a record of changes names the key of its parent"),
		opt("format", text("json", "xml"), "what answers are; json if left out"),
		opt("latest", simple(shapeBoolean), "whether it shows only what came last, as feeds do: what it does not show is not gone"),
		opt("conditional", text("etag"), "ask only for pages that changed"),
		opt("first", object(walkKeys()...), "the first collection, where it differs: get or post, query, body, page and records as above"),
		opt("changes", object(walkKeys()...), "what changed since {cursor}, with the same keys; for a stream of parents it may be one walk for all of them"),
		opt("sweep", object(walkKeys(must("every", simple(shapeDuration), "how often"))...), "a complete walk that finds what is gone, with the same keys"),
		opt("count", object(
			must("get", simple(shapeTemplate), "one call that tells how many records there are, for the forecast of a first collection"),
			must("at", placeForm(), "where its answer has the number"),
		), "how many there are, where pages do not tell; nothing but the forecast goes by it"),
		opt("window", simple(shapeDuration), "ask in slices of this length, such as 30d, from cursor.start until now; get has {cursor} and {until} as the ends of a slice"),
		opt("cursor", object(
			opt("overlap", simple(shapeDuration), "how far before the last walk the next one begins; 1m if left out"),
			opt("as", text("iso", "epoch", "epoch_ms", "date"), "how {cursor} is written; iso if left out"),
			opt("start", simple(shapeTemplate), "where the first walk begins, such as 2020-01-01 or {config.since}"),
		), "how changes are followed; it moves only when every page is stored"),
		opt("gone", listOf(simple(shapeInteger)), "statuses that say that the parent is gone"),
		opt("where", simple(shapeCondition), "which records are kept, over record and its parents"),
		opt("add", mapOf(simple(shapeTemplate)), "fields that records get"),
		opt("remove", listOf(simple(shapePath)), "fields that are left out"),
		opt("rename", mapOf(simple(shapeText)), "fields that are called otherwise: old: new"),
		opt("columns", mapOf(either(simple(shapePath), object(
			must("at", simple(shapePath), "where the value is"),
			opt("type", text("text", "integer", "boolean", "instant", "list"), "what it is; text if left out"),
			opt("doc", simple(shapeText), "a line about it"),
		))), "columns of its table, by name"),
	)
	return object(keys...)
}

func words[T ~string](of []T) []string {
	all := make([]string, len(of))
	for i, one := range of {
		all[i] = string(one)
	}
	return all
}
