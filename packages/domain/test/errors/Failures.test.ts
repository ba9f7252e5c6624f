import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { errorCodes, errorTable, ErrorObject, responses, toErrorObject } from "../../src/errors/ErrorTable.ts"
import * as Failures from "../../src/errors/Failures.ts"
import { encodeUlid, type ApprovalId, type InputRequestId, type RequestId } from "../../src/identity/Ids.ts"

const approvalId = `apr_${encodeUlid(0, new Uint8Array(10))}` as ApprovalId
const resolved = { approvalId, state: "expired" } as const
const inputId = `inq_${encodeUlid(0, new Uint8Array(10))}` as InputRequestId
const resolvedInput = { inputId, state: "answered", answeredBy: "usr_1" } as const
const requestId = "req-1" as RequestId

/** One of each. */
const all: ReadonlyArray<Failures.Failure> = [
  new Failures.InvalidAgentId(),
  new Failures.Unauthorized(),
  new Failures.BudgetExceeded(),
  new Failures.UnauthorizedTarget(),
  new Failures.WorkspaceOutsideAllowlist(),
  new Failures.PermissionDenied(),
  new Failures.ApprovalRejected(),
  new Failures.BindingRequired(),
  new Failures.NotFound(),
  new Failures.MethodNotAllowed(),
  new Failures.Conflict(),
  new Failures.RunCancelled(),
  new Failures.RunNotCancellable(),
  new Failures.ApprovalAlreadyResolved({ details: resolved }),
  new Failures.InputAlreadyResolved({ details: resolvedInput }),
  new Failures.ChangesUnknown({ details: { reason: "failed" } }),
  new Failures.ChangesOutdated(),
  new Failures.MergeConflict(),
  new Failures.RunActive(),
  new Failures.IdempotencyConflict(),
  new Failures.IdempotencyInFlight(),
  new Failures.ApprovalExpired({ details: resolved }),
  new Failures.InputExpired({ details: { inputId, state: "expired" } }),
  new Failures.PayloadTooLarge(),
  new Failures.UnsupportedMediaType(),
  new Failures.SchemaValidationFailed({ details: { issues: [{ path: "input.text", message: "Required" }] } }),
  new Failures.RateLimited(),
  new Failures.Internal(),
  new Failures.RuntimeUnavailable(),
  new Failures.TargetOffline({ details: { targetId: "dev_x" } }),
  new Failures.Overloaded(),
  new Failures.RunTimeout(),
  new Failures.WorkUnfinished()
]

describe("Failures", () => {
  it("has one class per code of the table", () => {
    assert.deepStrictEqual(
      all.map(({ code }) => code),
      [...errorCodes]
    )
    assert.deepStrictEqual(
      Object.keys(Failures).toSorted(),
      all.map((failure) => failure.constructor.name).toSorted()
    )
  })

  it.each(all)("$_tag is named for its code and says the table's sentence", (failure) => {
    const code = failure._tag.replaceAll(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase()
    assert.strictEqual(code, failure.code)
    assert.strictEqual(failure.constructor.name, failure._tag)
    assert.strictEqual(failure.message, errorTable[failure.code].message)
    assert.instanceOf(failure, Error)
  })

  it.each(all)("$_tag becomes an error object that its response schema encodes", (failure) => {
    const body = toErrorObject(failure, requestId)
    const [response] = responses(failure.code)
    assert.deepStrictEqual(Schema.encodeUnknownSync(response ?? Schema.Never)(body), body)
    assert.deepStrictEqual(Schema.decodeUnknownSync(ErrorObject)(JSON.parse(JSON.stringify(body))), body)
  })

  it("takes another sentence and details", () => {
    const failure = new Failures.RuntimeUnavailable({
      message: "codex is not signed in.",
      details: { agentId: "codex" }
    })
    assert.deepStrictEqual(toErrorObject(failure, requestId), {
      code: "runtime_unavailable",
      message: "codex is not signed in.",
      requestId,
      details: { agentId: "codex" }
    })
  })

  it("leaves details out where there are none", () => {
    assert.deepStrictEqual(Object.keys(toErrorObject(new Failures.NotFound(), requestId)), [
      "code",
      "message",
      "requestId"
    ])
  })
})
