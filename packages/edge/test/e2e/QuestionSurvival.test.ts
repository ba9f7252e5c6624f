/** Questions and background work across a restart of the Edge: what was open stays open, an answer reaches the program once, limits continue. */
import { sealValue } from "@corral/domain/input/Seal"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import type { EventReader } from "@corral/testing/edge/EdgeClient"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assertWhole } from "../harness/LogInvariants.ts"

const SURVIVING = { CORRAL_EDGE_ORPHAN_MS: "60000", CORRAL_EDGE_CANCEL_GRACE_MS: "500" }

const open = async (env: Readonly<Record<string, string>> = {}): Promise<EdgeProcess> => {
  const edge = new EdgeProcess({ env: { ...SURVIVING, ...env }, grants: ["full_access"] })
  onTestFinished(() => edge.remove())
  await edge.start()
  return edge
}

/** Waits for the end of a turn. The holder has the limit of the background work before anyone can see it. */
const idle = async (edge: EdgeProcess, id: string) =>
  (await edge.client.follow({ runId: id })).event("run.turn.ended")

const restart = async (edge: EdgeProcess, how: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> => {
  if (how === "SIGKILL") await edge.kill()
  else await edge.stop()
  await edge.start()
}

const askedIn = async (edge: EdgeProcess, id: string): Promise<string> =>
  String((await (await edge.client.follow({ runId: id })).event("run.input.requested")).payload["inputId"])

const whole = async (edge: EdgeProcess, id: string): Promise<EventReader["events"]> => {
  const reader = await edge.client.follow({ runId: id })
  assert.strictEqual((await reader.ended).code, 1000)
  assertWhole(reader.events)
  return reader.events
}

const spokenTexts = (events: EventReader["events"]) =>
  events.flatMap(({ payload, type }) =>
    type === "run.message.completed" && payload["role"] === "assistant" ? [String(payload["text"])] : []
  )

describe.each(["SIGKILL", "SIGTERM"] as const)("a question whose Edge ends by %s", (how) => {
  it("stays open, and its answer reaches the program once, also over a further restart", async () => {
    const edge = await open()
    const { id } = await edge.client.create("/say one\n/question Which? | A | B\n/question And?\n/say over")
    const first = await askedIn(edge, id)
    await restart(edge, how)
    assert.strictEqual((await edge.client.run(id)).state, "waiting_input")
    assert.strictEqual((await edge.client.input(first)).state, "pending")
    assert.strictEqual((await edge.client.answer(id, first, { answers: { "1": "2" } })).status, 200)
    const reader = await edge.client.follow({ runId: id })
    const second = await reader.event(
      ({ payload, type }) => type === "run.input.requested" && payload["inputId"] !== first
    )
    await restart(edge, how)
    assert.strictEqual((await edge.client.answer(id, first, { answers: { "1": "1" } })).status, 409)
    await edge.client.answer(id, String(second.payload["inputId"]), { answers: { "1": "yes" } })
    assert.deepStrictEqual(spokenTexts(await whole(edge, id)), [
      "one",
      'answered {"1":"2"}',
      'answered {"1":"yes"}',
      "over"
    ])
    assert.deepStrictEqual(edge.survivors(), [])
  })
})

describe("a run between its turns, whose Edge is killed", () => {
  it("keeps its result, its work and its finish", async () => {
    const edge = await open()
    const { id } = await edge.client.create("/work w1 command serve\n/say up\n/end-turn\n/wait")
    await (await edge.client.follow({ runId: id })).event("run.turn.ended")
    await restart(edge)
    assert.deepInclude(await edge.client.run(id), { state: "running", turn: "idle" })
    const finished = await edge.client.finish(id)
    assert.strictEqual(finished.status, 200, finished.text)
    const last = (await whole(edge, id)).at(-1)
    assert.strictEqual(last?.type, "run.completed")
    assert.deepInclude(last?.payload, { text: "up", stopped: ["serve"] })
  })

  it("ends when its work has ended meanwhile", async () => {
    const edge = await open()
    const { id } = await edge.client.create(
      "/work w1 agent A\n/say up\n/end-turn\n/sleep 500\n/worked w1 completed\n/hang"
    )
    await (await edge.client.follow({ runId: id })).event("run.turn.ended")
    await restart(edge)
    const last = (await whole(edge, id)).at(-1)
    assert.deepInclude(last?.payload, { text: "up" })
  })

  it("reaches the limit of its work with and without an Edge, counted from the end of the turn", async () => {
    for (const isAway of [false, true]) {
      const edge = await open()
      const script = "/work w1 command serve\n/say up\n/end-turn\n/hang"
      const { id } = await edge.client.create(script, "ask", { backgroundMs: 3_000 })
      const { createdAt } = await idle(edge, id)
      await edge.kill()
      // The holder ends the run.
      if (isAway)
        await until(async () => edge.survivorsOf(id).length === 0 || undefined, "the end of the run")
      await edge.start()
      const events = await whole(edge, id)
      const failed = events.at(-1)
      assert.deepInclude(failed?.payload["error"], { code: "work_unfinished" })
      const waited = Date.parse(failed?.createdAt ?? "") - Date.parse(createdAt)
      assert.isAtLeast(waited, 2_900)
    }
  })
})

describe("a run that starts a turn by itself while no Edge is there", () => {
  it("continues beyond the limit of the work before the turn", async () => {
    const edge = await open()
    const script = [
      "/work w1 agent A",
      "/say up",
      "/end-turn",
      "/sleep 1000",
      "/worked w1 completed continues",
      "/turn",
      "/shell sleep 8; touch late.txt",
      "/say done"
    ].join("\n")
    const { id } = await edge.client.create(script, "full_access", { backgroundMs: 8_000 })
    await idle(edge, id)
    await edge.kill()
    const late = join(edge.workspace, "late.txt")
    await until(async () => (existsSync(late) ? true : undefined), "work after the limit")
    await edge.start()
    const events = await whole(edge, id)
    assert.deepInclude(events.at(-1)?.payload, { text: "done" })
    assert.include(
      events.map(({ type }) => type),
      "run.turn.started"
    )
  })
})

describe("a secret answer whose Edge is killed", () => {
  it("is opened by the next Edge, and not asked again", async () => {
    const edge = await open()
    const secret = "correct horse battery"
    const { id } = await edge.client.create("/secret The password?\n/wait")
    const inputId = await askedIn(edge, id)
    const { sealingKey = "" } = await edge.client.input(inputId)
    await restart(edge)
    const value = await sealValue(sealingKey, inputId, secret)
    const answer = await edge.client.answer(id, inputId, { answers: { "1": value } })
    assert.strictEqual(answer.status, 200, answer.text)
    await (
      await edge.client.follow({ runId: id })
    ).message(`received ${secret.length} characters: [redacted]`)
    await restart(edge)
    await edge.client.ask("POST", `/v1/runs/${id}/input`, { body: { text: `it is ${secret}` } })
    const events = await whole(edge, id)
    assert.strictEqual(readFileSync(join(edge.workspace, "secret.txt"), "utf8"), secret)
    assert.notInclude(JSON.stringify(events), secret)
    assert.strictEqual(events.filter(({ type }) => type === "run.input.requested").length, 1)
  })
})
