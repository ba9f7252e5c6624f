/** Modes of approved plans: the approval is accepted exactly if a run in that mode would start, and refused before the plan is resolved. */
import { type RunMode, RunMode as RunModes } from "@corral/domain/run/Run"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import type { Answer } from "@corral/testing/edge/EdgeClient"
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const profiles = (["plan", "ask"] as const).map((mode) => ({
  id: `at-most-${mode}`,
  label: `At most ${mode}`,
  adapter: "scripted",
  mode
}))
const agents = ["scripted", ...profiles.map(({ id }) => id)]

const open = async (isGranted: boolean, env: Readonly<Record<string, string>>) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-plans-")))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, "edge.config.json")
  writeFileSync(file, JSON.stringify({ profiles }), { mode: 0o600 })
  const { client } = await openEdgeInProcess({
    grants: isGranted ? ["full_access"] : [],
    env: { CORRAL_EDGE_CONFIG_FILE: file, ...env }
  })
  return client
}

const issuePaths = ({ body }: Answer) =>
  (
    body as { readonly details?: { readonly issues?: ReadonlyArray<{ readonly path: string }> } }
  ).details?.issues?.map(({ path }) => path)

describe.each([
  [true, {}],
  [false, {}],
  [true, { CORRAL_EDGE_CONFINEMENT: "required", PATH: "/missing" }]
] as const)("An Edge whose workspace grants full access: %s, with %o", (isGranted, env) => {
  it("accepts the approval of a plan exactly in the modes in which a run starts", async () => {
    const client = await open(isGranted, env)
    for (const agentId of agents) {
      const started = await Promise.all(
        RunModes.literals.map(async (mode) => {
          const run = await client.tryCreate("/say there", mode, { agentId })
          assert.include([201, 403], run.status, run.text)
          return run.status === 201 ? [mode] : []
        })
      )
      const offered: ReadonlyArray<RunMode> = started.flat()
      const [planning] = offered
      if (planning === undefined) continue
      await Promise.all(
        RunModes.literals.map(async (mode) => {
          const { id } = await client.create("/plan Do it\n/say on", planning, { agentId })
          const reader = await client.follow({ runId: id })
          const inputId = String((await reader.event("run.input.requested")).payload["inputId"])
          const answer = await client.answer(id, inputId, { approve: true, mode })
          if (offered.includes(mode)) return assert.strictEqual(answer.status, 200, answer.text)
          assert.deepStrictEqual([answer.status, issuePaths(answer)], [422, ["mode"]], answer.text)
          assert.strictEqual((await client.input(inputId)).state, "pending")
          assert.strictEqual((await client.run(id)).state, "waiting_input")
        })
      )
    }
  })
})

describe("An approval of a plan without a mode", () => {
  it("is accepted where no mode is offered that carries out a plan", async () => {
    const client = await open(true, {})
    const approve = async (agentId: string) => {
      const { id } = await client.create("/plan Do it", "plan", { agentId })
      const event = await (await client.follow({ runId: id })).event("run.input.requested")
      return client.answer(id, String(event.payload["inputId"]), { approve: true })
    }
    assert.strictEqual((await approve("scripted")).status, 200)
    assert.strictEqual((await approve("at-most-ask")).status, 200)
    // The plan is all that such an agent can give.
    assert.strictEqual((await approve("at-most-plan")).status, 200)
  })
})
