import { describe, it } from "@effect/vitest"
import { attackEdge } from "./HostileHubAttack.ts"

describe("An Edge with a hostile Hub", () => {
  it.each([21, 22, 23, 24])("survives 20,000 generated frames (seed %d)", async (seed) => {
    const { commands, frames, links, seconds } = await attackEdge(20_000, seed)
    console.log(`seed ${seed}: ${frames} frames, ${links} links, ${commands} commands answered, ${seconds} s`)
  })
})
