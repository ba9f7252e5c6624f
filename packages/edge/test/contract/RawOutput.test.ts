/** Raw output of runs over HTTP: what is kept, where, for whom, and for how long. */
import { assert, describe, it } from "@effect/vitest"
import type { RawRecord } from "@corral/domain/run/RawOutput"
import { codeOf } from "@corral/testing/edge/EdgeClient"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { existsSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"

const KEEP = { env: { CORRAL_EDGE_RAW_OUTPUT: "keep" } }
const KEY = "sk-proj-A1b2C3d4E5f6G7h8"

const recordsOf = async (edge: EdgeProcess, id: string): Promise<ReadonlyArray<RawRecord>> => {
  const { bytes } = await edge.client.bytes("GET", `/v1/runs/${id}/raw`)
  return bytes
    .toString()
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

const ended = async (edge: EdgeProcess, script: string): Promise<string> => {
  const { id } = await edge.client.create(script)
  await edge.client.log(id)
  return id
}

describe("Raw output", () => {
  it("is each line as the program printed it, then the exit, in private files", async () => {
    const edge = await openEdgeInProcess(KEEP)
    const id = await ended(edge, "/say one\n/say two")
    const records = await recordsOf(edge, id)
    const lines = records.flatMap((record) => ("stream" in record ? [record] : []))
    const texts = lines.map(({ text }) => text).join("\n")
    assert.include(texts, "one")
    assert.include(texts, "two")
    for (const { at, text } of lines) {
      assert.match(at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
      assert.isObject(JSON.parse(text))
    }
    assert.deepInclude(records.at(-1), { exit: { code: 0, signal: null } })
    const folder = join(edge.home, "raw")
    assert.strictEqual(statSync(folder).mode & 0o777, 0o700)
    assert.deepStrictEqual(readdirSync(folder), [`${id}.jsonl`])
    assert.strictEqual(statSync(join(folder, `${id}.jsonl`)).mode & 0o777, 0o600)
  })

  it("has no secret, whole or in pieces", async () => {
    const edge = await openEdgeInProcess(KEEP)
    const id = await ended(edge, `/say the key is ${KEY}\n/fail it was ${KEY}`)
    const text = JSON.stringify(await recordsOf(edge, id))
    assert.include(text, "[redacted]")
    assert.notInclude(text, KEY.slice(0, 12))
    assert.notInclude(text, KEY.slice(-12))
  })

  it("is neither kept nor found without the setting, with a sentence that names it", async () => {
    const edge = await openEdgeInProcess()
    const id = await ended(edge, "/say one")
    const refused = await edge.client.ask("GET", `/v1/runs/${id}/raw`)
    assert.strictEqual(refused.status, 404)
    assert.include(refused.text, "CORRAL_EDGE_RAW_OUTPUT")
    assert.isFalse(existsSync(join(edge.home, "raw")))
    assert.strictEqual(
      codeOf(await edge.client.ask("GET", "/v1/runs/run_01K00000000000000000000000/raw")),
      "not_found"
    )
  })

  it("is for the holder of the token only, and is saved by a browser", async () => {
    const edge = await openEdgeInProcess(KEEP)
    const id = await ended(edge, "/say one")
    assert.strictEqual((await edge.client.ask("GET", `/v1/runs/${id}/raw`, { token: null })).status, 401)
    const { headers } = await edge.client.bytes("GET", `/v1/runs/${id}/raw`)
    assert.match(headers.get("content-type") ?? "", /^application\/x-ndjson/)
    assert.match(headers.get("content-disposition") ?? "", /^attachment; filename="run_/)
    assert.include(headers.get("content-security-policy") ?? "", "sandbox")
  })
})
