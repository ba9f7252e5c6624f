/** Failures of requests to a Hub as a person reads them. */
import { errorOfResponse } from "@corral/client/http/CorralError"
import { assert, describe, it } from "@effect/vitest"
import { hubFailure, hubUnreachable } from "../../src/hub/HubRefusal.ts"
import { localTime } from "../../src/terminal/ShownTime.ts"

const failureOf = (status: number, error: object) =>
  hubFailure(
    errorOfResponse(status, JSON.stringify({ requestId: "req_1", ...error })),
    hubUnreachable("http://hub"),
    "http://hub"
  ).message

describe("hubFailure", () => {
  it("says when the day of a limit ends", () => {
    const endsAt = "2026-11-30T00:00:00.000Z"
    const error = {
      code: "budget_exceeded",
      message: "Used up.",
      details: { reason: "limit_used_up", endsAt }
    }
    assert.strictEqual(failureOf(402, error), `Used up. The day ends at ${localTime(endsAt)}.`)
    assert.strictEqual(failureOf(402, { ...error, details: {} }), "Used up.")
  })

  it("names the command that renews a sign-in", () => {
    assert.include(failureOf(401, { code: "unauthorized", message: "No." }), "corral login --hub http://hub")
  })
})
