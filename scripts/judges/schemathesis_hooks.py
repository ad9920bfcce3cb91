"""The failures of Schemathesis that the contract asks for, each with its reason, and the key that a run needs."""
import os

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import RejectedPositiveData, UndefinedContentType

# A request that the schema allows may be refused for these reasons, which JSON Schema cannot state.
REFUSALS = (
    (412, "version_conflict", ""),  # If-Match names an entity tag of an older version
    (400, "atlas_workspace_mismatch", ""),  # two ids are valid, but disagree
    (400, "secret_detected", ""),  # a text looks like a credential
    (400, "invalid_query", "cursor does not belong to this query"),  # cursors are opaque
    (400, "invalid_query", "must hold no NUL and no lone surrogate"),  # these are never repaired, in any text
    (400, "invalid_query", "must be valid UTF-8 without NUL"),
    (400, "invalid_query", "holds no letter, digit or symbol"),  # in the sense of Unicode
    (400, "invalid_query", "must have a visible character"),  # in the sense of Unicode
    (400, "invalid_query", "tags must not be empty"),  # a comma separates items of a query
    (400, "invalid_query", "must have at most"),  # characters after trimming, or bytes
    (400, "invalid_query", "is out of range"),  # integers have 64 bits
    (400, "invalid_query", "send at least one of evidence, confidence, validUntil"),
    (400, "invalid_query", "send at least one field to change: content, title, type, tags"),  # secrets is a policy
    (400, "invalid_query", "total must be the sum of the counts"),
    (400, "invalid_query", "memoryId must be given with the outcomes created and updated"),
    (400, "invalid_query", "is no valid glob"),  # the pattern of excludePaths[3]
    (400, "invalid_query", "as in the session"),  # the adapter of the session
    (400, "invalid_query", "adapter is required for an automatic session"),
    (400, "invalid_query", "send either toAgentId or broadcast: true"),
    (400, "invalid_query", "replyTo names your own message"),
    (400, "invalid_query", "replyTo must name a message of the same workspace"),
    (400, "invalid_query", "memoryId must name a memory of the session's workspace"),
    (400, "invalid_query", "must be a time with an offset"),  # or a date that the calendar has, or an age
    (400, "invalid_query", "password must not be"),  # such as the address, or one of the commonest
    (400, "invalid_query", "supersede is for the action compile alone"),
)

# What is too large is refused before it is read. The HTTP library refuses headers over 64 KiB in plain text.
LARGE = {413: AcceptedNegativeData, 431: (AcceptedNegativeData, UndefinedContentType)}


@schemathesis.hook
def filter_failure(context, failure, case, response):
    if isinstance(failure, LARGE.get(response.status_code, ())):
        return False
    if not isinstance(failure, RejectedPositiveData):
        return True
    body = response.json()
    if "error_description" in body:  # of an endpoint of OAuth, whose parameters depend on one another
        return False
    return not any(response.status_code == status and body["code"] == code and part in body["message"]
                   for status, code, part in REFUSALS)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Keeps the key of the run: a link from the list of keys may revoke it."""
    if (case.path_parameters or {}).get("keyId") == os.environ["LOCI_KEY_ID"]:
        case.path_parameters["keyId"] = "0"
