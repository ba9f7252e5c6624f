import { assert, describe, it } from "@effect/vitest"
import { errorCodes, type ErrorCode, toErrorObject } from "../../src/errors/ErrorTable.ts"
import { failureOfObject } from "../../src/errors/FailureOfObject.ts"
import { ApprovalExpired } from "../../src/errors/Failures.ts"
import type { RequestId } from "../../src/identity/Ids.ts"

describe("failureOfObject", () => {
  it("returns the class of each code, with the message and the details of the object", () => {
    for (const code of [...errorCodes] satisfies ReadonlyArray<ErrorCode>) {
      const failure = failureOfObject({ code, message: "It happened." })
      assert.deepStrictEqual(
        [failure.code, failure.message, failure.details],
        [code, "It happened.", undefined]
      )
    }
    const details = { approvalId: "apr_1", state: "expired" }
    const expired = new ApprovalExpired({ details } as never)
    const returned = failureOfObject(toErrorObject(expired, "req_1" as RequestId))
    assert.instanceOf(returned, ApprovalExpired)
    assert.deepStrictEqual([returned.message, returned.details], [expired.message, details])
  })
})
