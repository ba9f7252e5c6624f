/**
 * The real programs delegate, work in the background, ask and plan, behind an Edge: what they have begun is done when the run is completed, and the
 * model receives the answer of a person, or none. What a program does not offer its model is skipped, and says so.
 *
 * With `CORRAL_TEST_VERSIONS=newest` the newest versions are driven, and the report names the outputs that their adapters do not know.
 */
import type { Envelope } from "@corral/domain/run/RunEvent"
import type { RunMode } from "@corral/domain/run/Run"
import { registry } from "@corral/testing/recordings/Fixtures"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { RIGHT_KEY } from "./FakeModels.ts"
import { install } from "./Installation.ts"
import { ownSandbox, programs } from "./Programs.ts"
import { type Act, COLOURS, promptFor } from "./Script.ts"
import { type Played, Stage } from "./Stage.ts"

/** Drives these adapters only. */
const wanted = process.env["CORRAL_TEST_AGENTS"]?.split(",")

const subjects: Array<{ readonly agentId: string; readonly place: Awaited<ReturnType<typeof install>> }> = []
for (const program of programs) {
  const ids = [...program.agents.map(({ id }) => id), ...(program.alsoAs ?? [])]
  const agentIds = ids.filter((id) => registry.has(id) && (wanted?.includes(id) ?? true))
  if (agentIds.length === 0) continue
  const missing = process.getuid?.() === 0 ? program.notForRoot : undefined
  const place = missing === undefined ? await install(program) : { program, bin: "", missing }
  for (const agentId of agentIds) subjects.push({ agentId, place })
}

const report: Array<string> = []
afterAll(() => console.log(report.join("\n")))

const allow = () => "allow" as const

/** Agents whose program does not say when a command in the background ends. A person finishes their runs. */
const withoutEnds: ReadonlySet<string> = new Set(["kimi-acp", "gemini-acp", "qwen"])
const [, chosen] = COLOURS

const endingOf = ({ payload, type }: Envelope): string =>
  type === "run.failed" ? `${type}: ${JSON.stringify(payload["error"])}` : type

/** How often each option stands in what the model received last. */
const optionCounts = ({ modelRequests }: Played): ReadonlyArray<number> =>
  COLOURS.map((colour) => (modelRequests.at(-1) ?? "").split(colour).length - 1)

describe.each(subjects)("$agentId", ({ agentId, place }) => {
  const { missing, program } = place
  if (missing !== undefined) {
    console.log(`${agentId} is skipped: ${missing}`)
    it.skip(`is driven: ${missing}`)
    return
  }
  let stage: Stage
  beforeAll(async () => {
    stage = await Stage.open(place, agentId, RIGHT_KEY, { grants: ["full_access"] })
  })
  afterAll(async () => {
    const unknown = await stage.unknownOutputs()
    report.push(`${program.name} ${program.version}, ${agentId}, unknown: ${unknown.join(", ") || "none"}`)
    await stage.close()
  })
  const note = (what: string, happened: string) =>
    report.push(`${program.name} ${program.version}, ${agentId}, ${what}: ${happened}`)

  const modes: ReadonlyArray<RunMode> =
    registry.get(agentId)?.capabilities.approvals === true ? ["ask", "full_access"] : ["full_access"]

  /** Plays an act; `undefined` if the program offers its model no tool for it. */
  const play = async (act: Act, subject: string, mode: RunMode, answer?: Parameters<Stage["play"]>[4]) => {
    const before = stage.impossibleSteps.length
    const played = await stage.playAll(promptFor(act, subject), allow, mode, answer)
    const impossible = stage.impossibleSteps.slice(before)
    if (impossible.length === 0) return played
    note(`${act} in ${mode}`, `no tool: ${impossible.join("; ").slice(0, 160)}`)
    return undefined
  }

  const hasFile = (name: string): boolean => existsSync(join(stage.edge.workspace, name))

  describe.each(modes)("in %s", (mode) => {
    for (const [act, seconds] of [
      ["delegate", 1],
      ["background", 2]
    ] as const)
      it(`completes only when what it has begun is done: ${act}`, async () => {
        const name = `${act}-${mode}.txt`
        // Such a program's own sandbox writes nothing here.
        if (ownSandbox.has(agentId)) {
          note(`${act} in ${mode}`, "its own sandbox does not write")
          return
        }
        const isFinished = act === "background" && withoutEnds.has(agentId)
        const prompt = `sleep ${seconds} && touch ${name}`
        const played = isFinished
          ? await stage.playAndFinish(promptFor(act, prompt), name, mode)
          : await play(act, prompt, mode)
        if (played === undefined) return
        const { end, events } = played
        const works = events.filter(({ type }) => type === "run.work.started").length
        note(
          `${act} in ${mode}`,
          `${endingOf(end)}, ${works} works, file ${hasFile(name) ? "there" : "missing"}`
        )
        if (end.type === "run.completed") assert.isTrue(hasFile(name), "completed without its work")
        assert.strictEqual(end.type, "run.completed", endingOf(end))
      })

    it("gives the model the answer of a person", async () => {
      const played = await play("ask", "Which colour do you want?", mode, ({ questions = [] }) => ({
        answers: Object.fromEntries(
          questions.map(({ id, options = [] }) => [
            id,
            options.find(({ label }) => label.includes(chosen))?.id ?? { other: chosen }
          ])
        )
      }))
      if (played === undefined) return
      const { end, events, questions, requests } = played
      assert.strictEqual(end.type, "run.completed", endingOf(end))
      assert.strictEqual(questions.length, 1, "one question for a person")
      assert.deepStrictEqual(requests, [], "and no approval")
      const [first = 0, second = 0] = optionCounts(played)
      assert.isAbove(second, first, "the model received the chosen option, and not the other one")
      const resolved = events.find(({ type }) => type === "run.input.resolved")
      assert.deepInclude(resolved?.payload, { state: "answered", by: "local" })
      note(`ask in ${mode}`, "the model received the answer")
    })

    it("gives the model no option where no person has answered", async () => {
      const played = await play("ask", "Which colour do you want?", mode)
      if (played === undefined) return
      const [first, second] = optionCounts(played)
      assert.strictEqual(first, second, "an option was chosen")
      const resolved = played.events.find(({ type }) => type === "run.input.resolved")
      assert.deepInclude(resolved?.payload, { state: "declined" })
      note(`unanswered in ${mode}`, endingOf(played.end))
    })

    // Gemini CLI names its list without its content.
    it.skipIf(agentId === "gemini-acp")(
      "shows the steps of the agent, and asks for none of them",
      async () => {
        const played = await play("steps", "thing", mode)
        if (played === undefined) return
        assert.deepStrictEqual(played.requests, [])
        const lists = played.events.filter(({ type }) => type === "run.steps.updated")
        assert.isAbove(lists.length, 0)
        assert.include(JSON.stringify(lists.at(-1)?.payload), "First thing")
        note(`steps in ${mode}`, `${lists.length} lists`)
      }
    )
  })
})
