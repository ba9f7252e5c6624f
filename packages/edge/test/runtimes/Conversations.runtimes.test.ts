/**
 * Conversations with the real programs: a second process continues what a first one began, with another model, in another mode, after the
 * first was killed. A conversation that was deleted is reported before any output. Images reach the model.
 */
import { cannotContinue } from "@corral/domain/run/Continuation"
import type { RunMode } from "@corral/domain/run/Run"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { registry } from "@corral/testing/recordings/Fixtures"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { runDirectly } from "./DirectRun.ts"
import { withConfinements } from "./Confinements.ts"
import { RIGHT_KEY } from "./FakeModels.ts"
import { install } from "./Installation.ts"
import { otherModels, programs } from "./Programs.ts"
import { promptFor } from "./Script.ts"
import { type Played, Stage } from "./Stage.ts"

const installed = []
for (const program of programs) installed.push(await install(program))
const report: Array<string> = []
afterAll(() => console.log(report.join("\n")))

const subjects = installed.flatMap((place) =>
  [...place.program.agents.map(({ id }) => id), ...(place.program.alsoAs ?? [])].flatMap((agentId) => {
    const adapter = registry.get(agentId)
    return adapter === undefined ? [] : [{ agentId, adapter, place }]
  })
)

const allow = () => "allow" as const
const ALPHA = "Alpha was said first"
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

const ending = ({ payload, type }: Envelope): string =>
  type === "run.failed" ? `${type}: ${JSON.stringify(payload["error"])}` : type

const completed = ({ end }: Played): void => assert.strictEqual(end.type, "run.completed", ending(end))

/** The model was asked once more, with what was said before. */
const continues = (played: Played): void => {
  completed(played)
  assert.isAbove(played.modelRequests.length, 0)
  assert.include(played.modelRequests.at(-1), ALPHA)
}

const modelIn = ({ events }: Played): unknown =>
  events.find(({ type }) => type === "run.started")?.payload["model"]

/** The name of a model without that of its service. */
const bareName = (model = ""): string => model.replace(/^.*\//, "")

const resumed = withConfinements(subjects.filter(({ adapter }) => adapter.continuation !== undefined))

describe.each(resumed)("a conversation with $agentId, confinement $confinement", (subject) => {
  const { adapter, agentId, confinement, place } = subject
  const { continuation } = adapter
  if (place.missing !== undefined || continuation === undefined) {
    console.log(`${agentId} is skipped: ${place.missing}`)
    it.skip(`is driven: ${place.missing}`)
    return
  }
  // Programs that never ask run in this mode if the kernel confines them.
  const silent: RunMode = confinement === "off" ? "full_access" : "auto_edit"
  const mode: RunMode = adapter.capabilities.approvals ? "ask" : silent
  let stage: Stage
  let first: Played
  beforeAll(async () => {
    stage = await Stage.open(place, agentId, RIGHT_KEY, { confinement, grants: ["full_access"] })
  })
  afterAll(() => stage.close())

  const note = (what: string) =>
    report.push(
      `${place.program.name} ${place.program.version}, ${agentId}, confinement ${confinement}: ${what}`
    )
  const next = (text: string, inMode: RunMode = mode, model?: string) =>
    stage.play(promptFor("say", text), allow, inMode, {
      resume: first.runId,
      ...(model === undefined ? {} : { model })
    })

  it("continues in another process", async () => {
    first = await stage.play(promptFor("say", ALPHA), allow, mode)
    completed(first)
    continues(await next("Bravo"))
    note("continues")
  })

  it.runIf(continuation.mode === "any" && adapter.capabilities.readOnly)(
    "continues in another mode, and back",
    async () => {
      continues(await next("Charlie", "read_only"))
      continues(await next("Delta"))
      note("another mode")
    }
  )

  const model = otherModels[agentId]
  it.runIf(continuation.model === "any" && model !== undefined)("continues with another model", async () => {
    const played = await next("Echo", mode, model)
    continues(played)
    // Some programs report no model, some report another name of it, and Gemini has it in the address of the request.
    const used = modelIn(played) !== modelIn(first) || played.modelRequests.at(-1)?.includes(bareName(model))
    assert.isTrue(used, "the other model was asked")
    note(`with ${model}`)
  })

  it("reports a conversation that was deleted, before any output", async () => {
    stage.forget(continuation.store)
    const played = await next("Foxtrot")
    assert.deepStrictEqual(played.modelRequests, [], "nothing was asked of the model")
    assert.strictEqual(played.end.type, "run.failed")
    const error = played.end.payload["error"] as { readonly code: string; readonly details?: object }
    assert.deepInclude(error.details, { reason: "unknown_session" }, ending(played.end))
    assert.isTrue(cannotContinue(error as Parameters<typeof cannotContinue>[0]))
    assert.deepStrictEqual(
      // In a confined run, messages of the system name refused connections.
      played.events.filter(
        ({ payload, type }) => /^run\.(started|message|tool)/.test(type) && payload["role"] !== "system"
      ),
      []
    )
    note(`deleted: ${ending(played.end)}`)
  })
})

const seeing = subjects.filter(
  ({ adapter, place }) => adapter.images === "native" && place.missing === undefined
)

describe("An image of a message", () => {
  it.each(seeing)("reaches the model of $agentId", async ({ adapter, agentId, place }) => {
    const { modelRequests, outcome } = await runDirectly(place, adapter, (folder) => {
      const [workspacePath, images] = [join(folder, "workspace"), join(folder, "images of a session")]
      mkdirSync(workspacePath)
      mkdirSync(images)
      const path = join(images, "dot.png")
      writeFileSync(path, Buffer.from(PIXEL, "base64"))
      return {
        prompt: promptFor("say", ALPHA),
        mode: adapter.capabilities.approvals ? "ask" : "full_access",
        workspacePath,
        images: [{ path, mediaType: "image/png", base64: PIXEL }]
      }
    })
    assert.strictEqual(outcome?._tag, "Completed", JSON.stringify(outcome))
    assert.isTrue(
      modelRequests.some((request) => request.includes(PIXEL)),
      "the bytes of the image are in a request"
    )
    report.push(`${agentId}: the model received the image`)
  })
})
