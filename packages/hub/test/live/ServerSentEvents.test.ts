import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { ProjectId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { within } from "@corral/testing/time/Until"
import type { HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import {
  type Mirror,
  runCompleted,
  createdRun,
  linesOf,
  messageDelta,
  runStarted,
  startMirror
} from "@corral/testing/hub/Mirror"

describe("/client/runs/{id}/events as text/event-stream", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let mirror: Mirror
  let project: ProjectId
  beforeAll(async () => {
    ;({ ada, mirror, project } = await startMirror(hub))
  })
  afterAll(() => hub.remove())

  const follow = (
    runId: string,
    query = "",
    headers: Readonly<Record<string, string>> = {},
    token = ada.token
  ) =>
    fetch(`${hub.url}/client/runs/${runId}/events${query}`, {
      headers: { authorization: `Bearer ${token}`, accept: "text/event-stream", ...headers }
    })
  /** Reads until the text is there; the rest is left to come. */
  const until = async (
    response: Response,
    wanted: string
  ): Promise<ReadableStreamDefaultReader<Uint8Array>> => {
    assert.isNotNull(response.body)
    const reader = response.body.getReader()
    const text = new TextDecoder()
    const read = async (seen: string): Promise<void> => {
      if (seen.includes(wanted)) return
      const { done, value } = await reader.read()
      assert.isFalse(done, seen)
      return read(seen + text.decode(value, { stream: true }))
    }
    await within(read(""), 10_000, wanted)
    return reader
  }
  const framesOf = (lines: ReadonlyArray<string>, after = 0) =>
    lines
      .slice(after)
      .map((line, i) => `id: ${after + 1 + i}\ndata: ${line}\n\n`)
      .join("")

  it("gives what is stored, then what comes, and ends with the run", async () => {
    const runId = await mirror.run(project, createdRun, runStarted)
    const response = await follow(runId)
    assert.deepStrictEqual(
      [response.status, response.headers.get("content-type")],
      [200, "text/event-stream"]
    )
    const text = response.text()
    await mirror.append(runId, 3, messageDelta("a"))
    await mirror.append(runId, 4, runCompleted)
    const lines = linesOf(runId, 1, [createdRun, runStarted, messageDelta("a"), runCompleted])
    assert.strictEqual(await within(text, 10_000, "the end of the stream"), framesOf(lines))
    assert.strictEqual(await (await follow(runId, "?after=3")).text(), framesOf(lines, 3))
    assert.strictEqual(
      await (await follow(runId, "?after=1", { "last-event-id": "2" })).text(),
      framesOf(lines, 2)
    )
    assert.strictEqual(await (await follow(runId, "?after=4")).text(), "")
  })

  it("answers at once where there is nothing to tell yet", async () => {
    const runId = await mirror.run(project, createdRun, runStarted)
    const response = await within(follow(runId, "?after=2"), 10_000, "the answer")
    assert.strictEqual(response.status, 200)
    await mirror.append(runId, 3, runCompleted)
    const text = await within(response.text(), 10_000, "the end of the stream")
    assert.strictEqual(
      text,
      `: \n\n${framesOf(linesOf(runId, 1, [createdRun, runStarted, runCompleted]), 2)}`
    )
  })

  it("refuses a position that is none", async () => {
    const runId = await mirror.run(project, createdRun, runStarted)
    for (const [query, id] of [
      ["?after=3", ""],
      ["", "3"],
      ["", "x"],
      ["?after=99999999999", ""]
    ] as const) {
      const refused = await follow(runId, query, { "last-event-id": id })
      assert.strictEqual(refused.status, 422)
      assert.deepInclude(await refused.json(), { code: "schema_validation_failed" })
    }
  })

  it("ends when the sign-in ends", async () => {
    const runId = await mirror.run(project, createdRun, runStarted)
    const { signInId, token } = await hub.people.signIn("ada")
    const reader = await until(await follow(runId, "", {}, token), "run.started")
    await hub.people.act(
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT pg_notify('corral_sign_in_ended', ${signInId})`)
    )
    assert.isTrue((await within(reader.read(), 1_000, "the end of the stream")).done)
  })
})
