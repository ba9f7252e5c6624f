/** Conversations of a real WebSocket client with the host, each row of what a client needs. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { Conflict } from "@corral/domain/errors/Failures"
import type { ApprovalId, InputRequestId, RunId } from "@corral/domain/identity/Ids"
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { AgentHostClient, ReceivedAction } from "@corral/testing/editor/AgentHostClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chatAddress, sessionAddress } from "../../src/protocol/Addresses.ts"
import { serveHost } from "../HostServer.ts"
import { agentId, folder, MemoryServices, person } from "../MemoryServices.ts"

const approvalId = "apr_01K0000000000000000000000A" as ApprovalId // has the shape
const inputId = "inq_01K0000000000000000000000A" as InputRequestId // the same

const request: ApprovalRequest = {
  action: "write",
  risk: "low",
  title: "Write notes.txt",
  tool: "Write",
  callId: "c1",
  files: ["notes.txt"],
  input: { path: "notes.txt" },
  editable: true,
  scopes: ["once", "run"]
}

const question: RequestedInput = {
  kind: "question",
  title: "Which colour?",
  questions: [
    {
      id: "colour",
      text: "Which colour?",
      kind: "choice",
      options: [
        { id: "red", label: "Red" },
        { id: "blue", label: "Blue" }
      ]
    }
  ]
}

const prompt = (turnId: string, text: string): ReceivedAction["action"] => ({
  type: "chat/turnStarted",
  turnId,
  startedAt: "2026-11-29T10:00:00.000Z",
  message: { text, origin: { kind: "user" } }
})

const pending = (
  id: string,
  text: string,
  kind: "queued" | "steering" = "steering"
): ReceivedAction["action"] => ({
  type: "chat/pendingMessageSet",
  kind,
  id,
  message: { text, origin: { kind: "user" } }
})

const startedBy =
  (messageId: string) =>
  ({ action }: ReceivedAction): boolean =>
    action.type === "chat/turnStarted" && action["queuedMessageId"] === messageId

const endOf =
  (turnId: string) =>
  ({ action }: ReceivedAction): boolean =>
    ["chat/turnComplete", "chat/error"].includes(action.type) && action["turnId"] === turnId

/** Nothing is in progress, and nothing waits. */
const assertIdle = (state: Readonly<Record<string, unknown>>): void => {
  for (const field of ["activeTurn", "queuedMessages", "steeringMessage"])
    assert.isUndefined(state[field], field)
}

/** A client with a new session, as VS Code makes one. */
const begin = Effect.fnUntraced(function* (client: AgentHostClient) {
  const uuid = crypto.randomUUID()
  const session = `${agentId}:/${uuid}`
  const chat = chatAddress(session)
  yield* Effect.promise(async () => {
    const created = await client.request(
      "createSession",
      { provider: agentId, workingDirectories: [`file://${folder}`] },
      session
    )
    assert.deepStrictEqual(created, { result: null })
    await client.subscribe(session)
    await client.subscribe(chat)
  })
  return { session, chat }
})

const setUp = Effect.gen(function* () {
  const services = new MemoryServices()
  const connected = services.connect()
  const server = yield* serveHost(() => connected.backend)
  const client = yield* server.open()
  return { services, connected, server, client }
})

const withPrompt = Effect.gen(function* () {
  const context = yield* setUp
  const place = yield* begin(context.client)
  yield* Effect.promise(() => context.client.perform(place.chat, prompt("turn-1", "hello")))
  return { ...context, ...place, run: context.services.lastRun() }
})

const stateOf = (client: AgentHostClient, channel: string) => Effect.promise(() => client.subscribe(channel))

const requestApproval = (services: MemoryServices, run: RunId): void => {
  services.emit(run, "run.tool.call", {
    callId: "c1",
    tool: "Write",
    label: "Write notes.txt",
    status: "started"
  })
  services.emit(run, "run.approval.requested", {
    approvalId,
    request,
    expiresAt: "2026-12-01T00:00:00.000Z"
  })
}

describe("a conversation", () => {
  it.live("a prompt starts a run, streams, and completes its turn", () =>
    Effect.gen(function* () {
      const { chat, client, run, services, session } = yield* withPrompt
      assert.strictEqual(services.sent.length, 1)
      services.emit(run, "run.message.delta", { messageId: "m1", channel: "text", text: "Hel" })
      services.emit(run, "run.message.delta", { messageId: "m1", channel: "text", text: "lo" })
      services.emit(run, "run.message.completed", {
        messageId: "m1",
        role: "assistant",
        channel: "text",
        text: "Hello"
      })
      services.emit(run, "run.completed", { text: "Hello", usage: { inputTokens: 3, outputTokens: 4 } })
      yield* Effect.promise(() => client.action("chat/turnComplete"))
      const state = (yield* stateOf(client, chat)) as unknown as {
        readonly turns: ReadonlyArray<{ readonly id: string; readonly responseParts: ReadonlyArray<unknown> }>
        readonly activeTurn?: unknown
      }
      assert.isUndefined(state.activeTurn)
      assert.deepStrictEqual(
        state.turns.map(({ id, responseParts }) => [id, responseParts]),
        [["turn-1", [{ kind: "markdown", id: `${run}.3`, content: "Hello" }]]]
      )
      const added = yield* Effect.promise(() => client.notification("root/sessionAdded"))
      assert.strictEqual((added["summary"] as { readonly resource: string }).resource, session)
    })
  )

  it.live("a session begins at its first turn, not when it is created", () =>
    Effect.gen(function* () {
      const { client, services } = yield* setUp
      const { session } = yield* begin(client)
      assert.strictEqual(services.sessions.size, 0)
      const { items } = yield* Effect.promise(() => client.call("listSessions"))
      assert.deepStrictEqual(items, [])
      const again = yield* Effect.promise(() =>
        client.refusal("createSession", { provider: agentId }, session)
      )
      assert.strictEqual(again.code, -32003)
    })
  )

  it.live("a tool call is confirmed with the host's options, once, and the stream says who decided", () =>
    Effect.gen(function* () {
      const { chat, client, run, services, session } = yield* withPrompt
      requestApproval(services, run)
      const ready = yield* Effect.promise(() =>
        client.action(({ action }) => action.type === "chat/toolCallReady" && action["options"] !== undefined)
      )
      const options = ready.action["options"] as ReadonlyArray<{
        readonly id: string
        readonly label: string
      }>
      assert.deepStrictEqual(
        options.map(({ label }) => label),
        ["Allow once", "Allow for the run", "Deny", "Deny and stop the run"]
      )
      yield* Effect.promise(() => client.action("session/inputNeededSet"))
      const toolCallId = ready.action["toolCallId"]
      const decision = {
        type: "chat/toolCallConfirmed",
        turnId: "turn-1",
        toolCallId,
        approved: true,
        confirmed: "user-action",
        selectedOptionId: options[1]?.id
      }
      client.dispatch(chat, decision)
      // A client repeats a decision after a reconnect.
      client.dispatch(chat, decision)
      yield* Effect.promise(() => client.action("session/inputNeededRemoved"))
      yield* Effect.promise(() =>
        client.action(({ action }) =>
          JSON.stringify(action).includes("Allowed for the run by ann in an editor")
        )
      )
      assert.deepStrictEqual(
        services.decided.map(({ approvalId, decision: kind, scope }) => [approvalId, kind, scope]),
        [[approvalId, "allow", "run"]]
      )
      const echo = yield* Effect.promise(() =>
        client.perform(session, { type: "session/isReadChanged", isRead: true })
      )
      assert.isUndefined(echo.rejectionReason)
    })
  )

  it.live("what waits at the end of a turn is shown in another one, and the end decides nothing", () =>
    Effect.gen(function* () {
      const { chat, client, run, services } = yield* withPrompt
      requestApproval(services, run)
      services.emit(run, "run.input.requested", { inputId, request: question })
      const waits = ({ action }: ReceivedAction) =>
        action.type === "chat/toolCallReady" && action["options"] !== undefined
      const before = yield* Effect.promise(() => client.action(waits))
      services.emit(run, "run.turn.ended", { turn: 1, outstanding: 1 })
      yield* Effect.promise(() => client.action("chat/turnComplete"))
      const confirm = ({ action: { toolCallId, turnId } }: ReceivedAction) =>
        client.perform(chat, {
          type: "chat/toolCallConfirmed",
          turnId,
          toolCallId,
          approved: true,
          confirmed: "user-action",
          selectedOptionId: `${approvalId}/allow_once`
        })
      // As VS Code does when it sees the end of the turn.
      assert.isDefined((yield* Effect.promise(() => confirm(before))).rejectionReason)
      assert.deepStrictEqual(services.decided, [])
      const again = yield* Effect.promise(() =>
        client.action((each) => waits(each) && each.action["turnId"] === `${run}.2`)
      )
      const { activeTurn } = yield* stateOf(client, chat)
      const { responseParts } = Object(activeTurn) as {
        readonly responseParts: ReadonlyArray<{ readonly kind: string }>
      }
      assert.deepStrictEqual(
        responseParts.map(({ kind }) => kind),
        ["toolCall", "inputRequest"]
      )
      assert.isUndefined((yield* Effect.promise(() => confirm(again))).rejectionReason)
      assert.lengthOf(services.decided, 1)
    })
  )

  it.live("a rule of the editor approves nothing", () =>
    Effect.gen(function* () {
      const { chat, client, run, services } = yield* withPrompt
      requestApproval(services, run)
      const ready = yield* Effect.promise(() =>
        client.action(({ action }) => action.type === "chat/toolCallReady" && action["options"] !== undefined)
      )
      const rules = yield* Effect.promise(() =>
        client.perform("ahp-root://", { type: "root/configChanged", config: { autoApprove: { all: true } } })
      )
      assert.isUndefined(rules.rejectionReason)
      const echo = yield* Effect.promise(() =>
        client.perform(chat, {
          type: "chat/toolCallConfirmed",
          turnId: "turn-1",
          toolCallId: ready.action["toolCallId"],
          approved: true,
          confirmed: "setting"
        })
      )
      assert.strictEqual(echo.rejectionReason, "A rule of the editor approves nothing here.")
      assert.deepStrictEqual(services.decided, [])
    })
  )

  it.live("a preselected answer is refused, a chosen one answers", () =>
    Effect.gen(function* () {
      const { chat, client, run, services } = yield* withPrompt
      services.emit(run, "run.input.requested", { inputId, request: question })
      const inputRequested = yield* Effect.promise(() => client.action("chat/inputRequested"))
      const shown = inputRequested.action["request"] as {
        readonly questions: ReadonlyArray<{ readonly options: ReadonlyArray<{ readonly id: string }> }>
      }
      const [preselected] = shown.questions[0]?.options ?? []
      const answer = (value: string, requestId: string = inputId) => ({
        type: "chat/inputCompleted",
        requestId,
        response: "accept",
        answers: { colour: { state: "submitted", value: { kind: "selected", value } } }
      })
      const refused = yield* Effect.promise(() => client.perform(chat, answer(preselected?.id ?? "")))
      assert.strictEqual(refused.rejectionReason, "Not decided: Which colour?. Choose an answer.")
      // A client shows the question as answered: it is asked again, under another id.
      const again = yield* Effect.promise(() =>
        client.action(
          ({ action }) => action.type === "chat/inputRequested" && action !== inputRequested.action
        )
      )
      const { id } = again.action["request"] as { readonly id: string }
      assert.notStrictEqual(id, inputId)
      const late = yield* Effect.promise(() => client.perform(chat, answer("blue")))
      assert.isDefined(late.rejectionReason)
      const accepted = yield* Effect.promise(() => client.perform(chat, answer("blue", id)))
      assert.isUndefined(accepted.rejectionReason)
      assert.deepStrictEqual(
        services.answered.map(({ answer }) => answer),
        [{ answers: { colour: "blue" } }]
      )
      yield* Effect.promise(() =>
        client.action(({ action }) => JSON.stringify(action).includes("Answered by Bob in an editor"))
      )
    })
  )

  it.live("a stopped turn cancels its run", () =>
    Effect.gen(function* () {
      const { chat, client, run, services } = yield* withPrompt
      yield* Effect.promise(() => client.action("chat/turnStarted"))
      const echo = yield* Effect.promise(() =>
        client.perform(chat, { type: "chat/turnCancelled", turnId: "turn-1", duration: 5 })
      )
      assert.isUndefined(echo.rejectionReason)
      assert.deepStrictEqual(services.cancelled, [run])
    })
  )

  it.live("a refused prompt ends its turn with the reason", () =>
    Effect.gen(function* () {
      const { client, services } = yield* setUp
      const { chat } = yield* begin(client)
      services.refusal = new Conflict({ message: "The agent is busy." })
      client.dispatch(chat, prompt("turn-1", "hello"))
      const failed = yield* Effect.promise(() => client.action("chat/error"))
      assert.deepStrictEqual(failed.action["part"], {
        kind: "error",
        error: { errorType: "refused", message: "The agent is busy." }
      })
    })
  )

  it.live("a message to a run that has ended meanwhile has a turn, and waits no longer", () =>
    Effect.gen(function* () {
      const { chat, client, run, services } = yield* withPrompt
      services.emit(run, "run.completed", { text: "done" })
      yield* Effect.promise(() => client.action("chat/turnComplete"))
      const echo = yield* Effect.promise(() => client.perform(chat, pending("m1", "more")))
      assert.isUndefined(echo.rejectionReason)
      const started = yield* Effect.promise(() => client.action(startedBy("m1")))
      assert.isAbove(started.serverSeq, echo.serverSeq)
      assert.notStrictEqual(started.action["turnId"], "m1", "the client names the message itself so")
      const next = services.lastRun()
      assert.notStrictEqual(next, run)
      services.emit(next, "run.completed", { text: "done again" })
      yield* Effect.promise(() => client.action(endOf(String(started.action["turnId"]))))
      const repeated = yield* Effect.promise(() => client.perform(chat, pending("m1", "more")))
      assert.isDefined(repeated.rejectionReason)
      assertIdle(yield* stateOf(client, chat))
      assert.strictEqual(services.lastRun(), next)
    })
  )

  it.live("a run that follows a message to the run before it is shown", () =>
    Effect.gen(function* () {
      const { chat, client, run, services } = yield* withPrompt
      yield* Effect.promise(() => client.perform(chat, pending("m1", "more")))
      yield* Effect.promise(() => client.action("chat/pendingMessageRemoved"))
      services.emit(run, "run.completed", { text: "done" })
      yield* Effect.promise(() => client.action("chat/turnComplete"))
      yield* Effect.promise(() => client.perform(chat, prompt("turn-2", "next")))
      services.emit(services.lastRun(), "run.completed", { text: "done again" })
      yield* Effect.promise(() => client.action(endOf("turn-2")))
      assertIdle(yield* stateOf(client, chat))
    })
  )

  it.live("a message waits no longer when its turn begins before the service has answered", () =>
    Effect.gen(function* () {
      const { chat, client, run, services } = yield* withPrompt
      services.emit(run, "run.turn.ended", { turn: 1, outstanding: 0 })
      yield* Effect.promise(() => client.action("chat/turnComplete"))
      const startOfTurn = client.action(startedBy("m1"))
      services.answering = startOfTurn
      const echo = yield* Effect.promise(() => client.perform(chat, pending("m1", "more", "queued")))
      const started = yield* Effect.promise(() => startOfTurn)
      assert.isAbove(started.serverSeq, echo.serverSeq)
      services.emit(run, "run.completed", { text: "done again" })
      yield* Effect.promise(() => client.action(endOf(String(started.action["turnId"]))))
      assertIdle(yield* stateOf(client, chat))
    })
  )

  it.live("a prompt to a run that ends without reading it ends with the run", () =>
    Effect.gen(function* () {
      const { chat, client, run, services } = yield* withPrompt
      services.emit(run, "run.turn.ended", { turn: 1, outstanding: 0 })
      yield* Effect.promise(() => client.action("chat/turnComplete"))
      services.isReading = false
      yield* Effect.promise(() => client.perform(chat, prompt("turn-2", "more")))
      services.emit(run, "run.completed", {})
      yield* Effect.promise(() => client.action(endOf("turn-2")))
      assertIdle(yield* stateOf(client, chat))
    })
  )

  it.live("what others do in the session arrives, also turns that others begin", () =>
    Effect.gen(function* () {
      const { client, services } = yield* setUp
      const id = services.newSession()
      const session = sessionAddress(agentId, id)
      const chat = chatAddress(session)
      yield* stateOf(client, session)
      yield* stateOf(client, chat)
      const run = services.newRun(id, "from the console")
      const started = yield* Effect.promise(() => client.action("chat/turnStarted"))
      assert.strictEqual(started.action["turnId"], `${run}.1`)
      services.emit(run, "run.completed", { text: "done" })
      yield* Effect.promise(() => client.action("chat/turnComplete"))
      services.changeSession(id, { title: "Another title" })
      yield* Effect.promise(() => client.action("session/titleChanged"))
    })
  )

  it.live("a second window sees the turn of the first, with the same id", () =>
    Effect.gen(function* () {
      const { chat, client, run, server, services, session } = yield* withPrompt
      const second = yield* server.open()
      yield* stateOf(second, session)
      const state = (yield* stateOf(second, chat)) as { readonly activeTurn?: { readonly id: string } }
      assert.strictEqual(state.activeTurn?.id, "turn-1")
      services.emit(run, "run.completed", { text: "done" })
      yield* Effect.promise(() => client.action("chat/turnComplete"))
      yield* Effect.promise(() => second.action("chat/turnComplete"))
    })
  )

  it.live("ids of turns and parts are the same in every reading", () =>
    Effect.gen(function* () {
      const { chat, client, run, server, services } = yield* withPrompt
      services.emit(run, "run.message.completed", {
        messageId: "m1",
        role: "assistant",
        channel: "text",
        text: "Hello"
      })
      requestApproval(services, run)
      services.emit(run, "run.completed", { text: "Hello" })
      yield* Effect.promise(() => client.action("chat/turnComplete"))
      const other = yield* server.open()
      const shown = ({ turns }: Readonly<Record<string, unknown>>) =>
        (turns as ReadonlyArray<Readonly<Record<string, unknown>>>).map(({ id, responseParts, state }) => ({
          id,
          responseParts,
          state
        }))
      const live = yield* stateOf(client, chat)
      assert.deepStrictEqual(shown(yield* stateOf(other, chat)), shown(live))
    })
  )
})

describe("messages that wait", () => {
  // One of this protocol, and one of another client.
  const second = { key: "queued-2.turn", text: "the second" }
  const waiting = Effect.gen(function* () {
    const prompted = yield* withPrompt
    prompted.services.waiting = [{ key: "msg-1", text: "the first" }, second]
    const other = yield* prompted.server.open()
    const state = yield* stateOf(other, prompted.chat)
    const [sent] = prompted.services.sent
    assert.isDefined(sent)
    return { ...prompted, other, id: sent.sessionId, queued: state["queuedMessages"] }
  })

  it.live("are in the state of a chat until their turns begin", () =>
    Effect.gen(function* () {
      const { chat, id, other, queued, services } = yield* waiting
      assert.deepStrictEqual(queued, [
        { id: "msg-1.waiting", message: { text: "the first", origin: { kind: "user" } } },
        { id: "queued-2", message: { text: "the second", origin: { kind: "user" } } }
      ])
      services.emit(services.lastRun(), "run.completed", {})
      services.waiting = [second]
      services.newRun(id, "the first", "msg-1")
      const { action } = yield* Effect.promise(() =>
        other.action(
          ({ action, channel }) => channel === chat && action["turnId"] === "msg-1",
          "the turn of the message"
        )
      )
      assert.deepInclude(action, { type: "chat/turnStarted", queuedMessageId: "msg-1.waiting" })
    })
  )

  it.live("are taken back once, and by a turn that has their text", () =>
    Effect.gen(function* () {
      const { chat, other, services } = yield* waiting
      const removed = { type: "chat/pendingMessageRemoved", kind: "queued", id: "msg-1.waiting" }
      const remove = Effect.promise(() => other.perform(chat, removed))
      assert.isUndefined((yield* remove).rejectionReason)
      assert.isDefined((yield* remove).rejectionReason)
      services.emit(services.lastRun(), "run.completed", {})
      yield* Effect.promise(() => other.action("chat/turnComplete"))
      yield* Effect.promise(() =>
        other.perform(chat, { ...prompt("turn-2", "the second"), queuedMessageId: "queued-2" })
      )
      assert.deepStrictEqual(services.waiting, [])
      assert.lengthOf(
        services.sent.filter(({ text }) => text === "the second"),
        1
      )
    })
  )
})

describe("rights", () => {
  it.live("an API key reads and sends, and decides nothing", () =>
    Effect.gen(function* () {
      const services = new MemoryServices()
      const { backend } = services.connect({ ...person(), kind: "api_key" })
      const server = yield* serveHost(() => backend)
      const client = yield* server.open()
      const { chat } = yield* begin(client)
      yield* Effect.promise(() => client.perform(chat, prompt("turn-1", "hello")))
      requestApproval(services, services.lastRun())
      const ready = yield* Effect.promise(() =>
        client.action(({ action }) => action.type === "chat/toolCallReady" && action["options"] !== undefined)
      )
      const echo = yield* Effect.promise(() =>
        client.perform(chat, {
          type: "chat/toolCallConfirmed",
          turnId: "turn-1",
          toolCallId: ready.action["toolCallId"],
          approved: true,
          confirmed: "user-action",
          selectedOptionId: `${approvalId}/allow_once`
        })
      )
      assert.isDefined(echo.rejectionReason)
      assert.deepStrictEqual(services.decided, [])
    })
  )

  it.live("the connection ends when the right ends", () =>
    Effect.gen(function* () {
      const { client, connected } = yield* setUp
      connected.end("You are no longer a member.")
      const { code, reason } = yield* Effect.promise(() => client.closed)
      assert.deepStrictEqual([code, reason], [4403, "You are no longer a member."])
    })
  )

  it.live("a session that the caller may no longer read leaves every channel", () =>
    Effect.gen(function* () {
      const { chat, client, connected, services } = yield* withPrompt
      yield* Effect.promise(() => client.notification("root/sessionAdded"))
      connected.mayRead = false
      services.hint({ kind: "sessions" })
      yield* Effect.promise(() => client.notification("root/sessionRemoved"))
      const refused = yield* Effect.promise(() => client.refusal("subscribe", {}, chat))
      assert.strictEqual(refused.code, -32001)
      const echo = yield* Effect.promise(() => client.perform(chat, prompt("turn-2", "more")))
      assert.isDefined(echo.rejectionReason)
    })
  )
})
