/**
 * Five turns with the real programs behind a real Edge and a Hub, from two browsers: restarts, an offline target, an image. The runtime's own
 * conversation continues, and the model receives what was said before.
 */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { assertFiveTurns, takeFiveTurns, WORDS } from "@corral/testing/stack/FiveTurns"
import { openJoined } from "@corral/testing/stack/Joined"
import { registry } from "@corral/testing/recordings/Fixtures"
import { PIXEL } from "@corral/testing/hub/HubClient"
import { mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { FakeModels, RIGHT_KEY } from "./FakeModels.ts"
import { environmentOf, install } from "./Installation.ts"
import { programs } from "./Programs.ts"
import { promptFor } from "./Script.ts"

const talking = ["claude-code", "codex", "opencode-acp", "gemini-acp"]
const places = []
for (const program of programs)
  if (program.agents.some(({ id }) => talking.includes(id))) places.push(await install(program))
const subjects = places.flatMap((place) =>
  place.program.agents.map(({ id: agentId }) => ({ agentId, place }))
)

describe("A conversation of five turns", () => {
  it.each(subjects)("with $agentId", { timeout: 600_000 }, async ({ agentId, place }) => {
    const models = new FakeModels()
    await models.start()
    const home = mkdtempSync(join(realpathSync(tmpdir()), "corral-home-"))
    onTestFinished(() => {
      models.stop()
      rmSync(home, { recursive: true, force: true })
    })
    const env = environmentOf(place, { home, models: models.url, key: RIGHT_KEY })
    const joined = await openJoined({ edge: { env } })
    models.workspace = joined.edge.workspace
    const messages = await takeFiveTurns(joined, { agentId, promptOf: (word) => promptFor("say", word) })
    const adapter = registry.get(agentId)
    assertFiveTurns(messages, { context: adapter?.capabilities.resume === true ? "resumed" : "transcript" })
    const last = models.requests.at(-1) ?? ""
    for (const word of WORDS) assert.include(last, promptFor("say", word), "the conversation continues")
    assert.strictEqual(adapter?.images, "native")
    assert.include(last, PIXEL.toString("base64"), "the model received the image")
  })
})
