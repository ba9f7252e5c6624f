/** Every card that can be made, and that nothing of what stays at the Hub is in one. */
import { assert, describe, it } from "@effect/vitest"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import {
  ActionClass,
  ApprovalState,
  DecisionOrigin,
  DecisionScope,
  Risk
} from "@corral/domain/approval/Approval"
import { errorCodes } from "@corral/domain/errors/ErrorTable"
import type { EventType, RunEvent } from "@corral/domain/run/RunEvent"
import { eventTypes } from "@corral/domain/run/RunEvent"
import { summarizeApproval, pendingCard, resolvedCard } from "../../src/following/ApprovalCard.ts"
import { runCard } from "../../src/following/RunCard.ts"
import {
  hasTaskEnded,
  progressAfter,
  startingProgress,
  type TaskProgress
} from "../../src/following/TaskProgress.ts"
import * as fc from "fast-check"

const SECRETS = [
  "/srv/code/shop",
  "src/cart.ts",
  "sk-a1b2c3d4e5f6a7b8c9",
  "fix the cart",
  "+const a = 1",
  "rm -rf build"
]
const secret = fc.constantFrom(...SECRETS)

const request: fc.Arbitrary<ApprovalRequest> = fc.record({
  action: fc.constantFrom(...ActionClass.literals),
  risk: fc.constantFrom(...Risk.literals),
  title: secret,
  tool: secret,
  command: secret,
  cwd: secret,
  files: fc.array(secret),
  patch: secret,
  url: secret,
  input: fc.record({ command: secret }),
  reason: secret,
  editable: fc.boolean(),
  scopes: fc.constant(["once" as const])
})

const payloads: Partial<Record<EventType, fc.Arbitrary<object>>> = {
  "run.created": fc.record({ input: fc.record({ text: secret }), workspace: secret }),
  "run.completed": fc.record({ text: secret }),
  "run.failed": fc.record({
    error: fc.record({
      code: fc.oneof(fc.constantFrom(...errorCodes), secret),
      message: secret,
      details: fc.record({ path: secret })
    })
  }),
  "run.cancelled": fc.record({ reason: secret, by: secret }),
  "run.diff.ready": fc.record({ files: fc.nat(), additions: fc.nat(), deletions: fc.nat(), patch: secret }),
  "run.approval.requested": fc.record({ approvalId: secret, request, expiresAt: secret }),
  "run.approval.resolved": fc.record({ approvalId: secret, state: fc.constant("denied"), reason: secret })
}
const anything = fc.record({ path: secret, text: secret, label: secret, tool: secret, output: secret })

/** As a log may hold them, in any order. */
const event: fc.Arbitrary<RunEvent> = fc
  .constantFrom(...eventTypes)
  .chain((type) =>
    fc.record({
      type: fc.constant(type),
      createdAt: fc.integer({ min: 0, max: 4e12 }).map((at) => new Date(at).toISOString()),
      payload: payloads[type] ?? anything
    })
  )
  // Only what a card reads is there.
  .map((repository) => repository as unknown as RunEvent)

const progress: fc.Arbitrary<TaskProgress> = fc
  .array(event, { maxLength: 30 })
  .map((events) => events.reduce(progressAfter, startingProgress))

const tellsNothing = (card: object) => {
  const text = JSON.stringify(card)
  for (const each of SECRETS) assert.notInclude(text, each)
}

const place = "Shop · laptop/api · Claude"

const where = {
  console: "in the console",
  terminal: "in a terminal",
  chat: "in a chat",
  editor: "in an editor",
  policy: "by the device's policy"
} as const
const decision = fc.record({
  origin: fc.constantFrom(...DecisionOrigin.literals),
  scope: fc.constantFrom(...DecisionScope.literals),
  edited: fc.boolean(),
  requestedInput: secret,
  allowedInput: secret
})

describe("a card", () => {
  it("of a run tells how it goes and nothing else", () => {
    fc.assert(
      fc.property(progress, (state) => {
        const card = runCard({ place, progress: state, cancel: "act", url: "https://hub/runs/1" })
        tellsNothing(card)
        assert.strictEqual(JSON.stringify(card).includes('"act"'), !hasTaskEnded(state))
      })
    )
  })

  it("of an approval tells its kind and nothing else", () => {
    fc.assert(
      fc.property(
        request,
        fc.constantFrom(...ApprovalState.literals),
        decision,
        (requested, state, decided) => {
          const input = { summary: summarizeApproval(requested), place, url: "https://hub/approvals/1" }
          const open = pendingCard(input, { allow: "a", deny: "d" })
          tellsNothing(open)
          assert.lengthOf(open.buttons, 3)
          if (state === "pending") return
          const settled = resolvedCard(input, { ...decided, state }, "Ada")
          tellsNothing(settled)
          const text = JSON.stringify(settled.lines.map(({ en }) => en))
          assert.strictEqual(text.includes("changed"), decided.edited)
          if (state === "approved" || state === "denied") {
            assert.include(text.toLowerCase(), where[decided.origin])
            assert.include(text, state === "approved" ? "Allowed by Ada" : "Denied by Ada")
          }
          const scope = decided.scope === "always" ? "from now on" : decided.scope
          if (state === "approved") assert.include(text.toLowerCase(), scope)
          assert.isTrue(settled.buttons.every(({ _tag }) => _tag === "Link"))
        }
      )
    )
  })
})
