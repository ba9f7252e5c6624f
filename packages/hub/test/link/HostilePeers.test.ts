import { assert, describe, it } from "@effect/vitest"
import { attack } from "./HostilePeers.ts"

describe("A Hub with a hostile Edge", () => {
  it("serves the others, and stores nothing that an honest Edge could not store", async () => {
    const { frames, proved } = await attack(1_500, 1)
    assert.isAtLeast(frames, 1_500)
    assert.isAbove(proved, 0)
  })
})
