/** What the Hub gives an editor's connection, on PostgreSQL and over a real link: the same rights, records and keys as its routes. */
import { afterAll, assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import type { HostBackend, HostHint, HostMessage, HostPage } from "@corral/agent-host/host/HostBackend"
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { Failure } from "@corral/domain/errors/Failures"
import type { HubApproval, HubInput } from "@corral/domain/hub-api/HubRun"
import type {
  AgentId,
  ApprovalId,
  RequestId,
  SessionId,
  UserId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import type { CommandPayload, EdgeCommand } from "@corral/domain/link/EdgeCommand"
import { envelopeOf, type SequencedEvent } from "@corral/domain/run/EventSequence"
import { GATEWAY_TOKEN, gatewayEnv } from "@corral/testing/hub/Chats"
import { HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { approvalRequested, Mirror, newId } from "@corral/testing/hub/Mirror"
import { until, within } from "@corral/testing/time/Until"
import { Effect, Fiber, Layer, ManagedRuntime, Redacted, Result, Stream } from "effect"
import { HubConfig, hubDefaults } from "../../src/config/HubConfig.ts"
import { HubAgentHost } from "../../src/http/AgentHost.ts"
import { hubServicesLayer } from "../../src/Hub.ts"
import { ApiKeyStore } from "../../src/signin/ApiKeyStore.ts"
import { SignInStore } from "../../src/signin/SignInStore.ts"
import { execute } from "../harness/RepeatedRows.ts"
import { TalkingEdge } from "../harness/TalkingEdge.ts"
import { type World, worldOf } from "../link/World.ts"

const FOLDER = "/home/person/site"
const agentId = "scripted" as AgentId
const workspace = "demo" as WorkspaceId

describe("HostBackend of the Hub", () => {
  const hub = new HubInProcess({ env: gatewayEnv })
  let runtime: ManagedRuntime.ManagedRuntime<Layer.Success<typeof hubServicesLayer>, unknown>
  beforeAll(async () => {
    await hub.start()
    // Another Hub of the same database, whose services the tests use.
    const config = Layer.succeed(HubConfig, {
      ...hubDefaults,
      home: hub.home,
      maxConnections: 10,
      devSignIn: true,
      gatewayTokens: [Redacted.make(GATEWAY_TOKEN)],
      databaseUrl: hub.databaseUrl === undefined ? undefined : Redacted.make(hub.databaseUrl)
    })
    runtime = ManagedRuntime.make(Layer.provide(hubServicesLayer, config))
  })
  afterAll(async () => {
    await runtime.dispose()
    await hub.remove()
  })

  const admit = (credential: { readonly bearer?: string; readonly cookie?: string }, query: string) =>
    runtime.runPromise(
      Effect.flatMap(HubAgentHost, (host) =>
        Effect.result(
          host.admit(
            `/client/ahp?${query}`,
            { bearer: credential.bearer, cookie: credential.cookie },
            "req_1" as RequestId
          )
        )
      )
    )
  const queryOf = ({ deviceId, projectId }: World): string =>
    new URLSearchParams({ projectId, targetId: deviceId, workspace, folder: FOLDER }).toString()
  const backendFor = async (token: string | null, query: string): Promise<HostBackend> => {
    const admitted = await admit(token === null ? {} : { bearer: token }, query)
    if (Result.isFailure(admitted)) throw new Error(`refused: ${JSON.stringify(admitted.failure)}`)
    return admitted.success
  }
  const refusalOf = async (token: string | null, query: string) => {
    const admitted = await admit(token === null ? {} : { bearer: token }, query)
    assert.isTrue(Result.isFailure(admitted), "admitted")
    return Result.isFailure(admitted) && "code" in admitted.failure ? admitted.failure.code : undefined
  }
  const run = <A>(effect: Effect.Effect<A, Failure>): Promise<A> => Effect.runPromise(effect)
  const codeOf = async (effect: Effect.Effect<unknown, Failure>): Promise<string> => {
    const result = await Effect.runPromise(Effect.result(effect))
    return Result.isFailure(result) ? result.failure.code : "succeeded"
  }
  /** Collects a stream until the test ends. */
  const collect = <A>(stream: Stream.Stream<A, Failure>) => {
    const items: Array<A> = []
    const fiber = Effect.runFork(
      Effect.result(Stream.runForEach(stream, (item) => Effect.sync(() => void items.push(item))))
    )
    onTestFinished(() => Effect.runPromise(Fiber.interrupt(fiber)).then(() => undefined))
    return { items, ended: () => Effect.runPromise(Fiber.join(fiber)) }
  }

  const decided: Array<CommandPayload<"DecideApproval">> = []
  /** Decisions as an Edge answers them. */
  const decisions = (command: EdgeCommand) => {
    if (command.name !== "DecideApproval") return undefined
    // The name says which payload it is.
    const payload = command.payload as CommandPayload<"DecideApproval">
    decided.push(payload)
    const { approvalId: id, by, decision, origin, runId } = payload
    const at = "2026-11-21T12:00:00.000Z"
    const state = decision === "allow" ? "approved" : "denied"
    const request = {
      action: "write",
      risk: "low",
      title: "Write",
      editable: false,
      scopes: ["once"]
    } as const
    const value = {
      id,
      runId,
      agentId,
      workspace,
      request,
      state,
      requestedAt: at,
      expiresAt: at,
      decidedBy: by,
      origin
    }
    return { _tag: "Done", value } as const
  }
  const open = async () => {
    const world = await worldOf(hub)
    const edge = await TalkingEdge.link(hub.url, world)
    const { answers } = edge.edge
    edge.edge.answers = (command) => decisions(command) ?? answers(command)
    await new Mirror(hub, world.deviceId).link(world.projectId)
    return { world, edge, backend: await backendFor(world.client.token, queryOf(world)) }
  }
  const member = async ({ client, projectId }: World, role: "member" | "viewer") => {
    const person = await hub.people.signIn(`${role} of ${projectId}`)
    await new Mirror(hub).member(client.userId, projectId, person.userId, role)
    return person
  }
  const first = (text: string, key: string, more: Partial<HostMessage> = {}): HostMessage => ({
    sessionId: newId<SessionId>("ses"),
    workspace,
    agentId,
    text,
    mode: "ask",
    when: "turn",
    key,
    ...more
  })

  it("begins a session under the editor's id with its first message, once per key, and names the key of its run", async () => {
    const { backend, edge } = await open()
    const message = first("Say hello", "turn-1")
    assert.strictEqual(await codeOf(backend.session(message.sessionId)), "not_found")
    const sent = await run(backend.send(message))
    const again = await run(backend.send(message))
    assert.deepStrictEqual([again.sessionId, again.chatId], [message.sessionId, sent.chatId])
    const turn = await edge.turn(0)
    await edge.perform(turn, "Hello")
    const chat = { sessionId: message.sessionId, chatId: sent.chatId, limit: 10 }
    const [only, ...others] = await until(async () => {
      const { items } = await run(backend.runs(chat))
      return items[0]?.state === "completed" ? items : undefined
    }, "the completed run")
    assert.deepStrictEqual(others, [])
    assert.deepInclude(only, { id: turn.runId, text: "Say hello", key: "turn-1", mode: "ask", lastSeq: 4 })
    const session = await run(backend.session(message.sessionId))
    assert.deepInclude(session, {
      title: "Say hello",
      workspace,
      agentId,
      archived: false,
      defaultChat: sent.chatId,
      rights: { maySend: true, mayDecide: true }
    })
    assert.deepInclude(session.chats[0], { id: sent.chatId, agentId, activity: "idle", mode: "ask" })
    assert.strictEqual(session.people.get("local"), "the owner of the device")
    const { items, nextCursor } = await run(backend.sessions({ limit: 10 }))
    assert.deepStrictEqual([items.map(({ id }) => id), nextCursor], [[message.sessionId], null])
    assert.deepStrictEqual(edge.turns.length, 1)
    const events = collect(backend.events(turn.runId, 1))
    assert.isTrue(Result.isSuccess(await within(events.ended(), 10_000, "the end of the events")))
    const seqOf = ({ decoded }: SequencedEvent) => envelopeOf(decoded).seq
    assert.deepStrictEqual(events.items.map(seqOf), [2, 3, 4])
  })

  it("lists sessions and the runs of a chat page by page, newest first", async () => {
    const { backend, edge } = await open()
    const older = first("One", "a")
    const newer = first("Two", "b")
    const { chatId } = await run(backend.send(older))
    await edge.perform(await edge.turn(0), "One done")
    await run(backend.send({ ...older, chatId, text: "Again", key: "c" }))
    await edge.perform(await edge.turn(1), "Again done")
    await run(backend.send(newer))
    await edge.perform(await edge.turn(2), "Two done")
    const inSession = { sessionId: older.sessionId, chatId, limit: 1 }
    await until(async () => {
      const { items } = await run(backend.runs({ ...inSession, limit: 10 }))
      return items.length === 2 ? items : undefined
    }, "both runs")
    /** Items of all pages of one item each. */
    const paged = async <A>(
      read: (cursor: { readonly cursor?: string }) => Effect.Effect<HostPage<A>, Failure>
    ): Promise<ReadonlyArray<A>> => {
      const items: Array<A> = []
      let cursor: string | undefined
      do {
        const page = await run(read(cursor === undefined ? {} : { cursor }))
        assert.lengthOf(page.items, 1)
        items.push(...page.items)
        cursor = page.nextCursor ?? undefined
      } while (cursor !== undefined)
      return items
    }
    const sessions = await paged((cursor) => backend.sessions({ limit: 1, ...cursor }))
    assert.deepStrictEqual(
      sessions.map(({ id }) => id),
      [newer.sessionId, older.sessionId]
    )
    const runs = await paged((cursor) => backend.runs({ ...inSession, ...cursor }))
    assert.deepStrictEqual(
      runs.map(({ text }) => text),
      ["Again", "One"]
    )
  })

  it("lists a message that waits, and takes it back, below 250 newer messages of its session", async () => {
    const { backend, edge, world } = await open()
    const message = first("Say hello", "turn-1")
    const { chatId, sessionId } = await run(backend.send(message))
    await edge.begin(await edge.turn(0))
    await run(backend.send({ ...message, chatId, text: "Afterwards", when: "next", key: "turn-2" }))
    await execute(
      hub,
      `INSERT INTO messages (id, session_id, user_id, text, created_at)
        SELECT 'msg_7' || lpad(n::text, 25, '0'), '${sessionId}', '${world.client.userId}', 'a note', now()
        FROM generate_series(1, 250) n`
    )
    const chat = { sessionId, chatId }
    const waiting = await run(backend.waiting(chat))
    assert.deepStrictEqual(
      waiting.map(({ key, text }) => [key, text]),
      [["turn-2", "Afterwards"]]
    )
    await run(backend.withdraw(chat, "turn-2"))
    assert.deepStrictEqual(await run(backend.waiting(chat)), [])
    assert.strictEqual(await codeOf(backend.withdraw(chat, "turn-2")), "conflict")
  })

  it("refuses an id that another user has begun, as one that is missing", async () => {
    const { backend, world } = await open()
    const message = first("Mine", "a")
    await run(backend.send(message))
    const other = await member(world, "member")
    const theirs = await backendFor(other.token, queryOf(world))
    assert.strictEqual(
      await codeOf(theirs.send({ ...message, key: "b", text: "Theirs" })),
      "permission_denied"
    )
    const stranger = await open()
    assert.strictEqual(await codeOf(stranger.backend.send({ ...message, key: "c" })), "permission_denied")
    assert.strictEqual(await codeOf(stranger.backend.session(message.sessionId)), "not_found")
    assert.deepStrictEqual((await run(stranger.backend.sessions({ limit: 10 }))).items, [])
  })

  it("lists the agents and the workspace with the folder of the editor, and agents that only sessions have", async () => {
    const { backend, edge } = await open()
    const message = first("Say hello", "turn-1")
    await run(backend.send(message))
    assert.deepStrictEqual(await run(backend.workspaces), [
      { id: workspace, name: "demo", folder: FOLDER, modes: ["ask", "read_only", "auto_edit"] }
    ])
    const names = async () => (await run(backend.agents)).map(({ id, modes }) => [id, modes.length])
    assert.deepStrictEqual(await names(), [["scripted", 3]])
    await edge.offerAgent("another")
    assert.deepStrictEqual(await names(), [
      ["another", 3],
      ["scripted", 0]
    ])
  })

  it("hints at each change of a session and of a device, and not at those of other projects", async () => {
    const [mine, other] = [await open(), await open()]
    const hints = collect(mine.backend.hints)
    const has = (wanted: (hint: HostHint) => boolean, what: string) =>
      until(async () => hints.items.find(wanted), what)
    await has(({ kind }) => kind === "agents", "the device")
    const message = first("Say hello", "turn-1")
    const foreign = first("Elsewhere", "turn-1")
    await run(other.backend.send(foreign))
    await run(mine.backend.send(message))
    const isMine = (hint: HostHint) => hint.kind === "session" && hint.sessionId === message.sessionId
    await has(isMine, "the message")
    hints.items.splice(0)
    await mine.edge.begin(await mine.edge.turn(0))
    await has(isMine, "the run")
    assert.isFalse(hints.items.some((hint) => hint.kind === "session" && !isMine(hint)))
  })

  it("decides and answers with the origin editor, once per key, and records both", async () => {
    const { backend, edge, world } = await open()
    const message = first("Ask me", "turn-1")
    await run(backend.send(message))
    const turn = await edge.turn(0)
    await edge.begin(turn)
    const { runId } = turn
    const approvalId = newId<ApprovalId>("apr")
    await edge.push(runId, approvalRequested(approvalId))
    const decision = { runId, approvalId, decision: "allow" } as const
    decided.splice(0)
    await run(backend.decide(decision, "decision-1"))
    await run(backend.decide(decision, "decision-1"))
    assert.deepStrictEqual(
      decided.map(({ by, decision, origin }) => [by, decision, origin]),
      [[world.client.userId, "allow", "editor"]]
    )
    const inputId = await edge.ask(turn, {
      kind: "question",
      title: "Name the release",
      questions: [{ id: "name", text: "What is the name?", kind: "text" }]
    })
    const { chats } = await run(backend.session(message.sessionId))
    assert.strictEqual(chats[0].activity, "waiting")
    await run(backend.answer({ runId, inputId }, { answers: { name: "Juniper" } }, "answer-1"))
    await run(backend.answer({ runId, inputId }, { answers: { name: "Juniper" } }, "answer-1"))
    const answered = await until(async () => {
      const { body: input } = await world.client.ask<HubInput>("GET", `/client/inputs/${inputId}`)
      return input.state === "pending" ? undefined : input
    }, "the answer in the log")
    assert.deepInclude<object>(answered, { state: "answered", origin: "editor" })
    const { body } = await world.client.ask<{ readonly items: ReadonlyArray<AuditRecord> }>(
      "GET",
      `/client/audit?projectId=${world.projectId}&limit=50`
    )
    const recorded = body.items.filter(
      ({ action }) => action === "approval.decide" || action === "input.answer"
    )
    assert.deepStrictEqual(
      recorded.map(({ action, details, outcome }) => [action, outcome, details?.origin]),
      [
        ["input.answer", "allowed", undefined],
        ["approval.decide", "allowed", "editor"]
      ]
    )
    assert.strictEqual(
      await codeOf(backend.answer({ runId, inputId }, { answers: { name: "Oak" } }, "answer-2")),
      "input_already_resolved"
    )
  })

  it("checks bodies as the routes do", async () => {
    const { backend } = await open()
    const message = first("Say hello", "turn-1")
    const { chatId } = await run(backend.send(message))
    for (const text of ["", "a\0b", "x".repeat(262_145)])
      assert.strictEqual(
        await codeOf(backend.send({ ...message, chatId, key: `k${text.length}`, text })),
        "schema_validation_failed"
      )
    assert.strictEqual(await codeOf(backend.send({ ...message, chatId: "x\0", key: "k" })), "not_found")
  })

  it("lets a viewer read and refuses everything else", async () => {
    const { backend, edge, world } = await open()
    const message = first("Ask me", "turn-1")
    const { chatId } = await run(backend.send(message))
    const turn = await edge.turn(0)
    await edge.begin(turn)
    const { runId } = turn
    const approvalId = newId<ApprovalId>("apr")
    await edge.push(runId, approvalRequested(approvalId))
    const viewer = await backendFor((await member(world, "viewer")).token, queryOf(world))
    const session = await run(viewer.session(message.sessionId))
    assert.deepStrictEqual(session.rights, { maySend: false, mayDecide: false })
    assert.deepStrictEqual(
      (await run(viewer.agents)).map(({ id }) => id),
      [agentId]
    )
    const chat = { sessionId: message.sessionId, chatId, limit: 10 }
    assert.strictEqual((await run(viewer.runs(chat))).items.length, 1)
    const refusals = [
      viewer.send({ ...message, chatId, key: "v1" }),
      viewer.send(first("Mine", "v2")),
      viewer.cancel(runId, "v3"),
      viewer.decide({ runId, approvalId, decision: "allow" }, "v4"),
      viewer.archive(message.sessionId, "v5")
    ]
    for (const refusal of refusals) assert.strictEqual(await codeOf(refusal), "permission_denied")
    assert.strictEqual(await codeOf(viewer.readFile(workspace, "notes.txt")), "not_found")
    const { body } = await world.client.ask<HubApproval>("GET", `/client/approvals/${approvalId}`)
    assert.strictEqual(body.state, "pending")
  })

  it("lets an API key read and send, by its scopes, and decide nothing", async () => {
    const { edge, world } = await open()
    const keyWith = (...scopes: readonly ["read", ...ReadonlyArray<"write">]) =>
      hub.people.act(
        Effect.flatMap(ApiKeyStore, (keys) =>
          keys.create(world.client.userId as UserId, {
            name: scopes.join(" "),
            scopes: [...scopes],
            expiresInDays: 1
          })
        )
      )
    const writer = await keyWith("read", "write")
    const backend = await backendFor(writer.token, queryOf(world))
    assert.strictEqual(backend.caller.kind, "api_key")
    const message = first("Ask me", "turn-1")
    await run(backend.send(message))
    const { rights } = await run(backend.session(message.sessionId))
    assert.deepStrictEqual(rights, { maySend: true, mayDecide: false })
    const turn = await edge.turn(0)
    await edge.begin(turn)
    const approvalId = newId<ApprovalId>("apr")
    await edge.push(turn.runId, approvalRequested(approvalId))
    const inputId = await edge.ask(turn, {
      kind: "question",
      title: "Name it",
      questions: [{ id: "name", text: "What?", kind: "text" }]
    })
    const { runId } = turn
    for (const refused of [
      backend.decide({ runId, approvalId, decision: "allow" }, "d"),
      backend.answer({ runId, inputId }, { answers: { name: "x" } }, "a")
    ])
      assert.strictEqual(await codeOf(refused), "permission_denied")
    const reader = await backendFor((await keyWith("read")).token, queryOf(world))
    assert.deepStrictEqual((await run(reader.session(message.sessionId))).rights, {
      maySend: false,
      mayDecide: false
    })
    assert.strictEqual(await codeOf(reader.send(first("No", "n"))), "permission_denied")
    await hub.people.act(
      Effect.flatMap(ApiKeyStore, (keys) => keys.remove(world.client.userId as UserId, writer.id))
    )
    assert.strictEqual(await codeOf(backend.session(message.sessionId)), "unauthorized")
    assert.match(await within(Effect.runPromise(backend.ended), 5_000, "the end"), /sign-in.*has ended/)
  })

  it("begins no session in one of several projects whose workspaces have the same name", async () => {
    const { world } = await open()
    const { client, deviceId, projectId } = world
    const another = await new Mirror(hub).project(client.userId)
    const shared = await client.ask("PATCH", `/client/devices/${deviceId}`, {
      body: { sharedWith: [projectId, another] }
    })
    assert.strictEqual(shared.status, 200, shared.text)
    await new Mirror(hub, deviceId).link(another)
    const everywhere = await backendFor(client.token, "")
    const message = first("For one of them only", "turn-1")
    assert.strictEqual(await codeOf(everywhere.send(message)), "conflict")
    assert.strictEqual(await codeOf(everywhere.session(message.sessionId)), "not_found")
    assert.strictEqual(await codeOf(everywhere.readFile(workspace, "a")), "conflict")
    const ofOne = await backendFor(client.token, new URLSearchParams({ projectId: another }).toString())
    assert.strictEqual((await run(ofOne.send(message))).sessionId, message.sessionId)
  })

  it("hints at every session when the members of a project change, to all connections that show it", async () => {
    const [{ backend, world }, other] = [await open(), await open()]
    const person = await member(world, "member")
    const everywhere = collect((await backendFor(person.token, "")).hints)
    const [owners, others] = [collect(backend.hints), collect(other.backend.hints)]
    const isAny = ({ kind }: HostHint) => kind === "sessions"
    const all = [
      [everywhere, backend],
      [owners, backend],
      [others, other.backend]
    ] as const
    // A hint comes when its stream has started.
    for (const [{ items }, sender] of all)
      await until(async () => {
        await run(sender.send(first("Say hello", newId("req"))))
        return items.length > 0 || undefined
      }, "a first hint")
    for (const [{ items }] of all) items.splice(0)
    await new Mirror(hub).noMember(world.client.userId, world.projectId, person.userId)
    for (const { items } of [everywhere, owners])
      await until(async () => items.some(isAny) || undefined, "the hint")
    assert.isFalse(others.items.some(isAny))
  })

  it("admits only a person or a key that may read the project, by a bearer token", async () => {
    const { world } = await open()
    const query = queryOf(world)
    const outsider = await hub.signedIn("outsider")
    assert.strictEqual(await refusalOf(outsider.token, query), "permission_denied")
    assert.strictEqual(await refusalOf(null, query), "unauthorized")
    assert.strictEqual(await refusalOf(`corral_s_${"A".repeat(43)}`, query), "unauthorized")
    assert.strictEqual(await refusalOf(GATEWAY_TOKEN, query), "unauthorized")
    const cookie = await admit({ cookie: world.client.token ?? "" }, query)
    assert.isTrue(Result.isFailure(cookie))
    for (const wrong of [
      `workspace=${workspace}`,
      `projectId=${world.projectId}&targetId=${world.deviceId}`,
      `projectId=x`,
      `folder=relative`,
      // The folder is that of one workspace.
      `folder=${FOLDER}`,
      `tkn=${world.client.token}`
    ])
      assert.strictEqual(await refusalOf(world.client.token, wrong), "schema_validation_failed", wrong)
    const everywhere = await backendFor(world.client.token, "")
    assert.deepStrictEqual(
      (await run(everywhere.workspaces)).map(({ folder, id }) => [id, folder]),
      [[workspace, "/demo"]]
    )
  })

  it("ends with the sign-in and with the membership, and so does a stream of events", async () => {
    const { backend, edge, world } = await open()
    const message = first("Ask me", "turn-1")
    const { chatId } = await run(backend.send(message))
    const turn = await edge.turn(0)
    await edge.begin(turn)
    const person = await member(world, "member")
    const [theirs, others] = [
      await backendFor(person.token, queryOf(world)),
      await backendFor((await hub.people.signIn(`member of ${world.projectId}`)).token, queryOf(world))
    ]
    const events = collect(theirs.events(turn.runId, 0))
    await until(async () => events.items.length === 2 || undefined, "the events")
    const [ended, alsoEnded] = [Effect.runPromise(theirs.ended), Effect.runPromise(others.ended)]
    await hub.people.act(Effect.flatMap(SignInStore, (signIns) => signIns.revoke(person.signInId)))
    assert.match(await within(ended, 5_000, "the end"), /sign-in.*has ended/)
    const lost = await within(events.ended(), 5_000, "the end of the events")
    assert.isTrue(Result.isFailure(lost) && lost.failure.code === "unauthorized")
    const chat = { sessionId: message.sessionId, chatId, limit: 1 }
    for (const call of [
      theirs.agents,
      theirs.workspaces,
      theirs.sessions({ limit: 1 }),
      theirs.session(message.sessionId),
      theirs.runs(chat),
      theirs.send({ ...message, chatId, key: "late" }),
      theirs.cancel(turn.runId, "late"),
      theirs.archive(message.sessionId, "late"),
      theirs.changes(chat),
      theirs.readFile(workspace, "a"),
      Stream.runDrain(theirs.events(turn.runId, 0))
    ])
      assert.strictEqual(await codeOf(call), "unauthorized")
    assert.strictEqual((await run(others.session(message.sessionId))).id, message.sessionId)
    await new Mirror(hub).noMember(world.client.userId, world.projectId, person.userId)
    assert.match(await within(alsoEnded, 5_000, "the end"), /no longer have access/)
    assert.strictEqual(await codeOf(others.session(message.sessionId)), "not_found")
    assert.strictEqual(await codeOf(Stream.runDrain(others.events(turn.runId, 0))), "not_found")
    assert.strictEqual(new HubClient(hub.url, person.token).token, person.token)
  })
})
