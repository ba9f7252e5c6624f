import { assert, describe, it } from "@effect/vitest"
import { isLowRisk } from "../../src/following/AcceptedChanges.ts"
import { runCard } from "../../src/following/RunCard.ts"
import { startingProgress, type TaskProgress } from "../../src/following/TaskProgress.ts"

const small = {
  state: "open",
  live: false,
  direct: false,
  apart: 0,
  conflicts: 0,
  fileCount: 3,
  additions: 12,
  deletions: 4
} as const

describe("acceptance of changes from a card", () => {
  it("is for few files and lines that need no look", () => {
    assert.isTrue(isLowRisk(small))
    assert.isTrue(isLowRisk({ ...small, fileCount: 20, additions: 300, deletions: 100 }))
    assert.isFalse(isLowRisk({ ...small, fileCount: 21 }))
    assert.isFalse(isLowRisk({ ...small, additions: 400, deletions: 1 }))
    assert.isFalse(isLowRisk({ ...small, apart: 1 }))
    assert.isFalse(isLowRisk({ ...small, conflicts: 1 }))
    assert.isFalse(isLowRisk({ ...small, incomplete: ["a"] }))
    assert.isFalse(isLowRisk({ ...small, live: true }))
    assert.isFalse(isLowRisk({ ...small, direct: true }))
    assert.isFalse(isLowRisk({ ...small, state: "decided" }))
    assert.isFalse(isLowRisk({ ...small, groupId: "tgr_01KAH2T3J0Q4W8XN5M7C1B0001" as never }))
  })

  it("has a button with counts, and a line once it is done", () => {
    const ended: TaskProgress = { ...startingProgress, phase: "completed", undecided: 3 }
    const acceptable = { version: "v", files: 3, additions: 12, deletions: 4 }
    const card = (progress: TaskProgress) =>
      runCard({ place: "Atlas", progress, url: "https://hub", accept: "act" })
    assert.deepStrictEqual(
      card({ ...ended, acceptable }).buttons.map(({ label }) => label.en),
      ["Open in Corral", "Accept 3 files (+12 −4)"]
    )
    assert.lengthOf(card(ended).buttons, 1)
    assert.include(
      card({ ...ended, undecided: undefined, accepted: 3 }).lines.map(({ en }) => en),
      "3 changed files accepted"
    )
  })
})
