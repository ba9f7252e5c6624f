import { describe, it } from "@effect/vitest"
import { attack } from "./HostilePeers.ts"

describe("A Hub with a hostile Edge", () => {
  it.each([11, 12, 13, 14])("survives 25,000 generated frames (seed %d)", async (seed) => {
    const { connections, frames, proved } = await attack(25_000, seed)
    console.log(`seed ${seed}: ${frames} frames, ${connections} connections, ${proved} of them proved`)
  })
})
