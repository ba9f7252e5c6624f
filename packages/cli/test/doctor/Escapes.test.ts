import type { ProbedAttempt } from "@corral/edge/confinement/probe/EscapeProbe"
import { assert, describe, it } from "@effect/vitest"
import { formatEscapes } from "../../src/doctor/Escapes.ts"
import { makePaint } from "../../src/terminal/Rows.ts"

const workspace = (mode: ProbedAttempt["mode"], outcome: ProbedAttempt["outcome"]): ProbedAttempt => ({
  kind: "workspace",
  attempt: "create",
  mode,
  outcome
})

describe("formatEscapes", () => {
  it("has a row for each attempt and a column for each mode, in the order of the modes", () => {
    const found = [
      workspace("plan", "not_held"),
      workspace("read_only", "held"),
      workspace("ask", "not_tried")
    ]
    assert.deepStrictEqual(formatEscapes(found, makePaint(false)).split("\n"), [
      "          read_only  plan       ask        auto_edit",
      "Change the workspace",
      "  create  held       NOT HELD   not tried  allowed",
      "",
      "The confinement did not hold: 1 of 2 attempts got through. 1 could not be tried here.",
      "Runs in full_access are not confined.",
      ""
    ])
  })

  it("does not count attempts that could not be tried as held", () => {
    const found = [workspace("read_only", "held"), workspace("plan", "not_tried")]
    assert.include(
      formatEscapes(found, makePaint(false)),
      "The confinement held: all 1 attempts in 4 modes failed. 1 could not be tried here."
    )
  })
})
