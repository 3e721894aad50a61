package declared

import "sluice/internal/ration"

// authForm is how a call shows its credential.
func authForm() *form {
	choice := append([]key{
		opt("if", simple(shapeCondition), "whether it is this one: over config, and parts, which is how many parts with colons between them the credential has"),
	}, authKeys()...)
	return either(text(authTypes...), object(append(authKeys(),
		opt("one_of", listOf(object(choice...)), "several ways, of which the first counts whose if holds; one without if always does"))...))
}

// authTypes are ways that need no more words.
var authTypes = []string{"none", "bearer", "basic"}

func authKeys() []key {
	return []key{
		opt("type", text(authTypes...), "a way that needs no more words"),
		opt("header", simple(shapeText), "the header that holds the credential, or the token that was given for it"),
		opt("prefix", simple(shapeText), "what stands before the credential in the header, with its space"),
		opt("query", simple(shapeText), "the parameter that holds the credential, where there is no header for it"),
		opt("oauth2", oauthForm(), "tokens by OAuth2, which go into Authorization as Bearer unless header says otherwise"),
		opt("session", sessionForm(), "a token that signing in gives"),
	}
}

func oauthForm() *form {
	return object(
		must("token", simple(shapeTemplate), "the address that gives tokens, below the base or whole; the client's secret goes there and nowhere else"),
		must("grant", text(grantClient, grantRefresh), "client_credentials: the credential is CLIENT:SECRET; refresh_token: it is CLIENT:SECRET:REFRESH"),
		opt("client", text("body", "header"), "whether the client is shown in the body or by Authorization: Basic; in the body if left out"),
		opt("scope", simple(shapeTemplate), "what is asked for"),
		opt("params", mapOf(simple(shapeTemplate)), "what else is posted, such as audience"),
		opt("lasts", simple(shapeDuration), "how long a token lasts where the answer does not say; until it is refused if left out"),
	)
}

func sessionForm() *form {
	return object(
		must("post", simple(shapeTemplate), "the address to sign in at, below the base or whole"),
		opt("body", mapOf(simple(shapeTemplate)), "what is posted as an object of JSON; {secret} is the credential, or, of NAME:PASSWORD, {name} and {password} its parts"),
		opt("headers", mapOf(simple(shapeTemplate)), "headers of signing in, with the same words"),
		must("token", placeForm(), "where the answer has the token"),
		opt("expires", object(
			opt("header", simple(shapeText), "a header"),
			opt("body", simple(shapePath), "a path in the body"),
			must("as", text(words(ration.Forms())...), "how the instant is written"),
		), "where the answer tells when the token ends"),
		opt("lasts", simple(shapeDuration), "how long a token lasts where the answer does not say; until it is refused if left out"),
	)
}

// placeForm is a path of the body, or a header.
func placeForm() *form {
	return either(simple(shapePath), object(opt("header", simple(shapeText), "a header"), opt("body", simple(shapePath), "a path in the body")))
}
