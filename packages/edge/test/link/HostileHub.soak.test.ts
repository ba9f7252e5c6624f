import { describe, it } from "@effect/vitest"
import { attackEdge } from "./HostileHubAttack.ts"

describe("An Edge with a hostile Hub", () => {
  it.each([
    [21, 22],
    [23, 24]
  ])("survives 20,000 generated frames (seeds %d and %d, two Edges side by side)", async (...seeds) => {
    const attacks = seeds.map(async (seed) => {
      const { commands, frames, links, seconds } = await attackEdge(20_000, seed)
      console.log(
        `seed ${seed}: ${frames} frames, ${links} links, ${commands} answers to commands, ${seconds} s`
      )
    })
    await Promise.all(attacks)
  })
})
