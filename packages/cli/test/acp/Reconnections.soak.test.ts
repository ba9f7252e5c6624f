/** A thousand reconnections of an editor at random points of runs. */
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { describe, it } from "@effect/vitest"
import { randomInt } from "node:crypto"
import { reconnectAtRandom } from "./Reconnections.ts"

describe("An editor that reconnects a thousand times", { timeout: 900_000 }, () => {
  it("loses nothing and receives nothing twice", async () => {
    await reconnectAtRandom(await openEdgeInProcess(), 1_000, (most) => randomInt(most + 1))
  })
})
