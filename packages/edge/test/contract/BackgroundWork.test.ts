/** Runs that work in the background after a turn: they end when the work ends, when a person finishes them, or at their limit. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Run } from "@corral/domain/run/Run"
import { codeOf, type EdgeClient, type EventReader } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { assertWhole } from "../harness/LogInvariants.ts"

let edge: EdgeProcess
let client: EdgeClient
beforeAll(async () => {
  edge = new EdgeInProcess({ env: { CORRAL_EDGE_SETTLE_MS: "500" } })
  await edge.start()
  client = edge.client
})
afterAll(() => edge.remove())

interface Followed {
  readonly run: Run
  readonly reader: EventReader
}

const start = async (script: string, more: object = {}): Promise<Followed> => {
  const run = await client.create(script, "ask", { ...more })
  return { run, reader: await client.follow({ runId: run.id }) }
}

const ended = async ({ reader }: Followed) => {
  assert.strictEqual((await reader.ended).code, 1000)
  assertWhole(reader.events)
  return reader.events.at(-1)
}

/** Types and payloads of turns, work and the end, in their order. */
const course = ({ reader }: Followed) =>
  reader.events.flatMap(({ payload, type }) => {
    switch (type) {
      case "run.turn.started":
        return [`turn ${payload["turn"]} by ${payload["by"]}`]
      case "run.turn.ended":
        return [`end of turn ${payload["turn"]}: ${payload["text"]}, ${payload["outstanding"]} outstanding`]
      case "run.work.started":
        return [`${payload["workId"]} started`]
      case "run.work.ended":
        return [`${payload["workId"]} ${payload["state"]}`]
      case "run.completed":
        return [`completed: ${payload["text"]}`]
      case "run.failed":
        return [`failed: ${(payload["error"] as { readonly code: string }).code}`]
      case "run.cancelled":
        return ["cancelled"]
      default:
        return []
    }
  })

const SERVER = "/work w1 command npm run dev\n/say started\n/end-turn\n/wait"

describe("A run with background work", () => {
  it("ends when its work ends, with the newest result", async () => {
    const one = await start(
      "/work w1 agent Write it\n/say started\n/end-turn\n/sleep 100\n/worked w1 completed continues\n/turn\n/say all done"
    )
    assert.strictEqual((await ended(one))?.type, "run.completed")
    assert.deepStrictEqual(course(one), [
      "w1 started",
      "end of turn 1: started, 1 outstanding",
      "w1 completed",
      "turn 2 by program",
      "completed: all done"
    ])
  })

  it("shows the work, and stays alive while it is outstanding", async () => {
    const one = await start(SERVER)
    await one.reader.event("run.turn.ended")
    const run = await client.run(one.run.id)
    assert.deepInclude(run, {
      state: "running",
      turn: "idle",
      outstanding: { count: 1, titles: ["npm run dev"], onlyCommands: true }
    })
    const pending = await client.result(one.run.id)
    assert.strictEqual(pending.status, 202)
    await client.cancel(one.run.id)
    await ended(one)
  })

  it("ends at once when work ends that no turn follows", async () => {
    const one = await start("/work w1 command build\n/say built\n/end-turn\n/worked w1 failed\n/hang")
    const last = await ended(one)
    assert.deepInclude(last?.payload, { text: "built" })
    assert.deepStrictEqual(course(one).slice(-2), ["w1 failed", "completed: built"])
  })

  it("waits for the turn that a work announces, and no longer than the setting", async () => {
    const one = await start("/work w1 agent A\n/say one\n/end-turn\n/worked w1 completed continues\n/hang")
    assert.strictEqual((await ended(one))?.type, "run.completed")
    const times = new Map(one.reader.events.map(({ createdAt, type }) => [type, Date.parse(createdAt)]))
    const waited = (times.get("run.completed") ?? 0) - (times.get("run.work.ended") ?? 0)
    assert.isAtLeast(waited, 450)
  })

  it("is finished by a person: the work is stopped, the result counts", async () => {
    const one = await start(SERVER)
    await one.reader.event("run.turn.ended")
    const answer = await client.finish(one.run.id)
    assert.strictEqual(answer.status, 200, answer.text)
    assert.deepInclude(answer.body as object, { state: "completed", resultText: "started" })
    const last = await ended(one)
    assert.deepInclude(last?.payload, { text: "started", stopped: ["npm run dev"] })
    assert.deepStrictEqual(course(one).slice(-2), ["w1 stopped", "completed: started"])
    assert.strictEqual((await client.finish(one.run.id)).status, 200)
    assert.deepStrictEqual(edge.survivors(), [])
  })

  it("is not finished during a turn, nor after another end, nor if it is unknown", async () => {
    const one = await start("/wait")
    await one.reader.event("run.started")
    const active = await client.finish(one.run.id)
    assert.strictEqual(codeOf(active), "conflict")
    assert.deepInclude(active.body as object, { details: { reason: "turn_active" } })
    await client.cancel(one.run.id)
    const cancelled = await client.finish(one.run.id)
    assert.strictEqual(codeOf(cancelled), "conflict")
    assert.deepInclude(cancelled.body as object, { details: { reason: "ended" } })
    assert.strictEqual(codeOf(await client.finish(`${one.run.id.slice(0, -4)}0000`)), "not_found")
  })

  it("takes a message at once as its next turn", async () => {
    const one = await start("/work w1 command serve\n/say up\n/end-turn")
    await one.reader.event("run.turn.ended")
    await client.ask("POST", `/v1/runs/${one.run.id}/input`, {
      body: { text: "/say second\n/worked w1 stopped" }
    })
    assert.strictEqual((await ended(one))?.type, "run.completed")
    assert.deepStrictEqual(course(one), [
      "w1 started",
      "end of turn 1: up, 1 outstanding",
      "turn 2 by message",
      "w1 stopped",
      "completed: second"
    ])
  })

  it("reaches its limit, and does not say completed", async () => {
    const one = await start(SERVER, { backgroundMs: 1_000 })
    const last = await ended(one)
    assert.strictEqual(last?.type, "run.failed")
    const timeout = one.reader.events.find(({ type }) => type === "runtime.timeout")
    assert.deepInclude(timeout?.payload, { kind: "background", afterMs: 1_000 })
    assert.deepStrictEqual(course(one).slice(-2), ["w1 unfinished", "failed: work_unfinished"])
    const result = await client.result(one.run.id)
    assert.strictEqual(result.status, 504)
    assert.strictEqual(codeOf(result), "work_unfinished")
    assert.deepInclude((result.body as { readonly details: object }).details, { work: ["npm run dev"] })
  })

  it("does not reach its limit while a question is open", async () => {
    const limits = { backgroundMs: 2_500, inputTtlMs: 3_000 }
    const one = await start("/work w1 agent A\n/end-turn\n/question Which?\n/worked w1 completed", limits)
    assert.strictEqual((await ended(one))?.type, "run.completed")
    assert.include(
      one.reader.events.map(({ payload }) => payload["text"]),
      "unanswered: The question expired before anyone answered."
    )
  })

  it("does not reach its timeout or its silence between turns", async () => {
    const one = await start("/work w1 agent A\n/end-turn\n/sleep 3500\n/worked w1 completed", {
      timeoutMs: 3_000
    })
    assert.strictEqual((await ended(one))?.type, "run.completed")
  })

  it("fails when its program ends before its work", async () => {
    const one = await start("/work w1 agent A\n/say one\n/end-turn\n/exit 0")
    assert.strictEqual((await ended(one))?.type, "run.failed")
    assert.deepStrictEqual(course(one).slice(-2), ["w1 unfinished", "failed: work_unfinished"])
  })

  it("is cancelled with its work", async () => {
    const one = await start("/children 1\n/work w1 command serve\n/end-turn\n/wait")
    await one.reader.event("run.turn.ended")
    assert.strictEqual((await client.cancel(one.run.id)).status, 200)
    await ended(one)
    assert.deepStrictEqual(course(one).slice(-2), ["w1 stopped", "cancelled"])
    assert.deepStrictEqual(edge.survivors(), [])
  })

  it("has no turn events and no new fields where one turn is all there is", async () => {
    const one = await start("/say one")
    await ended(one)
    assert.isEmpty(one.reader.events.filter(({ type }) => /^run\.(turn|work|input)\./.test(type)))
    const run = await client.run(one.run.id)
    assert.isUndefined(run.turn)
    assert.isUndefined(run.outstanding)
  })
})

describe("What an agent reports besides", () => {
  it("are its steps and notices", async () => {
    const one = await start(
      "/steps completed Read | in_progress Write | pending Check\n/notice compacted Compacted."
    )
    await ended(one)
    const payloadOf = (wanted: string) =>
      one.reader.events.find(({ type }) => type === wanted)?.payload ?? assert.fail(wanted)
    assert.deepStrictEqual(
      (payloadOf("run.steps.updated")["steps"] as ReadonlyArray<{ readonly state: string }>).map(
        ({ state }) => state
      ),
      ["completed", "in_progress", "pending"]
    )
    assert.deepInclude(payloadOf("run.notice"), { kind: "compacted", text: "Compacted." })
  })

  it("is an image that belongs to the result of a call", async () => {
    const one = await start("/image")
    await ended(one)
    const { events } = one.reader
    const artifact = events.findIndex(({ type }) => type === "run.artifact.ready")
    const result = events.findIndex(({ type }) => type === "run.tool.result")
    assert.isAbove(result, artifact)
    const { artifactId } = events[artifact]?.payload ?? {}
    assert.deepStrictEqual(events[result]?.payload["content"], [
      { type: "image", artifactId, mediaType: "image/png", name: "picture.png" }
    ] as never)
    const content = await client.bytes("GET", `/v1/artifacts/${artifactId}/content`)
    assert.strictEqual(content.status, 200)
    assert.isFalse(existsSync(join(edge.workspace, "picture.png")))
  })
})
