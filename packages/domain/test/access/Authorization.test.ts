import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import {
  decisionRefusal,
  authorityMatrix,
  prove,
  roleRefusal,
  type Proof,
  type RejectionOf,
  type RoleAction
} from "../../src/access/Authorization.ts"
import { PermissionDenied, TargetOffline } from "../../src/errors/Failures.ts"
import { Approvers, ProjectRole } from "../../src/project/Project.ts"

const claim = { principal: "usr_x", subject: "prj_x" }

/** A service method that acts. */
const cancelRun = (proof: Proof<"run.cancel">) => `${proof.principal} cancels in ${proof.subject}`

describe("Authorization", () => {
  it("gives a proof to those whose role is strong enough, and only to them", () => {
    const roleActions = Object.entries(authorityMatrix).flatMap(([action, row]) =>
      "role" in row ? [action as RoleAction] : []
    )
    for (const action of roleActions) {
      for (const [rank, held] of ProjectRole.literals.entries()) {
        const enough = rank >= ProjectRole.literals.indexOf(authorityMatrix[action].role)
        assert.strictEqual(roleRefusal(action, held) === undefined, enough, `${held} may ${action}`)
      }
      assert.instanceOf(roleRefusal(action, undefined), PermissionDenied)
    }
  })

  it("lets decide who is strong enough for the policy, and others than who asked where it wants that", () => {
    const strength = (role: ProjectRole) => ProjectRole.literals.indexOf(role)
    for (const approvers of Approvers.literals)
      for (const ownRequests of [true, false])
        for (const held of ProjectRole.literals)
          for (const isOwn of [true, false]) {
            const may = strength(held) >= strength(approvers) && (ownRequests || !isOwn)
            for (const action of ["approval.decide", "changes.decide"] as const) {
              const refusal = decisionRefusal({ approvers, ownRequests }, held, isOwn, action)
              assert.strictEqual(
                refusal === undefined,
                may,
                `${action} by ${held} of ${approvers}, own: ${isOwn}, ${ownRequests}`
              )
            }
          }
    const withoutRole = decisionRefusal({ approvers: "member", ownRequests: true }, undefined, false)
    assert.instanceOf(withoutRole, PermissionDenied)
  })

  it("turns a passed check into the proof that a service requires", () => {
    const proof = prove("run.cancel", claim, roleRefusal("run.cancel", "member"))
    assert.deepStrictEqual(Result.map(proof, cancelRun), Result.succeed("usr_x cancels in prj_x"))
  })

  it("turns a failed check into its refusal", () => {
    const refusal = new TargetOffline({ details: { targetId: "dev_x" } })
    assert.deepStrictEqual(prove("task.route", claim, refusal), Result.fail(refusal))
  })

  it("does not compile without the check", () => {
    const forgotten = () => {
      // @ts-expect-error a claim is no proof
      cancelRun(claim)
      // @ts-expect-error a proof cannot be written as a literal
      cancelRun({ ...claim, action: "run.cancel" })
      const read = prove("project.read", claim, undefined)
      // @ts-expect-error the proof of one action is none of another
      Result.map(read, cancelRun)
      // @ts-expect-error a proof comes with its refusal still in hand
      cancelRun(prove("run.cancel", claim, undefined))
      // @ts-expect-error an action is refused only with the codes of its row
      const rejection: RejectionOf<"run.cancel"> = "not_found"
      return rejection
    }
    assert.isFunction(forgotten)
  })
})
