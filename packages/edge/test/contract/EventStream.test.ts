/** The event stream over real sockets: everything once and in order, whenever a client comes, goes, or stops reading. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { MAX_PAYLOAD_BYTES } from "@corral/domain/run/RunEvent"
import { assertEdgeAnswer, codeOf, type EdgeClient } from "@corral/testing/edge/EdgeClient"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertDense, assertWhole } from "../harness/LogInvariants.ts"
import { message, sendRaw } from "@corral/testing/http/RawRequest"
import { Seeded } from "../harness/Seeded.ts"
import { within } from "@corral/testing/time/Until"

let edge: EdgeProcess
let client: EdgeClient
beforeAll(async () => {
  edge = new EdgeProcess({ env: { CORRAL_EDGE_CANCEL_GRACE_MS: "300" } })
  await edge.start()
  client = edge.client
})
afterAll(() => edge.remove())

describe("A subscriber", () => {
  it("of all runs gets each run in its order", async () => {
    const all = await client.follow({})
    const runs = await Promise.all([1, 2, 3].map(() => client.create("/stream 300 0 64")))
    const ids = runs.map(({ id }) => id)
    const over = () =>
      all.events.filter(({ runId, type }) => ids.includes(runId) && type === "run.completed").length ===
      ids.length
    await all.event(over)
    for (const { id } of runs) {
      const ofRun = all.events.filter(({ runId }) => runId === id)
      assertWhole(ofRun)
      assert.deepStrictEqual(ofRun, await client.log(id))
    }
    all.drop()
  })

  it("misses nothing, whenever it joins", async () => {
    const seeded = new Seeded("joins")
    const { id: runId } = await client.create("/stream 2000 2000 64")
    const first = await client.follow({ runId })
    const moments = Array.from({ length: 19 }, () => seeded.whole(1, 1_990))
    const late = moments.map(async (moment) => {
      await first.count(moment)
      return client.follow({ runId })
    })
    const readers = [first, ...(await Promise.all(late))]
    for (const reader of readers) assert.strictEqual((await reader.ended).code, 1000)
    assertWhole(first.events)
    for (const reader of readers) assert.deepStrictEqual(reader.frames, first.frames)
  })

  it("continues at its position, over 200 reconnects", async () => {
    const seeded = new Seeded("reconnects")
    const { id: runId } = await client.create("/stream 8000 2000 64")
    const frames: Array<string> = []
    for (let connection = 0; connection < 200; connection++) {
      const reader = await client.follow({ runId, after: frames.length })
      await Promise.race([reader.count(seeded.whole(1, 60)), reader.ended])
      reader.drop()
      frames.push(...reader.frames)
    }
    const rest = await client.follow({ runId, after: frames.length })
    assert.strictEqual((await rest.ended).code, 1000)
    frames.push(...rest.frames)
    const whole = await client.follow({ runId })
    await whole.ended
    assertWhole(whole.events)
    assert.deepStrictEqual(frames, whole.frames)
  })

  it("that stops reading for a while receives the rest; one that never reads does not affect the others", async () => {
    const before = edge.memory
    // More than the sockets' buffers hold: 24 MB.
    const { id: runId } = await client.create("/stream 6000 0 4000")
    const readers = await Promise.all(Array.from({ length: 18 }, () => client.follow({ runId, light: true })))
    const slow = await client.follow({ runId, light: true })
    const never = await client.follow({ runId, light: true })
    never.pause()
    await slow.count(10)
    slow.pause()
    let most = 0
    for (const reader of readers) {
      assert.strictEqual((await reader.ended).code, 1000)
      most = Math.max(most, edge.memory)
    }
    assert.isBelow(slow.events.length, 6_000, "it did stop")
    slow.resume()
    assert.strictEqual((await slow.ended).code, 1000)
    never.drop()
    for (const reader of [...readers, slow]) {
      assertDense(reader.events)
      assert.isAbove(reader.events.length, 6_000)
      assert.strictEqual(reader.events.length, readers[0]?.events.length)
      assert.strictEqual(reader.events.at(-1)?.type, "run.completed")
    }
    const grown = Math.round((most - before) / 1e6)
    console.log(`24 MB of log, 20 readers, one slow and one that never reads: the Edge grew by ${grown} MB`)
    assert.isBelow(grown, 200)
  })

  it("that has all of a run that is over is let go at once", async () => {
    const { id: runId } = await client.create("/say hello")
    const { length } = await client.log(runId)
    const reader = await client.follow({ runId, after: length })
    assert.strictEqual((await reader.ended).code, 1000)
    assert.deepStrictEqual(reader.events, [])
    const last = await client.follow({ runId, after: length - 1 })
    assert.strictEqual((await last.ended).code, 1000)
    assert.deepStrictEqual(
      last.events.map(({ seq }) => seq),
      [length]
    )
  })

  it("may start from a snapshot", async () => {
    const { id: runId } = await client.create("/stream 2000 2000 64")
    const first = await client.follow({ runId })
    await first.count(300)
    const { lastSeq } = await client.run(runId)
    const rest = await client.follow({ runId, after: lastSeq })
    await rest.ended
    assertDense(rest.events, lastSeq)
    await first.ended
    assert.deepStrictEqual(rest.frames, first.frames.slice(lastSeq))
  })
})

describe("The log as JSON and as server-sent events", () => {
  it("says what the socket says", async () => {
    const { id } = await client.create("/stream 450 0 64")
    const log = await client.log(id)
    const paged: Array<unknown> = []
    for (let after: string | null = "0"; after !== null;) {
      const answer = await client.ask("GET", `/v1/runs/${id}/events?after=${after}&limit=200`)
      // Judged against the contract by the client.
      const page = answer.body as {
        readonly items: ReadonlyArray<unknown>
        readonly nextCursor: string | null
      }
      paged.push(...page.items)
      after = page.nextCursor
    }
    assert.deepStrictEqual(paged, log)

    for (const [headers, from] of [
      [{}, 0],
      [{ "last-event-id": "100" }, 100]
    ] as const) {
      const response = await fetch(`${edge.url}/v1/runs/${id}/events`, {
        headers: { authorization: `Bearer ${edge.token}`, accept: "text/event-stream", ...headers }
      })
      assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/)
      assert.strictEqual(response.headers.get("x-accel-buffering"), "no")
      assert.strictEqual(response.headers.get("cache-control"), "no-store, no-transform")
      const frames = (await response.text()).trim().split("\n\n")
      const expected = log.slice(from).map((event) => `id: ${event.seq}\ndata: ${JSON.stringify(event)}`)
      assert.deepStrictEqual(frames, expected)
    }
  })
})

describe("Server-sent events", () => {
  const follow = (target: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(edge.url + target, {
      headers: { authorization: `Bearer ${edge.token}`, accept: "text/event-stream", ...headers }
    })

  it("go on with live ones, to the end of the run", async () => {
    const { id } = await client.create("/ask")
    const body = (await follow(`/v1/runs/${id}/events`)).body
    assert(body !== null)
    let text = ""
    let requestId: string | undefined
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      text += chunk
      const found = /"type":"run.approval.requested".*?"approvalId":"(apr_\w+)"/.exec(text)?.[1]
      if (found === undefined || requestId !== undefined) continue
      requestId = found
      assert.notInclude(text, "run.approval.resolved")
      await client.decide(id, requestId, "allow")
    }
    const expected = (await client.log(id)).map(
      (event) => `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`
    )
    assert.strictEqual(text, expected.join(""))
  })

  it("are answered at once where there is nothing to tell yet", async () => {
    const { id } = await client.create("/ask")
    const reader = await client.follow({ runId: id })
    const { payload, seq } = await reader.event("run.approval.requested")
    const response = await within(follow(`/v1/runs/${id}/events?after=${seq}`), 10_000, "the answer")
    assert.strictEqual(response.status, 200)
    await client.decide(id, String(payload["approvalId"]), "allow")
    assert.match(await response.text(), new RegExp(`^: \n\nid: ${seq + 1}\n`))
  })

  it("begin after `Last-Event-ID`, else after `after`, and refuse what is no seq", async () => {
    const { id } = await client.create("/say hello")
    const { length } = await client.log(id)
    const first = async (query: string, headers = {}) =>
      /^id: (\d+)/.exec(await (await follow(`/v1/runs/${id}/events${query}`, headers)).text())?.[1]
    assert.strictEqual(await first(""), "1")
    assert.strictEqual(await first("?after=2"), "3")
    assert.strictEqual(await first("?after=2", { "last-event-id": "3" }), "4")
    assert.strictEqual(await first(`?after=${length}`), undefined)
    const refused = await client.ask("GET", `/v1/runs/${id}/events`, {
      headers: { accept: "text/event-stream", "last-event-id": "hunter2" }
    })
    assert.deepStrictEqual([refused.status, codeOf(refused)], [422, "schema_validation_failed"])
    assert.notInclude(refused.text, "hunter2")
  })
})

describe("A position in a log", () => {
  it("is refused alike by page, event stream and socket where it is beyond the end, ended or live", async () => {
    const ended = (await client.create("/say hello")).id
    const live = (await client.create("/ask")).id
    await client.log(ended)
    const waitingRun = await client.follow({ runId: live })
    await waitingRun.event("run.approval.requested")
    for (const id of [ended, live]) {
      const { lastSeq } = await client.run(id)
      const beyond = fc.integer({ min: lastSeq + 1, max: Number.MAX_SAFE_INTEGER })
      for (const after of [lastSeq + 1, ...fc.sample(beyond, 10)]) {
        const target = `/v1/runs/${id}/events?after=${after}`
        const accept = "text/event-stream"
        const answers = [
          await client.ask("GET", target),
          await client.ask("GET", target, { headers: { accept } }),
          await client.ask("GET", `/v1/runs/${id}/events`, {
            headers: { accept, "last-event-id": String(after).slice(0, 15) }
          }),
          await sendRaw(
            edge.port,
            message([
              `GET /v1/events?runId=${id}&after=${after} HTTP/1.1`,
              `Host: 127.0.0.1:${edge.port}`,
              "Connection: Upgrade",
              "Upgrade: websocket",
              "Sec-WebSocket-Version: 13",
              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
              `Authorization: Bearer ${edge.token}`
            ])
          )
        ]
        for (const answer of answers)
          assert.deepStrictEqual(
            [answer.status, codeOf(answer)],
            [422, "schema_validation_failed"],
            answer.text
          )
      }
      assert.strictEqual((await client.ask("GET", `/v1/runs/${id}/events?after=${lastSeq}`)).status, 200)
    }
    const { lastSeq } = await client.run(ended)
    const atEnd = await fetch(`${edge.url}/v1/runs/${ended}/events?after=${lastSeq}`, {
      headers: { authorization: `Bearer ${edge.token}`, accept: "text/event-stream" }
    })
    assert.strictEqual(await atEnd.text(), ": \n\n", "the stream of an ended run ends")
  })
})

describe("An upgrade", () => {
  const upgrade = (target: string, more: ReadonlyArray<string> = []) =>
    sendRaw(
      edge.port,
      message([
        `GET ${target} HTTP/1.1`,
        `Host: 127.0.0.1:${edge.port}`,
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ...more
      ])
    )
  const bearer = () => [`Authorization: Bearer ${edge.token}`]

  it("is refused before it happens, with an error object", async () => {
    const { id } = await client.create("/say hello")
    const last = (await client.log(id)).length
    const stream = `/v1/events?runId=${id}`
    const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>, number, string]> = [
      [stream, [], 401, "unauthorized"],
      [`${stream}&token=wrong`, [], 401, "unauthorized"],
      [`${stream}&token=`, [], 401, "unauthorized"],
      [stream, ["Authorization: Bearer wrong"], 401, "unauthorized"],
      [`/v1/runs?token=${edge.token}`, [], 401, "unauthorized"],
      [`/v1/eventsx?token=${edge.token}`, [], 401, "unauthorized"],
      ["/v1/runs", bearer(), 404, "not_found"],
      ["/v1/events/", bearer(), 404, "not_found"],
      [`${stream}&after=-1`, bearer(), 422, "schema_validation_failed"],
      [`${stream}&after=`, bearer(), 422, "schema_validation_failed"],
      [`${stream}&after=1.5`, bearer(), 422, "schema_validation_failed"],
      [`${stream}&after=latest`, bearer(), 422, "schema_validation_failed"],
      [`${stream}&after=1e400`, bearer(), 422, "schema_validation_failed"],
      [`${stream}&after=${last + 1}`, bearer(), 422, "schema_validation_failed"],
      ["/v1/events?after=1", bearer(), 422, "schema_validation_failed"],
      ["/v1/events?runId=nonsense", bearer(), 422, "schema_validation_failed"],
      ["/v1/events?runId=run_00000000000000000000000000", bearer(), 404, "not_found"],
      [stream, [...bearer(), "Origin: https://evil.example"], 403, "permission_denied"],
      ["/nowhere", [...bearer(), "Origin: https://evil.example"], 403, "permission_denied"],
      [stream, [...bearer(), "Origin: null"], 403, "permission_denied"],
      [stream, [...bearer(), "Sec-Fetch-Site: cross-site"], 403, "permission_denied"]
    ]
    for (const [target, headers, status, code] of cases) {
      const answer = await upgrade(target, headers)
      assert.deepStrictEqual([target, answer.status, codeOf(answer)], [target, status, code])
      assertEdgeAnswer("GET", target, answer)
      assert.notInclude(answer.text, edge.token)
    }
  })

  it("with a broken handshake is refused with an error object as well", async () => {
    const lines = [
      `GET /v1/events HTTP/1.1`,
      `Host: 127.0.0.1:${edge.port}`,
      "Connection: Upgrade",
      "Upgrade: websocket"
    ]
    for (const handshake of [
      ["Sec-WebSocket-Version: 13"],
      ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: short"],
      ["Sec-WebSocket-Version: 7", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    ]) {
      const answer = await sendRaw(edge.port, message([...lines, ...handshake, ...bearer()]))
      assert.isAtLeast(answer.status, 400)
      assertEdgeAnswer("GET", "/v1/events", answer)
    }
  })

  it("takes the token in the query as well", async () => {
    const { id } = await client.create("/say hello")
    const log = await client.log(id)
    const socket = new WebSocket(
      `${edge.url.replace("http", "ws")}/v1/events?runId=${id}&token=${edge.token}`
    )
    const frames: Array<unknown> = []
    socket.addEventListener("message", ({ data }) => frames.push(JSON.parse(String(data))))
    const code = await new Promise((resolve) =>
      socket.addEventListener("close", (event) => resolve(event.code))
    )
    assert.strictEqual(code, 1000)
    assert.deepStrictEqual(frames, log)
  })
})

describe("A client's own frames", () => {
  it("end its connection where they are too long, and nothing else", async () => {
    const { id } = await client.create("/stream 3000 1500 64")
    const other = await client.follow({ runId: id })
    const socket = new WebSocket(
      `${edge.url.replace("http", "ws")}/v1/events?runId=${id}&token=${edge.token}`
    )
    await new Promise((resolve) => socket.addEventListener("open", resolve))
    socket.send("x".repeat(MAX_PAYLOAD_BYTES))
    const code = await new Promise((resolve) =>
      socket.addEventListener("close", (event) => resolve(event.code))
    )
    assert.strictEqual(code, 1009)
    await other.ended
    assertWhole(other.events)
  })
})
