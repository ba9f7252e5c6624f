import { assert, describe, it } from "@effect/vitest"
import { effort } from "@corral/testing/time/Effort"
import { Seeded } from "../harness/Seeded.ts"
import { fuzzCommands } from "./fuzz/CommandFuzz.ts"

describe("A rule with prefix, and what a person may have remembered", () => {
  it("let real programs read and write nothing outside, in generated trees", () => {
    const found = fuzzCommands(new Seeded("commands"), { judgedCount: 1_200 * effort, ran: 60 * effort })
    assert.isAtLeast(found.ran, 60 * effort)
  })
})
