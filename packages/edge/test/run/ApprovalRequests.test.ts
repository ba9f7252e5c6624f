import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { AnyProtocol } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { Deferred } from "effect"
import type { ApprovalAsker } from "../../src/approval/PendingRequests.ts"
import { requestApproval } from "../../src/run/kernel/Requests.ts"
import { isoTime, KernelState } from "../../src/run/kernel/KernelState.ts"
import { OutputRedaction } from "../../src/run/kernel/OutputRedaction.ts"
import { RunRecorder } from "../../src/run/kernel/RunRecorder.ts"
import { policyOf, shell } from "../approval/RunPolicies.ts"
import { created, runIdOf, runOf } from "../Samples.ts"

const HALF_HOUR = 1_800_000
const now = Date.UTC(2026, 0, 1, 12)

const silent: AnyProtocol = {
  open: "",
  answer: () => undefined,
  input: () => undefined,
  cancel: () => undefined,
  step: () => [],
  end: () => []
}

/** The event of an approval request in a new run, with what is still pending. */
const requested = (request: ApprovalRequest, asker: ApprovalAsker = { _tag: "Runtime", key: "1" }) => {
  const recorder = new RunRecorder(runOf(runIdOf(1)))
  recorder.apply(created)
  const kernel = new KernelState({
    recorder,
    protocol: silent,
    specificationVersion: 2,
    priceOf: () => undefined,
    policy: policyOf(),
    root: "/ws",
    redaction: new OutputRedaction(["correct horse"]),
    approvalMs: HALF_HOUR,
    isHeld: false,
    holdKey: () => undefined,
    onUnknown: () => undefined,
    adopted: undefined
  })
  kernel.nowMs = now
  recorder.at(isoTime(now))
  requestApproval(kernel, asker, request)
  const events = (recorder.take()?.events.lines.split("\n") ?? []).map((line) => JSON.parse(line))
  const event = events.find(({ type }) => type === "run.approval.requested")
  return { ...event, pending: recorder.state.pending.keys(), started: recorder.state.started }
}

describe("requestApproval", () => {
  it("records a pending approval that expires after the configured time", () => {
    const { createdAt, payload, pending } = requested(shell("npm test"))
    assert.deepStrictEqual(pending, [payload.approvalId])
    assert.strictEqual(createdAt, new Date(now).toISOString())
    assert.strictEqual(payload.expiresAt, new Date(now + HALF_HOUR).toISOString())
  })

  it("does not start the run for a connection, which the runtime may make before it opens its conversation", () => {
    const connection: ApprovalAsker = {
      _tag: "Connection",
      address: "example.com:443",
      reply: Deferred.makeUnsafe()
    }
    const { pending, started } = requested(shell("npm test"), connection)
    assert.deepStrictEqual([pending.length, started], [1, false])
    assert.isTrue(requested(shell("npm test")).started)
  })

  it("offers to remember a request only if it is shown whole and without a secret", () => {
    assert.include(requested(shell("npm test")).payload.request.scopes, "always")
    const { request } = requested(shell("npm test --key 'correct horse'")).payload
    assert.strictEqual(request.command, "npm test --key '[redacted]'")
    assert.deepInclude(request, { scopes: ["once"], editable: false })
  })
})
