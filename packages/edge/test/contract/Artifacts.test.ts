/** Artifacts over real HTTP: listed, described and handed out as attachments, over a restart. */
import { assert, describe, it } from "@effect/vitest"
import type { RunId } from "@corral/domain/identity/Ids"
import { Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import { connect } from "node:net"
import { join } from "node:path"
import { Artifacts, type NewArtifact } from "../../src/artifact/Artifacts.ts"
import { Store } from "../../src/store/Store.ts"
import { codeOf } from "@corral/testing/edge/EdgeClient"
import { type EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { within } from "@corral/testing/time/Until"
import { at } from "../Samples.ts"

/** Keeps artifacts in the home of an Edge that is not running. */
const keepIn = (
  { home }: EdgeProcess,
  all: ReadonlyArray<Pick<NewArtifact, "runId" | "name" | "mediaType" | "content">>
): Promise<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const artifacts = yield* Artifacts
    const store = yield* Store
    const ids: Array<string> = []
    for (const one of all) {
      const { artifact, row } = yield* artifacts.store({ ...one, createdAt: at })
      yield* store.commit([row])
      ids.push(artifact.id)
    }
    return ids
  }).pipe(
    Effect.provide(
      Artifacts.layer({ home, minFreeBytes: 0 }).pipe(Layer.provideMerge(Store.layer(join(home, "edge.db"))))
    ),
    Effect.runPromise
  )

const evil = 'x"; filename=evil.exe; é 字.html'

/** An Edge that was restarted with a run's artifacts. */
const withArtifacts = async (
  contents: ReadonlyArray<Pick<NewArtifact, "name" | "mediaType" | "content">>
) => {
  const edge = await openEdgeProcess()
  const run = await edge.client.create("/say hello")
  await edge.client.log(run.id)
  await edge.stop()
  const ids = await keepIn(
    edge,
    contents.map((content) => ({ ...content, runId: run.id as RunId }))
  )
  await edge.start()
  return { edge, run, ids }
}

describe("Artifacts", () => {
  it("are listed in pages, described, and not found where there are none", async () => {
    const { edge, run, ids } = await withArtifacts(
      Array.from({ length: 5 }, (_, n) => ({ name: `${n}.txt`, mediaType: "text/plain", content: `${n}` }))
    )
    const { client } = edge
    const seen: Array<string> = []
    for (let cursor: string | null = ""; cursor !== null;) {
      const query = cursor === "" ? "" : `&cursor=${cursor}`
      const answer = await client.ask("GET", `/v1/runs/${run.id}/artifacts?limit=2${query}`)
      assert.strictEqual(answer.status, 200)
      const page = answer.body as {
        readonly items: ReadonlyArray<{ readonly id: string }>
        readonly nextCursor: string | null
      }
      seen.push(...page.items.map(({ id }) => id))
      cursor = page.nextCursor
    }
    assert.deepStrictEqual(seen, [...ids].sort())
    const one = await client.ask("GET", `/v1/artifacts/${ids[0]}`)
    assert.deepInclude(one.body, { id: ids[0], runId: run.id, name: "0.txt", size: 1, createdAt: at })

    const none = "art_00000000000000000000000000"
    const refusals: ReadonlyArray<readonly [target: string, status: number, code: string]> = [
      [`/v1/artifacts/${none}`, 404, "not_found"],
      [`/v1/artifacts/${none}/content`, 404, "not_found"],
      ["/v1/artifacts/..%2f..%2fedge.token/content", 422, "schema_validation_failed"],
      ["/v1/runs/run_00000000000000000000000000/artifacts", 404, "not_found"],
      [`/v1/runs/${run.id}/artifacts?limit=0`, 422, "schema_validation_failed"]
    ]
    for (const [target, status, code] of refusals) {
      const answer = await client.ask("GET", target)
      assert.deepStrictEqual([answer.status, codeOf(answer)], [status, code], target)
    }
    const unsigned = await client.ask("GET", `/v1/artifacts/${ids[0]}/content`, { token: null })
    assert.deepStrictEqual([unsigned.status, codeOf(unsigned)], [401, "unauthorized"])
  })

  it("are handed out as attachments that no browser runs, whole, in part and as a head", async () => {
    const html = "<script>alert(1)</script>"
    const { edge, ids } = await withArtifacts([
      { name: evil, mediaType: "text/html; charset=utf-8", content: html },
      { name: "empty", mediaType: "text/plain", content: "" }
    ])
    const target = `/v1/artifacts/${ids[0]}/content`
    const whole = await edge.client.bytes("GET", target)
    const head = await edge.client.bytes("HEAD", target)
    assert.deepStrictEqual([whole.status, whole.bytes.toString()], [200, html])
    assert.deepStrictEqual([head.status, head.bytes.length], [200, 0])
    for (const { headers } of [whole, head]) {
      assert.strictEqual(headers.get("content-type"), "text/html; charset=utf-8")
      assert.strictEqual(headers.get("content-length"), String(html.length))
      assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
      assert.strictEqual(headers.get("content-security-policy"), "sandbox; default-src 'none'")
      assert.match(headers.get("etag") ?? "", /^"[0-9a-f]{64}"$/)
      assert.strictEqual(
        headers.get("content-disposition"),
        'attachment; filename="x__ filename_evil.exe_ _ _.html"; ' +
          "filename*=UTF-8''x%22%3B%20filename%3Devil.exe%3B%20%C3%A9%20%E5%AD%97.html"
      )
    }
    const etag = whole.headers.get("etag") ?? ""
    const ask = (headers: Readonly<Record<string, string>>) => edge.client.bytes("GET", target, { headers })
    const part = await ask({ range: "bytes=1-6", "if-range": etag })
    assert.deepStrictEqual([part.status, part.bytes.toString()], [206, "script"])
    assert.strictEqual(part.headers.get("content-range"), `bytes 1-6/${html.length}`)
    for (const headers of [{ range: "bytes=900-" }, { range: "bytes=1-6", "if-range": '"another"' }]) {
      const answer = await ask(headers)
      assert.deepStrictEqual([answer.status, answer.bytes.toString()], [200, html])
    }
    const empty = await edge.client.bytes("GET", `/v1/artifacts/${ids[1]}/content`, {
      headers: { range: "bytes=0-" }
    })
    assert.deepStrictEqual([empty.status, empty.bytes.length], [200, 0])
  })

  it("of 32 MiB cost no memory, however slow their readers", async () => {
    const content = randomBytes(32 * 1_048_576)
    const { edge, ids } = await withArtifacts([
      { name: "large.bin", mediaType: "application/octet-stream", content }
    ])
    const target = `/v1/artifacts/${ids[0]}/content`
    // Buffers that were read into and not yet collected: what one reader leaves behind, and no more than that later.
    assert.isTrue((await edge.client.bytes("GET", target)).bytes.equals(content))
    const before = edge.memory
    const sockets = Array.from({ length: 8 }, () => {
      const socket = connect(edge.port, "127.0.0.1")
      socket.write(
        `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${edge.port}\r\nAuthorization: Bearer ${edge.token}\r\n\r\n`
      )
      return socket
    })
    // Each has begun to read, and stops there.
    await within(
      Promise.all(
        sockets.map(
          (socket) =>
            new Promise<void>((resolve) =>
              socket.once("data", () => {
                socket.pause()
                resolve()
              })
            )
        )
      ),
      10_000,
      "the first bytes"
    )
    for (let n = 0; n < 2; n++) assert.isTrue((await edge.client.bytes("GET", target)).bytes.equals(content))
    const grown = edge.memory - before
    for (const socket of sockets) socket.destroy()
    assert.isBelow(grown, 64 * 1_048_576, "not one copy of it, with eight that wait and two that have read")
  })
})
