import type { CommandPayload } from "@corral/domain/link/EdgeCommand"
import type { AgentId } from "@corral/domain/identity/Ids"
import { Preset } from "@corral/domain/run/Preset"
import { type Answer, codeOf } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess, openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { openPeer } from "@corral/testing/edge/LinkPeer"
import { fileSentence, fileWith, wrongPresets, type WrongPreset } from "@corral/testing/edge/WrongPresets"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as fc from "fast-check"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { openConfigFile } from "../../src/runtime/ConfigFile.ts"
import { RuntimeRegistry } from "../../src/runtime/RuntimeRegistry.ts"

const presetOf = Schema.decodeUnknownSync(Preset)
const presetsOf = Schema.decodeUnknownSync(Schema.Struct({ items: Schema.Array(Preset) }))
const agentsOf = Schema.decodeUnknownSync(
  Schema.Struct({ items: Schema.Array(Schema.Struct({ id: Schema.String })) })
)

const careful = {
  id: "careful",
  kind: "profile",
  settings: { label: "Careful", adapter: "scripted", mode: "ask" }
}
const parrot = {
  id: "parrot",
  kind: "runner",
  settings: { label: "Parrot", runtime: "text", command: ["cat"], stdin: "prompt" }
}

const create = ({ client }: EdgeProcess, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  client.ask("POST", "/v1/presets", { body, headers })

const created = async (edge: EdgeProcess, body: unknown): Promise<Preset> => {
  const answer = await create(edge, body)
  assert.strictEqual(answer.status, 201, answer.text)
  return presetOf(answer.body)
}

const idsAt = async ({ client }: EdgeProcess, path: string): Promise<ReadonlyArray<string>> =>
  agentsOf((await client.ask("GET", path)).body).items.map(({ id }) => id)

const issuesOf = ({ body }: Answer) =>
  (body as { readonly details: { readonly issues: ReadonlyArray<{ path: string; message: string }> } })
    .details.issues

/** What the file says about the entry when an Edge starts with it. */
const refusalOfFile = (folder: string, preset: WrongPreset): Promise<string> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const file = join(folder, "wrong.json")
      writeFileSync(file, JSON.stringify(fileWith(preset)), { mode: 0o600 })
      const { message } = yield* Effect.flip(openConfigFile(file, yield* RuntimeRegistry))
      return message.slice(`${file} is not usable: `.length)
    }).pipe(Effect.scoped)
  )

describe("Presets over HTTP", () => {
  it("are created once per key, apply to the next run, change and end", async () => {
    const edge = await openEdgeInProcess({ grants: ["full_access"] })
    const { client } = edge
    const key = { "idempotency-key": "first" }
    const answer = await create(edge, careful, key)
    assert.strictEqual(answer.status, 201, answer.text)
    assert.strictEqual(answer.headers.get("location"), "/v1/presets/careful")
    assert.deepInclude(presetOf(answer.body), { source: "api", editable: true, settings: careful.settings })
    const again = await create(edge, careful, key)
    assert.strictEqual(again.status, 201)
    assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
    assert.strictEqual(codeOf(await create(edge, careful)), "schema_validation_failed")
    assert.include(await idsAt(edge, "/v1/agents"), "careful")

    const run = await client.create("/say Hello", "ask", { agentId: "careful" })
    assert.strictEqual((await client.log(run.id)).at(-1)?.type, "run.completed")
    const wide = await client.tryCreate("/say Hello", "auto_edit", { agentId: "careful" })
    assert.strictEqual(codeOf(wide), "permission_denied")

    const wider = await client.ask("PATCH", "/v1/presets/careful", {
      body: { settings: { mode: "auto_edit", label: "Less careful" } }
    })
    assert.strictEqual(presetOf(wider.body).settings["label"], "Less careful")
    await client.create("/say Hello", "auto_edit", { agentId: "careful" })

    await created(edge, parrot)
    assert.include(await idsAt(edge, "/v1/runners"), "parrot")
    const echo = await client.create("Polly", "full_access", { agentId: "parrot" })
    assert.deepInclude((await client.log(echo.id)).at(-1)?.payload, { text: "Polly" })
    await client.result(run.id, 60_000)

    const listed = await client.ask("GET", "/v1/presets?limit=1")
    assert.deepStrictEqual(
      presetsOf(listed.body).items.map(({ id }) => id),
      ["careful"]
    )
    assert.strictEqual((await client.ask("DELETE", "/v1/presets/parrot")).status, 204)
    assert.strictEqual(codeOf(await client.ask("DELETE", "/v1/presets/parrot")), "not_found")
    assert.strictEqual(
      codeOf(await client.tryCreate("Polly", "full_access", { agentId: "parrot" })),
      "invalid_agent_id"
    )
  })

  it("are all in the pages of a list, also where the configuration file has another one of the same id", async () => {
    const edge = await openEdgeInProcess()
    await created(edge, careful)
    await created(edge, parrot)
    const file = { profiles: [{ id: "careful", label: "Filed", adapter: "scripted" }] }
    writeFileSync(join(edge.home, "edge.config.json"), JSON.stringify(file), { mode: 0o600 })
    const listed: Array<string> = []
    for (let cursor = ""; ;) {
      const { body } = await edge.client.ask("GET", `/v1/presets?limit=1${cursor}`)
      listed.push(...presetsOf(body).items.map(({ id, source }) => `${id} ${source}`))
      const { nextCursor } = body as { readonly nextCursor: string | null }
      if (nextCursor === null) break
      cursor = `&cursor=${encodeURIComponent(nextCursor)}`
    }
    assert.deepStrictEqual(listed, ["careful file", "careful api", "parrot api"])
  })

  it("need the token", async () => {
    const edge = await openEdgeInProcess()
    const requests = [
      ["GET", "/v1/presets", undefined],
      ["POST", "/v1/presets", careful],
      ["PATCH", "/v1/presets/careful", { settings: {} }],
      ["DELETE", "/v1/presets/careful", undefined]
    ] as const
    for (const [method, path, body] of requests)
      assert.strictEqual(codeOf(await edge.client.ask(method, path, { body, token: null })), "unauthorized")
    assert.deepStrictEqual(presetsOf((await edge.client.ask("GET", "/v1/presets")).body).items, [])
  })

  it("are refused with the sentence of the configuration file", async () => {
    const edge = await openEdgeInProcess()
    for (const wrong of fc.sample(wrongPresets, { numRuns: 60, seed: 5 })) {
      const answer = await create(edge, wrong)
      assert.strictEqual(answer.status, 422, JSON.stringify(wrong))
      assert.strictEqual(
        fileSentence(wrong, issuesOf(answer)),
        await refusalOfFile(edge.folder, wrong),
        JSON.stringify(wrong)
      )
    }
    assert.deepStrictEqual(presetsOf((await edge.client.ask("GET", "/v1/presets")).body).items, [])
  })

  it("are bounded in size and depth", async () => {
    const edge = await openEdgeInProcess()
    const deep = `{"id":"a","kind":"profile","settings":{"x":${"[".repeat(50_000)}${"]".repeat(50_000)}}}`
    assert.strictEqual(codeOf(await create(edge, deep)), "schema_validation_failed")
    const large = { ...careful, settings: { ...careful.settings, x: "y".repeat(20_000) } }
    assert.strictEqual(codeOf(await create(edge, large)), "schema_validation_failed")
  })

  it("are there after the Edge was killed", async () => {
    const edge = new EdgeProcess()
    onTestFinished(() => edge.remove())
    await edge.start()
    await created(edge, careful)
    await edge.kill()
    await edge.start()
    const run = await edge.client.create("/say Hello", "ask", { agentId: "careful" })
    assert.strictEqual((await edge.client.log(run.id)).at(-1)?.type, "run.completed")
  })

  it("keep their meaning while a run of theirs is live, and forget remembered decisions with it", async () => {
    const edge = await openEdgeInProcess()
    const { client } = edge
    await created(edge, careful)
    const run = await client.create("/shell echo one\n/say done", "ask", { agentId: "careful" })
    const follower = await client.follow({ runId: run.id })
    await follower.event("run.approval.requested")
    for (const request of [
      client.ask("PATCH", "/v1/presets/careful", { body: { settings: { env: ["TEAM"] } } }),
      client.ask("DELETE", "/v1/presets/careful")
    ]) {
      const refusal = await request
      assert.strictEqual(codeOf(refusal), "conflict", refusal.text)
      assert.include(refusal.text, "run_active")
    }
    const label = await client.ask("PATCH", "/v1/presets/careful", { body: { settings: { label: "New" } } })
    assert.strictEqual(label.status, 200, label.text)
    const [approval] = await client.approvals(`runId=${run.id}`)
    await client.decide(run.id, approval?.id ?? "", "allow", { scope: "always" })
    await follower.ended
    assert.strictEqual((await client.grants()).length, 1)
    assert.strictEqual((await client.ask("DELETE", "/v1/presets/careful")).status, 204)
    assert.deepStrictEqual(await client.grants(), [])
  })
})

describe("Presets over the link", () => {
  it("narrow only, are changed once per command, and are offered without waiting for a heartbeat", async () => {
    const peer = await openPeer()
    peer.heartbeatSeconds = 3_600
    const edge = new EdgeInProcess()
    onTestFinished(() => edge.remove())
    await peer.join(edge.home)
    await edge.start()
    await peer.linked()
    const by = "usr_00000000000000000000000001"
    const change = (change: CommandPayload<"ChangePreset">["change"], id?: string) =>
      peer.ask("ChangePreset", { change, by }, id)
    const code = (outcome: Awaited<ReturnType<typeof change>>) =>
      outcome._tag === "Refused" ? outcome.error.code : "done"

    const runner = { _tag: "Create", ...parrot, kind: "runner" } as const
    assert.strictEqual(code(await change(runner)), "permission_denied")
    const profile = { _tag: "Create", ...careful, kind: "profile" } as const
    assert.strictEqual(code(await change(profile, "one")), "done")
    assert.strictEqual(code(await change(profile, "one")), "done")
    assert.strictEqual(code(await change(profile, "two")), "schema_validation_failed")
    await peer.until("the offer", () => peer.offer?.agents.some(({ id }) => id === "careful") === true)
    assert.include(edge.stderr, by)

    const list = await peer.ask("ListPresets", {})
    assert.deepStrictEqual(list, {
      _tag: "Done",
      value: [{ ...careful, source: "api", editable: true }]
    })
    const remove = { _tag: "Remove", id: "careful" as AgentId } as const
    assert.strictEqual(code(await change(remove, "three")), "done")
    assert.strictEqual(code(await change(remove, "three")), "done")
    assert.strictEqual(code(await change(remove)), "not_found")
    await peer.until("the offer", () => peer.offer?.agents.some(({ id }) => id === "careful") === false)
  })
})
