/** A conversation over the whole chain: a Hub, an Edge and the scripted agent, as processes, with restarts between the turns. */
import { describe, it } from "@effect/vitest"
import { assertFiveTurns, takeFiveTurns } from "@corral/testing/stack/FiveTurns"
import { openJoined } from "@corral/testing/stack/Joined"

describe("a conversation with an agent", () => {
  it("delivers five turns once and in order, across restarts of Hub and Edge and an offline target", async () => {
    const messages = await takeFiveTurns(await openJoined(), {
      agentId: "scripted",
      promptOf: (word) => `/say ${word}`,
      slowPromptOf: (word) => `/sleep 1500\n/say ${word}`
    })
    // The scripted agent also says the rest of its prompt: where the image is.
    assertFiveTurns(messages, { texts: ["one", "two", "three", "four", "dot.png"] })
  })
})
