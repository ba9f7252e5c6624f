import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { until } from "@corral/testing/time/Until"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { Seeded } from "../harness/Seeded.ts"
import { HostileHub } from "../link/HostileHub.ts"
import { attackEdge } from "../link/HostileHubAttack.ts"

describe("An Edge with a hostile Hub", () => {
  it("serves its owner and executes only what a Hub may ask", async () => {
    const { commands, frames } = await attackEdge(1_500, 1)
    assert.isAtLeast(frames, 1_500)
    assert.isAbove(commands, 0)
  })

  it("ends the link when the Hub asks for much and reads nothing", async () => {
    const hub = new HostileHub(new Seeded("deaf Hub", 1))
    const edge = new EdgeProcess()
    onTestFinished(async () => {
      await edge.remove()
      await hub.end()
    })
    mkdirSync(edge.home, { recursive: true, mode: 0o700 })
    // Control characters: six bytes each as JSON.
    writeFileSync(join(edge.workspace, "large.txt"), "\u0001".repeat(250_000))
    await hub.start(edge.home)
    await edge.start()
    assert.strictEqual((await hub.ask("ReadFile", { workspace: "ws", path: "large.txt" }))._tag, "Done")
    // A busy Edge may notice the missing pongs before its buffer is full. Then the next link is asked.
    hub.askDeaf(600, "large.txt")
    await until(
      () => Promise.resolve(/does not read the answers/.test(edge.stderr) ? true : undefined),
      "the end of the link",
      60_000
    )
    hub.listen()
    assert.strictEqual((await hub.ask("ReadFile", { workspace: "ws", path: "large.txt" }))._tag, "Done")
  })
})
