"""What the fuzzing of the API adds to schemathesis.

Secrets that must never come back are put where secrets go in, and looked for in
every answer. A request that has an Idempotency-Key gets one of its own, as a key
that is used for something else is refused before anything else is looked at.
"""

import os
import re
import uuid

import schemathesis

SECRETS = [secret for secret in os.environ["SLUICE_FUZZ_SECRETS"].split(",") if secret]
KEY = "Idempotency-Key"


@schemathesis.hook
def before_call(context, case, kwargs):
    if isinstance(case.body, dict) and isinstance(case.body.get("token"), str) and case.body["token"]:
        case.body["token"] = SECRETS[0]
    if case.headers and re.fullmatch("[!-~]{1,255}", case.headers.get(KEY) or ""):
        case.headers[KEY] = str(uuid.uuid4())


@schemathesis.check
def shows_no_secret(context, response, case):
    text = response.text + "\n" + "\n".join(f"{name}: {value}" for name, value in response.headers.items())
    for secret in SECRETS:
        assert secret not in text, "the answer shows a secret"
