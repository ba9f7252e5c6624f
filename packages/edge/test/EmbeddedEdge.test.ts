/** The face of an Edge for programs that embed it: with promises, and the same with Effect. */
import { assert, describe, it, onTestFinished, vi } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as fc from "fast-check"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { EmbeddedEdge, type RunRequest } from "../src/EmbeddedEdge.ts"
import { type OpenEdge, openEdge } from "../src/openEdge.ts"
import { openFolder } from "./Folder.ts"

const opened = async (home?: string): Promise<{ readonly edge: OpenEdge; readonly folder: string }> => {
  const folder = openFolder()
  const workspaces = [{ id: "here", path: folder }]
  const edge = await openEdge(home === undefined ? { workspaces } : { home, workspaces })
  onTestFinished(() => edge.close())
  return { edge, folder }
}

const request = (text: string, more: Partial<RunRequest> = {}): RunRequest => ({
  workspace: "here",
  agentId: "scripted",
  input: { text },
  ...more
})

/** Code and message of a rejection. */
const rejection = async (
  promise: Promise<unknown>
): Promise<{ readonly code: string; readonly message: string }> =>
  promise.then(
    () => assert.fail("it was not rejected"),
    (error: { readonly code: string; readonly message: string }) => error
  )

describe("openEdge", () => {
  it("runs an agent, decides what it asks, and gives typed events to the last", async () => {
    const { edge, folder } = await opened()
    const { id } = await edge.start(request("/write hello.txt hi\n/say Done"))
    const types: Array<string> = []
    for await (const event of edge.events(id)) {
      types.push(event.type)
      if (event.type === "run.approval.requested") {
        const { approvalId } = event.payload
        const approval = await edge.decide({ runId: id, approvalId, decision: "allow" })
        assert.deepStrictEqual([approval.state, approval.origin], ["approved", "terminal"])
      }
      if (event.type === "run.message.completed") assert.strictEqual(event.payload.text, "Done")
    }
    assert.deepStrictEqual([types[0], types.at(-1)], ["run.created", "run.completed"])
    assert.strictEqual(readFileSync(join(folder, "hello.txt"), "utf8").trim(), "hi")
    assert.strictEqual((await edge.result(id)).state, "completed")
    assert.deepStrictEqual(
      (await edge.runs({ state: "completed" })).map((run) => run.id),
      [id]
    )
    const later: Array<number> = []
    for await (const { seq } of edge.events(id, { after: types.length - 2 })) later.push(seq)
    assert.deepStrictEqual(later, [types.length - 1, types.length])
  })

  it("answers a question, and cancels", async () => {
    const { edge } = await opened()
    const colorRun = await edge.start(request("/question Which color? | Red | Blue"))
    for await (const event of edge.events(colorRun.id)) {
      if (event.type !== "run.input.requested") continue
      const { inputId, request: input } = event.payload
      const question = input.questions?.[0]
      assert.isDefined(question)
      const choice = question.options?.[1]?.id ?? ""
      const answered = await edge.answer({ runId: colorRun.id, inputId, answers: { [question.id]: choice } })
      assert.strictEqual(answered.state, "answered")
    }
    assert.strictEqual((await edge.result(colorRun.id)).state, "completed")
    const hanging = await edge.start(request("/hang"))
    const seen: Array<string> = []
    // A loop that stops early ends its reading only.
    for await (const { type } of edge.events(hanging.id)) {
      seen.push(type)
      if (type === "run.started") break
    }
    assert.strictEqual((await edge.run(hanging.id)).state, "running")
    assert.strictEqual((await edge.cancel(hanging.id)).state, "cancelled")
    assert.strictEqual((await rejection(edge.cancel(colorRun.id))).code, "run_not_cancellable")
  })

  it("rejects requests with the codes of the HTTP interface", async () => {
    const { edge } = await opened()
    const unknown = `run_${"0".repeat(26)}`
    const cases: ReadonlyArray<readonly [Promise<unknown>, string]> = [
      [edge.start(request("hi", { workspace: "elsewhere" })), "workspace_outside_allowlist"],
      [edge.start(request("hi", { agentId: "unknown" })), "invalid_agent_id"],
      [edge.start(request("hi", { mode: "full_access" })), "permission_denied"],
      [edge.run(unknown), "not_found"],
      [edge.cancel(unknown), "not_found"],
      [edge.decide({ runId: unknown, approvalId: `apr_${"0".repeat(26)}`, decision: "allow" }), "not_found"]
    ]
    for (const [promise, code] of cases) assert.strictEqual((await rejection(promise)).code, code)
    const events = edge.events(unknown)[Symbol.asyncIterator]()
    assert.strictEqual((await rejection(events.next())).code, "not_found")
  })

  it("rejects any value that is not a request, and continues", async () => {
    const { edge } = await opened()
    await fc.assert(
      fc.asyncProperty(fc.anything(), fc.anything(), async (value, other) => {
        const calls = [
          edge.start({ ...request("hi"), workspace: value as string, input: other as never }),
          edge.run(value as string),
          edge.cancel(other as string),
          edge.decide({ runId: value, approvalId: other, decision: other } as never),
          edge.answer({ runId: value, inputId: other, answers: {} } as never)
        ]
        for (const call of calls)
          assert.include(
            ["schema_validation_failed", "workspace_outside_allowlist"],
            (await rejection(call)).code
          )
      }),
      { numRuns: 50 }
    )
    const { id } = await edge.start(request("/say Hello"))
    assert.strictEqual((await edge.result(id)).resultText, "Hello")
  })

  it("keeps its runs in a home, and nothing without one", async () => {
    const home = join(openFolder(), "edge")
    const first = await opened(home)
    const { id } = await first.edge.start(request("/say Hello"))
    await first.edge.result(id)
    assert.include((await rejection(opened(home))).message, "is in use by another Edge")
    await first.edge.close()
    const second = await opened(home)
    assert.strictEqual((await second.edge.run(id)).resultText, "Hello")
    const folder = openFolder()
    vi.stubEnv("TMPDIR", folder)
    onTestFinished(() => void vi.unstubAllEnvs())
    const { edge } = await opened()
    const homes = () => readdirSync(folder).filter((name) => name.startsWith("corral-embedded-"))
    const [name = ""] = homes()
    assert.notStrictEqual(name, "")
    assert.isFalse(existsSync(join(folder, name, "edge.db")))
    await edge.close()
    assert.deepStrictEqual(homes(), [])
  })

  it("ends its runs when it closes", async () => {
    const { edge } = await opened()
    const { id } = await edge.start(request("/hang"))
    const types: Array<string> = []
    const started = Promise.withResolvers<void>()
    const following = (async () => {
      for await (const { type } of edge.events(id)) {
        types.push(type)
        started.resolve()
      }
    })()
    await started.promise
    await edge.close()
    await following
    assert.strictEqual(types.at(-1), "run.cancelled")
    assert.strictEqual((await rejection(edge.run(id))).message, "The Edge is closed.")
    const late = edge.events(id)[Symbol.asyncIterator]()
    assert.strictEqual((await rejection(late.next())).message, "The Edge is closed.")
  })

  it("closes although a reader has stopped reading, which then fails", async () => {
    const { edge } = await opened()
    const { id } = await edge.start(request("/say Hello\n/hang"))
    const events = edge.events(id)[Symbol.asyncIterator]()
    assert.strictEqual((await events.next()).value?.type, "run.created")
    await edge.close()
    const read = async () => {
      while ((await events.next()).done !== true);
    }
    assert.strictEqual((await rejection(read())).message, "The Edge is closed.")
  })
})

describe("EmbeddedEdge", () => {
  it.live("is the same with Effect, and each layer is an Edge", () =>
    Effect.gen(function* () {
      const layer = () => EmbeddedEdge.layer({ workspaces: [{ id: "here", path: openFolder() }] })
      const run = Effect.gen(function* () {
        const edge = yield* EmbeddedEdge
        const { id } = yield* edge.start(request("/say Hello"))
        const types = yield* Stream.runCollect(Stream.map(edge.events(id), ({ type }) => type))
        return { types, count: (yield* edge.runs()).length }
      })
      const both = yield* Effect.all([Effect.provide(run, layer()), Effect.provide(run, layer())], {
        concurrency: 2
      })
      for (const { count, types } of both) {
        assert.strictEqual(count, 1)
        assert.deepStrictEqual([types[0], types.at(-1)], ["run.created", "run.completed"])
      }
    })
  )
})
