/** Reconnections at random points of a run; the soak test makes a thousand. */
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { describe, it } from "@effect/vitest"
import { randomInt } from "node:crypto"
import { reconnectAtRandom } from "./Reconnections.ts"

describe("An editor that reconnects at random points", () => {
  it("loses nothing and receives nothing twice", async () => {
    await reconnectAtRandom(await openEdgeInProcess(), 6, (most) => randomInt(most + 1))
  })
})
