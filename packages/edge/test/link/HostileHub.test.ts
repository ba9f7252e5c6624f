import { assert, describe, it } from "@effect/vitest"
import { attackEdge } from "./HostileHubAttack.ts"

describe("An Edge with a hostile Hub", { timeout: 120_000 }, () => {
  it("serves its owner and executes only what a Hub may ask", async () => {
    const { commands, frames } = await attackEdge(1_500, 1)
    assert.isAtLeast(frames, 1_500)
    assert.isAbove(commands, 0)
  })
})
