/**
 * Real programs in layers: five turns of one conversation in `ask`, with acceptances and rejections of hunks between them. Nothing reaches the
 * workspace but what was accepted, and the program hears of each decision. Programs that never ask work in `ask` too.
 */
import { registry } from "@corral/testing/recordings/Fixtures"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { canConfine } from "../confinement/CanConfine.ts"
import { git } from "../workspace/Repository.ts"
import { RIGHT_KEY } from "./FakeModels.ts"
import { install } from "./Installation.ts"
import { inShell, inTool, LayerConversation } from "./LayerConversation.ts"
import { fillLayerWorkspace, lineOf } from "./LayerWorkspace.ts"
import { programs } from "./Programs.ts"
import { Stage } from "./Stage.ts"

/** Agents that ask, and agents that never do. */
const askingAgents = ["claude-code", "codex"]
const silentAgents = ["gemini", "pi"]

const subjects = []
for (const program of programs) {
  const agents = [...program.agents, ...(program.alsoAs ?? []).map((id) => ({ id, asksToRead: undefined }))]
  const driven = agents.filter(({ id }) => [...askingAgents, ...silentAgents].includes(id))
  if (driven.length === 0) continue
  const place = await install(program)
  for (const { asksToRead, id } of driven)
    subjects.push({ agentId: id, asksToRead: asksToRead === true, place })
}
const report: Array<string> = []
afterAll(() => console.log(report.join("\n")))

const COMMIT = "git add -A && git -c user.name=A -c user.email=a@b.c commit -qm mine"

describe.skipIf(!canConfine).each(subjects)("$agentId in a layer", ({ agentId, asksToRead, place }) => {
  if (place.missing !== undefined) {
    console.log(`${agentId} is skipped: ${place.missing}`)
    it.skip(`is driven: ${place.missing}`)
    return
  }
  let stage: Stage
  beforeAll(async () => {
    stage = await Stage.open(place, agentId, RIGHT_KEY, {
      confinement: "required",
      prepare: ({ workspace }) => fillLayerWorkspace(workspace)
    })
  })
  afterAll(() => stage.close())

  const note = (what: string) =>
    report.push(`${place.program.name} ${place.program.version}, ${agentId}: ${what}`)

  it.runIf(askingAgents.includes(agentId))(
    "works for five turns, half of whose hunks are accepted",
    { timeout: 600_000 },
    async () => {
      const talk = new LayerConversation(stage, { reads: asksToRead, commands: true })
      const comment = "Not line 16."
      await talk.work({ tool: [8, 16], shell: [8, 16] })
      const first = [inTool(8), inShell(8)]
      const acceptance = await talk.decide({ accept: first, reject: [inShell(16)], comment })

      await talk.work({ tool: [24, 32], shell: [24, 32] })
      await talk.decide({ accept: [inTool(24), inShell(24)], reject: [inTool(32)], comment: "Not line 32." })
      talk.editByOwner(inTool(96), "a line by the owner")

      await talk.work({ tool: [40, 48], shell: [40, 48], command: COMMIT })
      await talk.decide({ accept: [inTool(40), inTool(48)], reject: [inShell(48)], comment: "Not line 48." })
      const refs = git(stage.edge.workspace, "for-each-ref", "--format=%(subject)", "refs/corral")
      assert.include(refs.split("\n"), "mine", "the commit of the program")

      talk.commitByOwner()

      // What was rejected once, what is open, and what was accepted.
      await talk.work({ tool: [16, 32, 56], shell: [16, 24, 56] })
      await talk.decide({ accept: [inTool(16), inShell(24)], reject: [inShell(56)], comment: "Not line 56." })

      await talk.work({ tool: [64, 72], shell: [64, 72] })
      const last = { accept: [inShell(16), inShell(64)], reject: [inTool(72)], comment: "Not line 72." }
      await talk.decide(last)
      await talk.undo(
        acceptance,
        first.map((each) => [each, lineOf(each.file, each.line)] as const)
      )
      const { set } = await talk.changes.read(talk.newest)
      assert.deepInclude(set, { state: "open", conflicts: 0, fileCount: 2, live: false })
      assert.deepStrictEqual(set.ignored, [{ folder: "build", count: 1 }])
      await talk.playMessage()
      note("five turns in a layer")
    }
  )

  it.runIf(silentAgents.includes(agentId))("never asks, and works in ask", { timeout: 300_000 }, async () => {
    assert.isFalse(registry.get(agentId)?.capabilities.approvals)
    const talk = new LayerConversation(stage, { reads: false, commands: false })
    await talk.work({ tool: [8, 16], shell: [8, 16] })
    await talk.acceptAll()
    note("never asked in a layer")
  })
})
