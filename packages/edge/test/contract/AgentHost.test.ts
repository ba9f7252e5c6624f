/** The Agent Host Protocol at a real Edge: who may connect, and what an editor does with sessions, approvals, questions and changes. */
import { AgentHostClient, ROOT } from "@corral/testing/editor/AgentHostClient"
import { AgentHostSession } from "@corral/testing/editor/AgentHostSession"
import { EdgeInProcess, openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { createHash } from "node:crypto"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { editorTokenOf } from "../../src/LocalToken.ts"

let edge: EdgeProcess
beforeAll(async () => {
  edge = new EdgeInProcess()
  await edge.start()
})
afterAll(() => edge.remove())

const addressOf = (at: EdgeProcess, path = "/ahp/ws", token = at.token) => `${at.url}${path}?tkn=${token}`
const connect = (at = edge) => AgentHostClient.open(addressOf(at))
const refusedAt = async (target: string, headers: Readonly<Record<string, string>> = {}) => {
  const answer = await AgentHostClient.connect(edge.url + target, { headers })
  return answer instanceof AgentHostClient ? "accepted" : answer.status
}

/** A new session of the scripted agent. */
const newSession = async (client: AgentHostClient, at = edge, config = {}) =>
  AgentHostSession.create(client, "scripted", at.workspace, config)

interface ListedSession {
  readonly resource: string
  readonly provider: string
  readonly title: string
  readonly workingDirectories: ReadonlyArray<string>
}
const listSessions = async (client: AgentHostClient): Promise<ReadonlyArray<ListedSession>> =>
  (await client.call("listSessions"))["items"] as ReadonlyArray<ListedSession>

const runsOf = async ({ client }: EdgeProcess) => {
  const { body } = await client.ask("GET", "/v1/runs?limit=200")
  return Object(body).items as ReadonlyArray<{
    readonly id: string
    readonly input: { readonly text: string }
  }>
}
const runWith = async (at: EdgeProcess, text: string) =>
  (await runsOf(at)).find(({ input }) => input.text.includes(text))

describe("An upgrade to the agent host", () => {
  it("is refused with 403 and before it is accepted, without the token or with a wrong one", async () => {
    for (const path of ["/ahp", "/ahp/ws", "/ahp/nowhere"])
      for (const query of ["", "?tkn=", "?tkn=wrong", `?tkn=${edge.token}x`, `?token=${edge.token}`])
        assert.strictEqual(await refusedAt(path + query), 403, path + query)
    assert.strictEqual(await refusedAt("/?tkn=wrong"), 403)
    const wrong = { authorization: "Bearer wrong" }
    assert.strictEqual(await refusedAt(`/ahp/ws?tkn=${edge.token}`, wrong), 403)
  })

  it("is refused for another Host and for every Origin of a page", async () => {
    const target = `/ahp/ws?tkn=${edge.token}`
    for (const origin of ["https://evil.example", "null", edge.url])
      assert.strictEqual(await refusedAt(target, { origin }), 403, origin)
    assert.strictEqual(await refusedAt(target, { host: `evil.example:${edge.port}` }), 403)
  })

  it("is refused for a workspace that is not linked", async () => {
    for (const name of ["nowhere", "ws/more", "ws%2f", "WS"])
      assert.strictEqual(await refusedAt(`/ahp/${name}?tkn=${edge.token}`), 404, name)
  })

  it("is accepted with the token in the query or in a header, and with the token of editors", async () => {
    const editorToken = editorTokenOf(edge.token)
    for (const target of [
      `/?tkn=${edge.token}`,
      `/ahp?tkn=${edge.token}`,
      `/ahp/ws?tkn=${edge.token}`,
      `/ahp/ws?tkn=${editorToken}`
    ])
      assert.strictEqual(await refusedAt(target), "accepted", target)
    for (const token of [edge.token, editorToken])
      assert.strictEqual(await refusedAt("/ahp/ws", { authorization: `Bearer ${token}` }), "accepted")
    const answer = await edge.client.ask("GET", "/v1/runs", { token: editorToken })
    assert.strictEqual(answer.status, 401, "the token of editors opens nothing else")
  })
})

describe("The list of sessions", () => {
  it("has the sessions of the workspace, with its folder, and those of runs that no session names", async () => {
    const session = "ses_01JABCDEFGHJKMNPQRSTVWXYZ0"
    const named = await edge.client.create("/say named session", "ask", { sessionId: session })
    const alone = await edge.client.create("/say run of a command")
    await edge.client.result(named.id, 60_000)
    await edge.client.result(alone.id, 60_000)
    const client = await connect()
    const items = await listSessions(client)
    const found = items.find(({ title }) => title === "/say named session")
    assert.isDefined(found)
    assert.match(found.resource, /^scripted:\//)
    assert.strictEqual(found.provider, "scripted")
    assert.deepStrictEqual(found.workingDirectories, [pathToFileURL(edge.workspace).href])
    assert.isDefined(items.find(({ title }) => title === "/say run of a command"))
    client.drop()
  })

  it("continues a run of a command as its session, with the conversation of the runtime", async () => {
    const first = await edge.client.create("/say from the command line")
    await edge.client.result(first.id, 60_000)
    const client = await connect()
    const items = await listSessions(client)
    const resource = items.find(({ title }) => title === "/say from the command line")?.resource ?? ""
    const session = await AgentHostSession.open(client, resource)
    const turns = session.chatState["turns"] as ReadonlyArray<unknown>
    assert.lengthOf(turns, 1)
    assert.include(JSON.stringify(turns), "from the command line")
    const turn = await session.prompt("/say and on in the editor")
    assert.strictEqual(await session.ended(turn), "chat/turnComplete")
    const next = await runWith(edge, "on in the editor")
    assert.strictEqual((await edge.client.run(next?.id ?? "")).resume, first.id)
    assert.strictEqual((await listSessions(client)).filter((each) => each.resource === resource).length, 1)
    client.drop()
  })
})

describe("A session of an editor", () => {
  it("begins a run at its first turn only, and streams what the agent says", async () => {
    const client = await connect()
    const before = (await runsOf(edge)).length
    const session = await newSession(client)
    assert.strictEqual((await runsOf(edge)).length, before, "no run begins with a session")
    const turn = await session.prompt("/say first words\n/stream 20 0 8\n/say last words")
    assert.strictEqual(await session.ended(turn), "chat/turnComplete")
    for (const text of ["first words", "last words"]) assert.include(session.text(turn), text)
    assert.strictEqual((await runsOf(edge)).length, before + 1)
    const listed = (await listSessions(client)).find(({ resource }) => resource === session.resource)
    assert.strictEqual(listed?.title, "/say first words")
    client.drop()
  })

  it("carries one turn out once, even if an editor repeats it", async () => {
    const client = await connect()
    const session = await newSession(client)
    const before = (await runsOf(edge)).length
    const turnId = crypto.randomUUID()
    const action = {
      type: "chat/turnStarted",
      turnId,
      startedAt: new Date().toISOString(),
      message: { text: "/say once only", origin: { kind: "user" } }
    }
    client.dispatch(session.chat, action)
    client.dispatch(session.chat, action)
    assert.strictEqual(await session.ended(turnId), "chat/turnComplete")
    assert.strictEqual((await runsOf(edge)).length, before + 1)
    client.drop()
  })

  it("allows an action with the host's option, and records the editor as its origin", async () => {
    const client = await connect()
    const session = await newSession(client)
    const turn = await session.prompt("/write allowed.txt hello\n/say approval done")
    const call = await session.confirmation(turn)
    assert.include(call.title, "allowed")
    assert.include(
      call.options.map(({ label }) => label),
      "Allow once"
    )
    await session.confirm(call, "approve")
    assert.strictEqual(await session.ended(turn), "chat/turnComplete")
    assert.isTrue(existsSync(join(edge.workspace, "allowed.txt")))
    assert.match(session.text(turn), /Allowed once by local in an editor/)
    const run = await runWith(edge, "allowed.txt")
    const [approval] = await edge.client.approvals(`runId=${run?.id}`)
    assert.deepInclude(approval, { state: "approved", origin: "editor", decidedBy: "local", scope: "once" })
    client.drop()
  })

  it("denies an action, and the agent continues without it", async () => {
    const client = await connect()
    const session = await newSession(client)
    const turn = await session.prompt("/write denied.txt hello\n/say went on")
    await session.confirm(await session.confirmation(turn), "deny", "Deny")
    assert.strictEqual(await session.ended(turn), "chat/turnComplete")
    assert.isFalse(existsSync(join(edge.workspace, "denied.txt")))
    assert.include(session.text(turn), "went on")
    client.drop()
  })

  it("allows nothing that an editor approves without an option, as after a stop that failed", async () => {
    const client = await connect()
    const session = await newSession(client)
    const turn = await session.prompt("/write stopped.txt hello\n/say without the file")
    const call = await session.confirmation(turn)
    assert.isDefined((await session.stop(crypto.randomUUID())).rejectionReason)
    assert.isDefined((await session.confirm({ ...call, options: [] }, "approve")).rejectionReason)
    const run = await runWith(edge, "stopped.txt")
    const [approval] = await edge.client.approvals(`runId=${run?.id}`)
    assert.strictEqual(approval?.state, "pending")
    assert.isUndefined((await session.confirm({ ...call, options: [] }, "deny")).rejectionReason)
    assert.strictEqual(await session.ended(turn), "chat/turnComplete")
    assert.isFalse(existsSync(join(edge.workspace, "stopped.txt")))
    client.drop()
  })

  it("names the winner in every client when an editor and an HTTP client decide at the same time", async () => {
    const [client, other] = [await connect(), await connect()]
    const session = await newSession(client)
    for (let round = 0; round < 10; round++) {
      const text = `/write raced-${round}.txt hello\n/say raced ${round}`
      const turn = await session.prompt(text)
      const call = await session.confirmation(turn)
      const seen = round === 0 ? await AgentHostSession.open(other, session.resource) : undefined
      const run = await runWith(edge, `raced-${round}.txt`)
      const [approval] = await edge.client.approvals(`runId=${run?.id}`)
      const [answer] = await Promise.all([
        edge.client.ask("POST", "/v1/permissions/decide", {
          body: { runId: run?.id, approvalId: approval?.id, decision: "deny" }
        }),
        session.confirm(call, "approve")
      ])
      await session.ended(turn)
      const decided = await edge.client.approval(approval?.id ?? "")
      assert.strictEqual(decided.origin, answer.status === 200 ? "terminal" : "editor")
      assert.strictEqual(existsSync(join(edge.workspace, `raced-${round}.txt`)), decided.state === "approved")
      const line =
        decided.state === "approved" ? /Allowed once by local in an editor/ : /Denied by local in a terminal/
      assert.match(session.text(turn), line)
      if (seen !== undefined) assert.strictEqual(await seen.ended(turn), "chat/turnComplete")
    }
    client.drop()
    other.drop()
  })

  it("refuses the preselected option of a question, and takes another", async () => {
    const client = await connect()
    const session = await newSession(client)
    const turn = await session.prompt("/question Which colour? | Red | Blue\n/say after")
    const request = await session.questions()
    const [question] = request.questions
    assert.isDefined(question)
    const [first, , blue] = question.options ?? []
    assert.strictEqual(question.kind, "single-select")
    const refused = await session.answer(request, {
      [question.id]: { kind: "selected", value: first?.id ?? "" }
    })
    assert.isDefined(refused.rejectionReason)
    const [pending] = await edge.client.inputs("state=pending")
    assert.isDefined(pending, "the question is open")
    // Clients show a question as answered once they have sent something.
    const again = await session.questions(1)
    assert.notStrictEqual(again.id, request.id)
    await session.answer(again, { [question.id]: { kind: "selected", value: blue?.id ?? "" } })
    assert.strictEqual(await session.ended(turn), "chat/turnComplete")
    assert.include(session.text(turn), 'answered {"1":"2"}', "the second colour")
    assert.match(session.text(turn), /Answered by local in an editor/)
    client.drop()
  })

  it("carries an approved plan out in the mode that a person chose", async () => {
    const client = await connect()
    const session = await newSession(client, edge, { corralMode: "plan" })
    const turn = await session.prompt("/plan One step")
    const request = await session.questions()
    const [question] = request.questions
    const choice = question?.options?.find(({ id }) => id.includes("auto_edit"))
    assert.isDefined(choice)
    await session.answer(request, { [question?.id ?? ""]: { kind: "selected", value: choice.id } })
    assert.strictEqual(await session.ended(turn), "chat/turnComplete")
    const next = await until(async () => runWith(edge, "Carry it out"), "the run that carries the plan out")
    assert.strictEqual((await edge.client.run(next.id)).mode, "auto_edit")
    client.drop()
  })

  it("sends a plan back with a custom answer", async () => {
    const client = await connect()
    const session = await newSession(client)
    const turn = await session.prompt("/plan One step\n/say after the plan")
    const request = await session.questions()
    const id = request.questions[0]?.id ?? ""
    const answered = await session.answer(request, { [id]: { kind: "text", value: "Tests first" } })
    assert.isUndefined(answered.rejectionReason)
    assert.strictEqual(await session.ended(turn), "chat/turnComplete")
    assert.match(session.text(turn), /Plan sent back by local in an editor: .* – Tests first/)
    client.drop()
  })

  it("stops a turn", async () => {
    const client = await connect()
    const session = await newSession(client)
    const turn = await session.prompt("/say hanging\n/hang")
    await session.hasText(turn, "hanging")
    await session.stop(turn)
    assert.strictEqual(await session.ended(turn), "chat/turnCancelled")
    await session.hasText(turn, "Stopped by local in an editor")
    const run = await runWith(edge, "hanging")
    const stopped = await until(async () => {
      const { state } = await edge.client.run(run?.id ?? "")
      return state === "cancelled" ? state : undefined
    }, "the cancelled run")
    assert.strictEqual(stopped, "cancelled")
    client.drop()
  })

  it("starts a queued message after the turn in progress", async () => {
    const client = await connect()
    const session = await newSession(client)
    const turn = await session.prompt("/say working\n/ask\n/say finished")
    const call = await session.confirmation(turn)
    await session.queue("queued-1", "/say from the queue")
    await session.confirm(call, "approve")
    await session.ended(turn)
    const started = await client.action(
      ({ action }) => action.type === "chat/turnStarted" && action["queuedMessageId"] === "queued-1",
      "the queued turn"
    )
    const next = String(started.action["turnId"])
    assert.strictEqual(await session.ended(next), "chat/turnComplete")
    assert.include(session.text(next), "from the queue")
    client.drop()
  })

  it("refuses what the routes refuse: a prompt without text, or with too much of it", async () => {
    const client = await connect()
    const session = await newSession(client)
    const before = (await runsOf(edge)).length
    const attachments = [{ type: "simple", label: "a", modelRepresentation: "x".repeat(300_000) }]
    for (const message of [{ text: "" }, { text: "/say hello", attachments }]) {
      const turnId = crypto.randomUUID()
      client.dispatch(session.chat, { type: "chat/turnStarted", turnId, message })
      assert.strictEqual(await session.ended(turnId), "chat/error")
    }
    assert.lengthOf(await runsOf(edge), before)
    client.drop()
  })

  it("starts a turn with a message to a run that has ended meanwhile", async () => {
    const client = await connect()
    const session = await newSession(client)
    const turn = await session.prompt("/say the first turn")
    await session.ended(turn)
    await client.perform(session.chat, {
      type: "chat/pendingMessageSet",
      kind: "steering",
      id: "late-1",
      message: { text: "/say the late message", origin: { kind: "user" } }
    })
    const started = await client.action(
      ({ action }) => action.type === "chat/turnStarted" && action["queuedMessageId"] === "late-1",
      "the turn of the message"
    )
    const late = String(started.action["turnId"])
    assert.strictEqual(await session.ended(late), "chat/turnComplete")
    assert.include(session.text(late), "the late message")
    client.drop()
  })

  it("gives a message to the run in progress", async () => {
    const client = await connect()
    const session = await newSession(client)
    const turn = await session.prompt("/say waiting\n/wait\n/say after the input")
    await session.hasText(turn, "waiting")
    await client.perform(session.chat, {
      type: "chat/pendingMessageSet",
      kind: "steering",
      id: "steer-1",
      message: { text: "the input of a person", origin: { kind: "user" } }
    })
    await client.action("chat/pendingMessageRemoved")
    assert.strictEqual(await session.ended(turn), "chat/turnComplete")
    assert.include(session.text(turn), "the input of a person")
    const next = await session.prompt("/say next\n/hang")
    await session.hasText(next, "next")
    await session.stop(next)
    client.drop()
  })

  it("is whole after a reload in the middle of a confirmation", async () => {
    const client = await connect()
    const session = await newSession(client)
    const turn = await session.prompt("/say before\n/write reloaded.txt hello\n/say after")
    const call = await session.confirmation(turn)
    client.drop()
    const next = await connect()
    const reloaded = await AgentHostSession.open(next, session.resource)
    const active = Object(reloaded.chatState["activeTurn"])
    assert.strictEqual(active.id, turn, "the turn has the id that the first window gave it")
    assert.include(JSON.stringify(active), "pending-confirmation")
    assert.include(JSON.stringify(active), "before")
    await reloaded.confirm(call, "approve")
    assert.strictEqual(await reloaded.ended(turn), "chat/turnComplete")
    assert.isTrue(existsSync(join(edge.workspace, "reloaded.txt")))
    next.drop()
  })

  it("receives after a reconnect what it missed, once and in order", async () => {
    const client = await connect()
    const session = await newSession(client)
    const turn = await session.prompt("/say one\n/ask\n/say two\n/ask\n/say three")
    await session.confirm(await session.confirmation(turn), "approve")
    await session.hasText(turn, "two")
    const { clientId, lastSeq } = client
    client.drop()
    const other = await connect()
    const seen = await AgentHostSession.open(other, session.resource)
    const approval = await until(
      async () => (await edge.client.approvals("state=pending"))[0],
      "the second approval"
    )
    await edge.client.decide(approval.runId, approval.id, "allow")
    await seen.ended(turn)
    const again = await AgentHostClient.connect(addressOf(edge), { clientId })
    if (!(again instanceof AgentHostClient)) return assert.fail(`refused: ${again.status}`)
    const result = await again.call("reconnect", {
      clientId,
      lastSeenServerSeq: lastSeq,
      subscriptions: [ROOT, session.resource, session.chat]
    })
    assert.strictEqual(result["type"], "replay")
    const actions = result["actions"] as ReadonlyArray<{ readonly serverSeq: number }>
    assert.isAbove(actions[0]?.serverSeq ?? 0, lastSeq)
    const seqs = actions.map(({ serverSeq }) => serverSeq)
    assert.deepStrictEqual(
      seqs,
      [...new Set(seqs)].toSorted((a, b) => a - b)
    )
    assert.include(JSON.stringify(actions), "three")
    assert.notInclude(JSON.stringify(actions), '"content":"one"')
    again.drop()
    other.drop()
  })
})

describe("The agent host of an Edge that restarts", () => {
  it("closes its connections with 1001, and continues the session", async () => {
    const at = await openEdgeInProcess()
    const client = await connect(at)
    const session = await newSession(client, at)
    const turn = await session.prompt("/say before the restart")
    await session.ended(turn)
    const { lastSeq } = client
    await at.stop()
    assert.strictEqual((await client.closed).code, 1001)
    await at.start()
    const next = await connect(at)
    const listed = (await listSessions(next)).map(({ resource }) => resource)
    assert.include(listed, session.resource)
    const continued = await AgentHostSession.open(next, session.resource)
    assert.include(JSON.stringify(continued.chatState["turns"]), "before the restart")
    const second = await continued.prompt("/say after the restart")
    assert.strictEqual(await continued.ended(second), "chat/turnComplete")
    assert.isAbove(next.lastSeq, lastSeq, "serverSeq grows over a restart")
    next.drop()
  })
})

describe("Messages that wait when an Edge ends", () => {
  it("are shown by the next one, and sent after a turn that completes", async () => {
    const at = await openEdgeInProcess()
    const client = await connect(at)
    const session = await newSession(client, at)
    const turn = await session.prompt("/say hanging\n/hang")
    await session.hasText(turn, "hanging")
    for (const id of ["first", "second", "third"]) await session.queue(id, `/say the ${id} message`)
    await at.stop()
    await at.start()
    const next = await connect(at)
    const shown = await AgentHostSession.open(next, session.resource)
    const queued = shown.chatState["queuedMessages"] as ReadonlyArray<{ readonly id: string }>
    assert.deepStrictEqual(
      queued.map(({ id }) => id),
      ["first", "second", "third"]
    )
    const removed = { type: "chat/pendingMessageRemoved", kind: "queued", id: "second" }
    assert.isUndefined((await next.perform(shown.chat, removed)).rejectionReason)
    assert.isDefined((await next.perform(shown.chat, removed)).rejectionReason, "it does not wait")
    const again = await shown.prompt("/say after the restart")
    assert.strictEqual(await shown.ended(again), "chat/turnComplete")
    for (const id of ["first", "third"]) {
      assert.strictEqual(await shown.ended(`${id}.turn`), "chat/turnComplete")
      assert.include(shown.text(`${id}.turn`), `the ${id} message`)
    }
    const started = next.actions.flatMap(({ action }) =>
      action.type === "chat/turnStarted" ? [[action["turnId"], action["queuedMessageId"]]] : []
    )
    assert.deepStrictEqual(started, [
      [again, undefined],
      ["first.turn", "first"],
      ["third.turn", "third"]
    ])
    next.drop()
  })
})

describe("The entry in the folder of an editor", () => {
  it("leads to the agent host, for the owner alone, and is there while the Edge serves", async () => {
    const folder = mkdtempSync(join(tmpdir(), "corral-editor-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const withEntry = await openEdgeInProcess({ env: { CORRAL_EDGE_EDITOR_FOLDER: folder } })
    const entries = join(folder, "agent-host", "local-endpoint", "entries")
    const [name = ""] = readdirSync(entries)
    const file = join(entries, name)
    const entry = JSON.parse(readFileSync(file, "utf8"))
    const { connectionToken, endpoint, instanceId, pid, type } = entry
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    assert.strictEqual(statSync(entries).mode & 0o777, 0o700)
    const identity = [type, pid, instanceId].join("\0")
    assert.strictEqual(name, `${createHash("sha256").update(identity).digest("hex")}.json`)
    assert.deepInclude(entry, { schemaVersion: 2, type: "standalone" })
    assert.match(entry.protocolVersion, /^\d+\.\d+\.\d+$/)
    assert.notInclude(readFileSync(file, "utf8"), withEntry.token)
    const client = await AgentHostClient.open(
      `http://${endpoint.host}:${endpoint.port}/?tkn=${connectionToken}`
    )
    assert.isArray(await listSessions(client))
    client.drop()
    await withEntry.stop()
    assert.deepStrictEqual(readdirSync(entries), [])
  })
})
