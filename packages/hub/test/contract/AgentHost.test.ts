/** The Agent Host Protocol at a Hub, over real WebSockets and a real link: who may connect, what each may do, and when a connection ends. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { HubApproval, HubInput } from "@corral/domain/hub-api/HubRun"
import type { ApprovalId, UserId } from "@corral/domain/identity/Ids"
import type { CommandPayload, EdgeCommand } from "@corral/domain/link/EdgeCommand"
import { AgentHostClient, type ReceivedAction, ROOT } from "@corral/testing/editor/AgentHostClient"
import { AgentHostSession } from "@corral/testing/editor/AgentHostSession"
import { GATEWAY_TOKEN, gatewayEnv } from "@corral/testing/hub/Chats"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { approvalRequested, approvalResolved, Mirror, newId } from "@corral/testing/hub/Mirror"
import { until, within } from "@corral/testing/time/Until"
import { Effect } from "effect"
import { ApiKeyStore } from "../../src/signin/ApiKeyStore.ts"
import { SignInStore } from "../../src/signin/SignInStore.ts"
import { type StartedTurn, TalkingEdge } from "../harness/TalkingEdge.ts"
import { type World, worldOf } from "../link/World.ts"

const FOLDER = "/home/person/site"

interface Team {
  readonly world: World
  readonly edge: TalkingEdge
}

describe("The agent host of a Hub", () => {
  const hub = new HubInProcess({ env: gatewayEnv })
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const addressOf = ({ deviceId, projectId }: World): string => {
    const query = { projectId, targetId: deviceId, workspace: "demo", folder: FOLDER }
    return `${hub.url}/client/ahp?${new URLSearchParams(query).toString()}`
  }
  const bearer = (token: string | null) => ({ authorization: `Bearer ${token}` })
  const connect = ({ world }: Team, token = world.client.token, clientId?: string) =>
    AgentHostClient.open(addressOf(world), {
      headers: bearer(token),
      ...(clientId === undefined ? {} : { clientId })
    })
  const refusal = async (url: string, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await AgentHostClient.connect(url, { headers })
    if (answer instanceof AgentHostClient) return "accepted"
    return [answer.status, JSON.parse(answer.body).code]
  }

  /** Decisions as an Edge carries them out: the first one counts, and is in the log of the run. */
  const decisionsOf = (edge: TalkingEdge) => {
    const resolved = new Map<string, CommandPayload<"DecideApproval">>()
    return (command: EdgeCommand) => {
      if (command.name !== "DecideApproval") return undefined
      // The name says which payload it is.
      const payload = command.payload as CommandPayload<"DecideApproval">
      const { approvalId: id, by, decision, origin, runId } = payload
      const isFirst = !resolved.has(id)
      const winner = resolved.get(id) ?? payload
      resolved.set(id, winner)
      const state = winner.decision === "allow" ? ("approved" as const) : ("denied" as const)
      if (!isFirst && winner.decision !== decision) {
        const details = { approvalId: id, state }
        const error = {
          code: "approval_already_resolved",
          message: "It was decided before.",
          details
        } as const
        return { _tag: "Refused", error } as const
      }
      const { payload: fields, type } = approvalResolved(id, state)
      const event = { type, payload: { ...fields, by, origin } } as ReturnType<typeof approvalResolved>
      if (isFirst) edge.push(runId, event).catch(edge.edge.unlessCut)
      const at = "2026-11-21T12:00:00.000Z"
      const request = {
        action: "write",
        risk: "low",
        title: "Write",
        editable: false,
        scopes: ["once"]
      } as const
      const place = { agentId: "scripted", workspace: "demo" }
      const times = { requestedAt: at, expiresAt: at }
      const value = { id, runId, ...place, request, state, ...times, decidedBy: winner.by, origin }
      return { _tag: "Done", value } as const
    }
  }
  const open = async (): Promise<Team> => {
    const world = await worldOf(hub)
    const edge = await TalkingEdge.link(hub.url, world)
    const { answers } = edge.edge
    const decisions = decisionsOf(edge)
    edge.edge.answers = (command) => decisions(command) ?? answers(command)
    await new Mirror(hub, world.deviceId).link(world.projectId)
    return { world, edge }
  }
  const member = async (
    { world: { client, projectId } }: Team,
    role: "member" | "viewer",
    name: string = role
  ) => {
    const person = await hub.people.signIn(`${name} of ${projectId}`)
    await new Mirror(hub).member(client.userId, projectId, person.userId, role)
    return person
  }
  const keyOf = (userId: UserId | undefined, ...scopes: ReadonlyArray<"read" | "write">) =>
    hub.people.act(
      Effect.flatMap(ApiKeyStore, (keys) =>
        keys.create(userId as UserId, { name: "ci", scopes: scopes as ["read"], expiresInDays: 1 })
      )
    )
  /** A session in which a run has begun. */
  const beginRun = async (team: Team, client: AgentHostClient, text: string) => {
    const session = await AgentHostSession.create(client, "scripted", FOLDER)
    const index = team.edge.turns.length
    const turnId = await session.prompt(text)
    const turn = await team.edge.turn(index)
    await team.edge.begin(turn)
    return { session, turn, turnId }
  }
  const requestApproval = async ({ edge }: Team, { runId }: StartedTurn): Promise<ApprovalId> => {
    const id = newId<ApprovalId>("apr")
    await edge.push(runId, approvalRequested(id))
    return id
  }
  const question = {
    kind: "question",
    title: "Pick a colour",
    questions: [
      {
        id: "colour",
        text: "Which?",
        kind: "choice",
        options: [
          { id: "red", label: "Red" },
          { id: "blue", label: "Blue" }
        ]
      }
    ]
  } as const
  const stateOfApproval = async ({ world }: Team, id: ApprovalId) =>
    (await world.client.ask<HubApproval>("GET", `/client/approvals/${id}`)).body.state
  /** The state after a decision. The Edge answers a decision before the Hub has its event. */
  const decidedState = (team: Team, id: ApprovalId) =>
    until(async () => {
      const state = await stateOfApproval(team, id)
      return state === "pending" ? undefined : state
    }, "the event of the decision")

  const activeTurn = ({ chatState }: AgentHostSession): string => String(Object(chatState["activeTurn"]).id)

  it("refuses before the upgrade who is not signed in, and who may not read the project", async () => {
    const team = await open()
    const url = addressOf(team.world)
    const outsider = await hub.signedIn("outsider of the agent host")
    assert.deepStrictEqual(await refusal(url), [401, "unauthorized"])
    assert.deepStrictEqual(await refusal(url, bearer(`corral_s_${"A".repeat(43)}`)), [401, "unauthorized"])
    assert.deepStrictEqual(await refusal(url, bearer(GATEWAY_TOKEN)), [401, "unauthorized"])
    assert.deepStrictEqual(await refusal(`${url}&tkn=${team.world.client.token}`), [401, "unauthorized"])
    assert.deepStrictEqual(await refusal(url, bearer(outsider.token)), [403, "permission_denied"])
    const { token: writeOnly } = await keyOf(team.world.client.userId, "write")
    assert.deepStrictEqual(await refusal(url, bearer(writeOnly)), [403, "permission_denied"])
    const origin = { ...bearer(team.world.client.token), origin: "https://evil.example" }
    assert.deepStrictEqual(await refusal(url, origin), [403, "permission_denied"])
    const wrong = `${hub.url}/client/ahp?workspace=demo`
    assert.deepStrictEqual(await refusal(wrong, bearer(team.world.client.token)), [
      422,
      "schema_validation_failed"
    ])
  })

  it("shows the agents and sessions of the workspace in the editor's folder, begins a run at the first turn, and streams it", async () => {
    const team = await open()
    const client = await connect(team)
    const { session, turn, turnId } = await beginRun(team, client, "Say hello")
    await team.edge.push(turn.runId, {
      type: "run.message.delta",
      payload: { messageId: "m1", channel: "text", text: "Hello, " }
    } as ReturnType<typeof approvalResolved>)
    await session.hasText(turnId, "Hello, ")
    await team.edge.complete(turn, "Hello, you")
    assert.strictEqual(await session.ended(turnId), "chat/turnComplete")
    const { items } = await client.call("listSessions")
    const [listed] = items as ReadonlyArray<Readonly<Record<string, unknown>>>
    assert.deepInclude(listed, {
      resource: session.resource,
      provider: "scripted",
      title: "Say hello",
      workingDirectories: [`file://${FOLDER}`]
    })
    client.drop()
  })

  it("tells editors that a session is renamed, and has another agent", async () => {
    const team = await open()
    const { client: owner, deviceId } = team.world
    const client = await connect(team)
    const { session } = await beginRun(team, client, "Say hello")
    const { items } = await client.call("listSessions")
    assert.lengthOf(items as ReadonlyArray<unknown>, 1)
    const [{ id } = { id: "" }] = (
      await owner.ask<{ readonly items: ReadonlyArray<{ readonly id: string }> }>("GET", "/client/sessions")
    ).body.items
    const renamed = await owner.ask("PATCH", `/client/sessions/${id}`, { body: { title: "A greeting" } })
    assert.strictEqual(renamed.status, 200, renamed.text)
    await client.action(
      ({ action, channel }) =>
        channel === session.resource &&
        action.type === "session/titleChanged" &&
        action["title"] === "A greeting"
    )
    await client.notification(
      "root/sessionSummaryChanged",
      ({ changes }) => Object(changes).title === "A greeting"
    )
    const agent = { agentId: "scripted", targetId: deviceId, workspace: "demo", mode: "ask" }
    const added = await owner.ask("POST", `/client/sessions/${id}/agents`, { body: agent })
    assert.strictEqual(added.status, 201, added.text)
    await client.action("session/chatAdded")
    client.drop()
  })

  it("decides with the host's options and answers a question, as an editor and on the record", async () => {
    const team = await open()
    const client = await connect(team)
    const { session, turn, turnId } = await beginRun(team, client, "Ask me")
    const approvalId = await requestApproval(team, turn)
    await session.confirm(await session.confirmation(turnId), "approve")
    assert.strictEqual(await decidedState(team, approvalId), "approved")
    const inputId = await team.edge.ask(turn, question)
    const form = await session.questions()
    const [first] = form.questions
    const [preselected] = first?.options ?? []
    const refused = await session.answer(form, {
      [first?.id ?? ""]: { kind: "selected", value: preselected?.id ?? "" }
    })
    assert.isDefined(refused.rejectionReason)
    const blue = first?.options?.find(({ label }) => label.includes("Blue"))
    const repeated = await session.questions(1)
    const [same] = repeated.questions
    const answered = await session.answer(repeated, {
      [same?.id ?? ""]: { kind: "selected", value: blue?.id ?? "" }
    })
    assert.isUndefined(answered.rejectionReason)
    const input = await until(async () => {
      const { body } = await team.world.client.ask<HubInput>("GET", `/client/inputs/${inputId}`)
      return body.state === "pending" ? undefined : body
    }, "the answer")
    assert.deepInclude<object>(input, { state: "answered", origin: "editor", answers: { colour: "blue" } })
    const { body } = await team.world.client.ask<{ readonly items: ReadonlyArray<AuditRecord> }>(
      "GET",
      `/client/audit?projectId=${team.world.projectId}&limit=50`
    )
    const decision = body.items.find(({ action }) => action === "approval.decide")
    assert.deepStrictEqual(
      [decision?.actor, decision?.outcome, decision?.details?.origin],
      [team.world.client.userId, "allowed", "editor"]
    )
    client.drop()
  })

  it("decides once when two windows and an HTTP client decide at the same time, and names the winner to all", async () => {
    const team = await open()
    const ada = await member(team, "member", "ada")
    const [mine, theirs] = [await connect(team), await connect(team, ada.token)]
    const { session, turn, turnId } = await beginRun(team, mine, "Ask us")
    const other = await AgentHostSession.open(theirs, session.resource)
    const approvalId = await requestApproval(team, turn)
    // The turn has its own id for people who did not start it.
    const [call, same] = [await session.confirmation(turnId), await other.confirmation(activeTurn(other))]
    const [answer] = await Promise.all([
      team.world.client.ask("POST", `/client/approvals/${approvalId}/decide`, { body: { decision: "deny" } }),
      session.confirm(call, "approve"),
      other.confirm(same, "approve")
    ])
    const state = await decidedState(team, approvalId)
    assert.strictEqual(state === "denied", answer.status === 200)
    const line = state === "denied" ? "Denied" : "Allowed"
    await session.hasText(turnId, line)
    await other.hasText(activeTurn(other), line)
    mine.drop()
    theirs.drop()
  })

  it("allows nothing that a window approves after its stop failed, and takes the decision of another window", async () => {
    const team = await open()
    const { answers } = team.edge.edge
    const reasons: Array<unknown> = []
    team.edge.edge.answers = (command) => {
      if (command.name !== "CancelRun") return answers(command)
      reasons.push(Object(command.payload).reason)
      return { _tag: "Refused", error: { code: "overloaded", message: "The device is busy." } }
    }
    const [client, theirs] = [await connect(team), await connect(team)]
    const { session, turn, turnId } = await beginRun(team, client, "Ask me")
    const approvalId = await requestApproval(team, turn)
    const call = await session.confirmation(turnId)
    assert.isDefined((await session.stop(turnId)).rejectionReason)
    assert.deepStrictEqual(reasons, ["cancelled in an editor"])
    assert.isDefined((await session.confirm({ ...call, options: [] }, "approve")).rejectionReason)
    assert.isDefined((await session.confirm(call, "approve")).rejectionReason)
    assert.strictEqual(await stateOfApproval(team, approvalId), "pending")
    const other = await AgentHostSession.open(theirs, session.resource)
    const same = { ...call, turnId: activeTurn(other) }
    assert.isDefined((await other.confirm({ ...same, options: [] }, "approve")).rejectionReason)
    assert.isUndefined((await other.confirm(same, "approve")).rejectionReason)
    assert.strictEqual(await decidedState(team, approvalId), "approved")
    client.drop()
    theirs.drop()
  })

  it("lets a viewer follow, and refuses each of its actions without an effect", async () => {
    const team = await open()
    const owner = await connect(team)
    const { session, turn, turnId } = await beginRun(team, owner, "Ask me")
    const approvalId = await requestApproval(team, turn)
    const viewer = await connect(team, (await member(team, "viewer")).token)
    const seen = await AgentHostSession.open(viewer, session.resource)
    assert.include(JSON.stringify(seen.chatState["activeTurn"]), "pending-confirmation")
    const commands = team.edge.edge.commands.length
    const waiting = { ...(await session.confirmation(turnId)), turnId: activeTurn(seen) }
    const refused: Array<ReceivedAction> = [
      await seen.confirm(waiting, "approve"),
      await seen.stop(activeTurn(seen)),
      await viewer.perform(seen.chat, {
        type: "chat/pendingMessageSet",
        kind: "steering",
        id: "steer-1",
        message: { text: "Stop that", origin: { kind: "user" } }
      })
    ]
    for (const { action, rejectionReason } of refused) assert.isDefined(rejectionReason, action.type)
    const mine = await AgentHostSession.create(viewer, "scripted", FOLDER)
    const started = await mine.prompt("Mine")
    assert.strictEqual(await mine.ended(started), "chat/error", "a viewer starts nothing")
    const { action: failed } = await viewer.action("chat/error")
    assert.include(JSON.stringify(failed["part"]), "A viewer of a project follows only")
    assert.include(seen.text(activeTurn(seen)), "You are a viewer of this project")
    assert.strictEqual(team.edge.edge.commands.length, commands, "nothing reached the Edge")
    assert.strictEqual(await stateOfApproval(team, approvalId), "pending")
    viewer.drop()
    owner.drop()
  })

  it("shows messages that wait to each client, and takes them back", async () => {
    const team = await open()
    const client = await connect(team)
    const { session, turn } = await beginRun(team, client, "Work")
    for (const id of ["first", "second"]) await session.queue(id, `The ${id} message`)
    const next = await connect(team)
    const shown = await AgentHostSession.open(next, session.resource)
    const queued = shown.chatState["queuedMessages"] as ReadonlyArray<{ readonly id: string }>
    assert.deepStrictEqual(
      queued.map(({ id }) => id),
      ["first", "second"]
    )
    const removed = { type: "chat/pendingMessageRemoved", kind: "queued", id: "first" }
    assert.isUndefined((await next.perform(shown.chat, removed)).rejectionReason)
    assert.isDefined((await next.perform(shown.chat, removed)).rejectionReason, "it does not wait")
    const index = team.edge.turns.length
    await team.edge.complete(turn, "Done.")
    await team.edge.begin(await team.edge.turn(index))
    const started = await next.action(
      ({ action }) => action.type === "chat/turnStarted" && action["turnId"] === "second.turn",
      "the turn of the message"
    )
    assert.strictEqual(started.action["queuedMessageId"], "second")
    client.drop()
    next.drop()
  })

  it("lets an API key start and send, and decide nothing", async () => {
    const team = await open()
    const { token } = await keyOf(team.world.client.userId, "read", "write")
    const client = await connect(team, token)
    const { session, turn, turnId } = await beginRun(team, client, "Ask me")
    const approvalId = await requestApproval(team, turn)
    const refused = await session.confirm(await session.confirmation(turnId), "approve")
    assert.isDefined(refused.rejectionReason)
    const inputId = await team.edge.ask(turn, question)
    const form = await session.questions()
    const [first] = form.questions
    const blue = first?.options?.find(({ label }) => label.includes("Blue"))
    const answer = await session.answer(form, {
      [first?.id ?? ""]: { kind: "selected", value: blue?.id ?? "" }
    })
    assert.isDefined(answer.rejectionReason)
    assert.strictEqual(await stateOfApproval(team, approvalId), "pending")
    const input = await team.world.client.ask<HubInput>("GET", `/client/inputs/${inputId}`)
    assert.strictEqual(input.body.state, "pending")
    client.drop()
  })

  it("ends a live connection with the sign-in, and refuses the next one", async () => {
    const team = await open()
    const ada = await member(team, "member", "ada")
    const client = await connect(team, ada.token)
    const stays = await connect(team)
    await beginRun(team, client, "Say hello")
    await hub.people.act(Effect.flatMap(SignInStore, (signIns) => signIns.revoke(ada.signInId)))
    const { code, reason } = await within(client.closed, 5_000, "the end of the connection")
    assert.deepStrictEqual([code, /sign-in/.test(reason)], [4403, true])
    assert.deepStrictEqual(await refusal(addressOf(team.world), bearer(ada.token)), [401, "unauthorized"])
    assert.isArray((await stays.call("listSessions"))["items"])
    stays.drop()
  })

  it("ends a live connection with the membership, and refuses the next one", async () => {
    const team = await open()
    const ada = await member(team, "member", "ada")
    const client = await connect(team, ada.token)
    const { projectId, client: owner } = team.world
    const removed = await owner.ask("DELETE", `/client/projects/${projectId}/members/${ada.userId}`)
    assert.strictEqual(removed.status, 204, removed.text)
    const { code } = await within(client.closed, 5_000, "the end of the connection")
    assert.strictEqual(code, 4403)
    assert.deepStrictEqual(await refusal(addressOf(team.world), bearer(ada.token)), [
      403,
      "permission_denied"
    ])
  })

  it("gives a removed member and an outsider nothing of a session on any channel of an open connection", async () => {
    const team = await open()
    const owner = await connect(team)
    const { session } = await beginRun(team, owner, "Secret plans")
    const outsider = await hub.people.signIn(`outsider of ${team.world.projectId}`)
    // A connection that is for all projects of its user has none of this one.
    const client = await AgentHostClient.open(`${hub.url}/client/ahp`, { headers: bearer(outsider.token) })
    assert.deepStrictEqual((await client.call("listSessions"))["items"], [])
    for (const channel of [session.resource, session.chat])
      assert.isDefined((await client.refusal("subscribe", {}, channel)).code, channel)
    const missing = `scripted:/${crypto.randomUUID()}`
    const [theirs, none] = [
      await client.refusal("subscribe", {}, session.resource),
      await client.refusal("subscribe", {}, missing)
    ]
    assert.deepStrictEqual(theirs, none, "a session of others is as one that is missing")
    const { rejectionReason } = await client.perform(session.chat, {
      type: "chat/turnStarted",
      turnId: crypto.randomUUID(),
      startedAt: new Date().toISOString(),
      message: { text: "Hello", origin: { kind: "user" } }
    })
    assert.isDefined(rejectionReason)
    client.drop()
    owner.drop()
  })

  it("binds a client id to its sign-in: another one does not continue with it", async () => {
    const team = await open()
    const client = await connect(team)
    const { session } = await beginRun(team, client, "Mine")
    const { clientId, lastSeq } = client
    client.drop()
    const ada = await member(team, "member", "ada")
    const other = await AgentHostClient.connect(addressOf(team.world), {
      clientId,
      headers: bearer(ada.token)
    })
    if (!(other instanceof AgentHostClient)) return assert.fail(`refused: ${other.status}`)
    const result = await other.request(
      "reconnect",
      { clientId, lastSeenServerSeq: lastSeq, subscriptions: [ROOT, session.resource] },
      ROOT
    )
    assert.notStrictEqual(result.result?.["type"], "replay")
    other.drop()
    const again = await AgentHostClient.connect(addressOf(team.world), {
      clientId,
      headers: bearer(team.world.client.token)
    })
    if (!(again instanceof AgentHostClient)) return assert.fail(`refused: ${again.status}`)
    const mine = await again.call("reconnect", {
      clientId,
      lastSeenServerSeq: lastSeq,
      subscriptions: [ROOT, session.resource]
    })
    assert.strictEqual(mine["type"], "replay")
    again.drop()
  })

  it("closes its connections with 1001 when the Hub stops", async () => {
    const team = await open()
    const client = await connect(team)
    await hub.end()
    assert.strictEqual((await client.closed).code, 1001)
  })
})
