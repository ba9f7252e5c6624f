/** 400,000 generated paths and command lines judged, 20,000 of the allowed ones carried out. */
import { assert, describe, it } from "@effect/vitest"
import { Seeded } from "../harness/Seeded.ts"
import { fuzzCommands } from "./fuzz/CommandFuzz.ts"
import { fuzzPaths } from "./fuzz/PathFuzz.ts"

describe("Path policy and grants of commands", () => {
  it("write no protected file and nothing outside in 10,000 writes of 200,000 paths", () => {
    const found = fuzzPaths(new Seeded("paths"), { judgedCount: 200_000, written: 10_000 })
    console.log("paths", found)
    assert.isAtLeast(found.written, 10_000)
    assert.isAtLeast(found.judged, 200_000)
  })

  it("read and write nothing outside in 10,000 commands of 200,000 lines", () => {
    const found = fuzzCommands(new Seeded("commands"), { judgedCount: 200_000, ran: 10_000 })
    console.log("commands", found)
    assert.isAtLeast(found.ran, 10_000)
    assert.isAtLeast(found.judged, 200_000)
  })
})
