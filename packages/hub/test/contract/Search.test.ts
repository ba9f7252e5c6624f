/** `/client/search` over a real Hub. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { ProjectId, RunId, SessionId } from "@corral/domain/identity/Ids"
import type { Project } from "@corral/domain/project/Project"
import { draft, type EventDraft } from "@corral/domain/run/RunEvent"
import type { SearchResult } from "@corral/domain/search/SearchResult"
import type { Message } from "@corral/domain/session/Message"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { createRun, createdRun, Mirror, runStarted } from "@corral/testing/hub/Mirror"
import { makeProject, makeSession } from "@corral/testing/hub/People"
import { until } from "@corral/testing/time/Until"
import { indexAll } from "../harness/Indexed.ts"
import { type ListPage, walk } from "../harness/Pages.ts"
import { dropLogsEndedBefore } from "../../src/run/Retention.ts"

const changed = (path: string): EventDraft => draft("run.file.changed", { path, change: "modified" })
const completed = (text: string): EventDraft => draft("run.completed", { text })

describe("/client/search", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let bob: HubClient
  let mirror: Mirror
  let project: Project

  beforeAll(async () => {
    await hub.start()
    ada = await hub.signedIn("ada")
    bob = await hub.signedIn("bob")
    mirror = new Mirror(hub)
    project = await makeProject(ada, "private")
  })
  afterAll(() => hub.remove())

  const pathOf = (q: string, projectId?: ProjectId) =>
    `/client/search?q=${encodeURIComponent(q)}${projectId === undefined ? "" : `&projectId=${projectId}`}`
  const find = async (q: string, client = ada, projectId?: ProjectId) => {
    await indexAll(hub)
    return walk<SearchResult>(client, pathOf(q, projectId), 200)
  }
  const kindsOf = async (q: string, client = ada) => (await find(q, client)).map(({ kind }) => kind)
  const sendText = async (sessionId: SessionId, text: string, client = ada) => {
    const sent = await client.ask<Message>("POST", `/client/sessions/${sessionId}/messages`, {
      body: { text }
    })
    assert.strictEqual(sent.status, 201, sent.text)
    return sent.body
  }
  const run = async (prompt: string, ...events: ReadonlyArray<EventDraft>): Promise<RunId> => {
    const id = await mirror.open(project.id, { ...createRun, input: { text: prompt } })
    if (events.length > 0) await mirror.append(id, 1, createdRun, runStarted, ...events)
    return id
  }

  it("finds titles, messages, prompts, results and file names with their resources", async () => {
    const session = await makeSession(ada, project, "Kestrel rollout")
    const message = await sendText(session.id, "When does the kestrel land?")
    const runId = await run(
      "Count the KESTRELS",
      changed("src/kestrel.ts"),
      changed("README.md"),
      completed("Two kestrels.")
    )
    const found = await find("kestrel")
    const of = (kind: string) => found.find((one) => one.kind === kind)
    assert.deepStrictEqual(found.map(({ kind }) => kind).sort(), [
      "files",
      "message",
      "prompt",
      "result",
      "title"
    ])
    assert.deepInclude(of("title"), {
      projectId: project.id,
      sessionId: session.id,
      excerpt: "Kestrel rollout"
    })
    assert.deepInclude(of("message"), {
      sessionId: session.id,
      messageId: message.id,
      excerpt: "When does the kestrel land?",
      at: message.createdAt
    })
    assert.deepInclude(of("prompt"), { runId, excerpt: "Count the KESTRELS" })
    assert.deepInclude(of("result"), { runId, excerpt: "Two kestrels." })
    assert.deepInclude(of("files"), { runId, excerpt: "src/kestrel.ts" })
  })

  it("finds new texts without a call of the indexer", async () => {
    await makeSession(ada, project, "Unattended heron")
    await until(async () => {
      const { body } = await ada.ask<ListPage<SearchResult>>("GET", pathOf("heron"))
      return body.items.length === 1 ? true : undefined
    }, "the title")
  })

  it.each([
    ["Chinese", "修复数据库迁移脚本", ["数据库", "数据", "库", "迁移脚本"], ["数库", "数据迁移"]],
    ["two characters", "The UI of Go programs", ["ui", "go", "of UI"], ["iu", "uo"]],
    ["emoji", "Ship it 🚀🎉 today", ["🚀", "🚀🎉", "it 🎉"], ["🎊", "🎉🚀"]],
    [
      "accents and full width",
      "Crème brûlée ＡＢＣ１２３",
      ["CRÈME", "cre\u0300me", "abc123", "ｂｃ１"],
      ["creme"]
    ],
    [
      "wildcards",
      "100% of a_b\\c 'x' | ! ( & :*",
      ["100%", "a_b\\c", "'x'", "| ! ( &", ":*"],
      ["1%0", "a%b", "axb", "a_%", "%%"]
    ]
  ])("matches any part of a word: %s", async (_, text, hits, misses) => {
    const session = await makeSession(ada, project, "Parts")
    const { id } = await sendText(session.id, text)
    const isFound = async (q: string) => (await find(q)).some(({ messageId }) => messageId === id)
    for (const q of hits) assert.isTrue(await isFound(q), q)
    for (const q of misses) assert.isFalse(await isFound(q), q)
  })

  it("finds texts of runs with characters that the database can't store", async () => {
    const runId = await run("Plover \u0000 \ud800 nest", completed("an \u0000 avocet \udc00"))
    assert.deepInclude((await find("plover nest"))[0], { runId, kind: "prompt" })
    assert.deepInclude((await find("avocet"))[0], { runId, kind: "result" })
  })

  it("finds the beginning of a very long text, and shows an excerpt", async () => {
    const session = await makeSession(ada, project, "Long")
    await sendText(session.id, `${"数据 ".repeat(10_000)}bittern ${"y".repeat(200_000)} curlew`)
    const [found] = await find("bittern")
    assert.include(found?.excerpt, "bittern")
    assert.isBelow(found?.excerpt.length ?? 0, 210)
    assert.deepStrictEqual(await find("curlew"), [])
  })

  it("requires all words, in any order and place", async () => {
    const session = await makeSession(ada, project, "Words")
    await sendText(session.id, "alpha dunlin gamma")
    assert.deepStrictEqual(await kindsOf("gamma DUNLIN"), ["message"])
    assert.deepStrictEqual(await kindsOf("dunlin delta"), [])
  })

  it("follows a changed title", async () => {
    const { id } = await makeSession(ada, project, "Old sanderling")
    assert.deepStrictEqual(await kindsOf("sanderling"), ["title"])
    await ada.ask("PATCH", `/client/sessions/${id}`, { body: { title: "New whimbrel" } })
    assert.deepStrictEqual([await kindsOf("sanderling"), await kindsOf("whimbrel")], [[], ["title"]])
  })

  it("finds only what the caller may read", async () => {
    const open = await makeProject(ada, "internal")
    await makeSession(ada, open, "Godwit in public")
    const hidden = await makeSession(ada, project, "Godwit in private")
    assert.lengthOf(await find("godwit"), 2)
    assert.deepStrictEqual(
      (await find("godwit", bob)).map(({ projectId }) => projectId),
      [open.id]
    )
    const refused = await bob.ask("GET", pathOf("godwit", project.id))
    assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "permission_denied"])
    await ada.ask("POST", `/client/projects/${project.id}/members`, {
      body: { userId: bob.userId, role: "viewer" }
    })
    assert.deepStrictEqual(
      (await find("godwit", bob, project.id)).map(({ sessionId }) => sessionId),
      [hidden.id]
    )
    await ada.ask("DELETE", `/client/projects/${project.id}/members/${bob.userId}`)
    assert.lengthOf(await find("godwit", bob), 1)
  })

  it("forgets deleted projects, and file names with their log", async () => {
    const deletedProject = await makeProject(ada)
    await makeSession(ada, deletedProject, "Ruff")
    assert.lengthOf(await find("ruff"), 1)
    assert.strictEqual((await ada.ask("DELETE", `/client/projects/${deletedProject.id}`)).status, 204)
    assert.deepStrictEqual(await find("ruff"), [])
    await run("p", changed("lib/turnstone.ts"), completed("done"))
    assert.deepStrictEqual(await kindsOf("turnstone"), ["files"])
    await hub.people.act(dropLogsEndedBefore(new Date(Date.now() + 1_000)))
    assert.deepStrictEqual(await kindsOf("turnstone"), [])
  })

  it("removes the document of a deleted row in the same transaction", async () => {
    const session = await makeSession(ada, project, "Deletion")
    const { id } = await sendText(session.id, "phalarope")
    assert.lengthOf(await find("phalarope"), 1)
    await hub.people.act(
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql`DELETE FROM messages WHERE id = ${id}`)
    )
    assert.lengthOf((await ada.ask<ListPage<SearchResult>>("GET", pathOf("phalarope"))).body.items, 0)
  })

  it("pages without gaps or repetitions while documents are added", async () => {
    const session = await makeSession(ada, project, "Paging")
    const add = (from: number, count: number, text: string) =>
      hub.people.act(
        Effect.flatMap(
          SqlClient.SqlClient,
          (sql) => sql`
            INSERT INTO messages (id, session_id, user_id, text, created_at)
            SELECT 'msg_01' || upper(substr(md5(i::text), 1, 24)), ${session.id}, ${ada.userId ?? ""}, ${text},
              now() + (i / 5) * interval '1 millisecond' FROM generate_series(${from}::int, ${from + count - 1}::int) i`
        )
      )
    await add(0, 300, "oystercatcher")
    // Beyond the documents that are compared without the index.
    await add(10_000, 2_500, "noise")
    const there = (await find("oystercatcher")).map(({ messageId }) => messageId)
    assert.lengthOf(there, 300)
    let next = 20_000
    const seen = await walk<SearchResult>(ada, pathOf("oystercatcher"), 40, async () => {
      await add((next += 10), 10, "oystercatcher")
      await indexAll(hub)
    })
    const ids = seen.map(({ messageId }) => messageId)
    assert.strictEqual(new Set(ids).size, ids.length)
    assert.deepStrictEqual(
      there.filter((id) => !ids.includes(id)),
      []
    )
  })

  it.each([
    "",
    "%20%20",
    "x".repeat(201),
    encodeURIComponent(Array.from({ length: 11 }, () => "a").join(" ")),
    "%00",
    "a&limit=201",
    "a&cursor=AAAA"
  ])("rejects the query %j", async (q) => {
    const answer = await ada.ask("GET", `/client/search?q=${q}`)
    assert.deepStrictEqual([answer.status, codeOf(answer)], [422, "schema_validation_failed"])
  })

  it("requires a sign-in", async () => {
    assert.strictEqual(codeOf(await hub.client.ask("GET", pathOf("x"))), "unauthorized")
  })
})
