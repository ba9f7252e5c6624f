/** The Edge as the agent host sees it: sessions, messages, waiting messages, plans, hints and events. */
import type { HostBackend, HostMessage } from "@corral/agent-host/host/HostBackend"
import type {
  AgentId,
  ChangedFileId,
  InputRequestId,
  RunId,
  SessionId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import { envelopeOf } from "@corral/domain/run/EventSequence"
import type { RunStatus } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option, Stream } from "effect"
import { mkdirSync, realpathSync } from "node:fs"
import { join } from "node:path"
import { EdgeConfig, edgeDefaults, makeEdgeConfig } from "../../src/config/EdgeConfig.ts"
import { edgeCoreServices } from "../../src/Edge.ts"
import { agentHostBackends } from "../../src/http/AgentHostBackend.ts"
import { insertRun } from "../../src/log/Runs.ts"
import { RunSupervisor } from "../../src/run/RunSupervisor.ts"
import { Store, type Write } from "../../src/store/Store.ts"
import { inMemory } from "../Embedded.ts"
import { temporaryFolder } from "../Folder.ts"

const here = "here" as WorkspaceId
const there = "there" as WorkspaceId
const agentId = "scripted" as AgentId
const SESSION = "ses_01JABCDEFGHJKMNPQRSTVWXYZ0" as SessionId

const edge = Effect.map(temporaryFolder, (folder) => {
  const workspaces = [here, there].map((id) => ({ id, path: join(folder, id) }))
  for (const { path } of workspaces) mkdirSync(path)
  const config = makeEdgeConfig({
    home: join(folder, "home"),
    workspaces,
    environment: { PATH: "/usr/local/bin:/usr/bin:/bin" },
    times: { ...edgeDefaults.times, cancel: 200 }
  })
  return Layer.fresh(edgeCoreServices).pipe(
    Layer.provide(Layer.succeed(EdgeConfig, config)),
    Layer.provide(inMemory)
  )
})

const chat = { sessionId: SESSION, chatId: agentId }

let lastKey = 0
const message = (text: string, more: Partial<HostMessage> = {}): HostMessage => ({
  sessionId: SESSION,
  workspace: here,
  agentId,
  text,
  mode: "ask",
  when: "turn",
  key: `key-${++lastKey}`,
  ...more
})

const withBackend = <A, E>(
  use: (backend: HostBackend, other: HostBackend) => Effect.Effect<A, E, RunSupervisor | Store>
) =>
  Effect.gen(function* () {
    const layer = yield* edge
    return yield* Effect.scoped(
      Effect.flatMap(agentHostBackends, (open) => use(open(here), open(there)))
    ).pipe(Effect.provide(layer))
  })

const ended = (id: string | undefined) =>
  Effect.gen(function* () {
    const runs = yield* RunSupervisor
    const run = yield* runs.result(id as RunId, 60_000)
    assert.isTrue(isTerminal(run.state), run.state)
    return run
  })

const runsOf = (backend: HostBackend) =>
  Effect.map(backend.runs({ sessionId: SESSION, chatId: agentId, limit: 50 }), ({ items }) => items)

/** Waits for the end of the newest run of the session that has this text. */
const runWith = (backend: HostBackend, text: string) =>
  Effect.suspend(() => runsOf(backend)).pipe(
    Effect.map((runs) => runs.find((run) => run.text.includes(text))),
    Effect.repeat({ until: (run) => run !== undefined && isTerminal(run.state as RunStatus) })
  )

describe("AgentHostBackend", () => {
  it.live("offers the agents and folders of its workspaces", () =>
    withBackend((backend, other) =>
      Effect.gen(function* () {
        const agents = yield* backend.agents
        assert.include(
          agents.map(({ id }) => id),
          agentId
        )
        assert.strictEqual(agents.find(({ id }) => id === agentId)?.modes[0], "ask")
        const [workspace, ...more] = yield* backend.workspaces
        assert.deepStrictEqual(more, [])
        assert.strictEqual(workspace?.id, here)
        assert.strictEqual(workspace?.folder, realpathSync(workspace?.folder ?? ""))
        assert.deepStrictEqual(
          (yield* other.workspaces).map(({ id }) => id),
          [there]
        )
      })
    )
  )

  it.live("begins a session with its first message, and continues it", () =>
    withBackend((backend, other) =>
      Effect.gen(function* () {
        const missing = yield* Effect.flip(backend.session(SESSION))
        assert.strictEqual(missing.code, "not_found")
        const first = yield* backend.send(message("/say one"))
        yield* ended(first.runId)
        const second = yield* backend.send(message("/say two", { chatId: first.chatId }))
        const run = yield* ended(second.runId)
        assert.strictEqual(run.resume, first.runId)
        const session = yield* backend.session(SESSION)
        assert.deepInclude(session, { title: "/say one", agentId, workspace: here, defaultChat: agentId })
        assert.deepStrictEqual(
          (yield* runsOf(backend)).map(({ text }) => text),
          ["/say two", "/say one"]
        )
        // Another workspace has neither the session nor its runs.
        assert.strictEqual((yield* Effect.flip(other.session(SESSION))).code, "not_found")
        assert.deepStrictEqual((yield* other.sessions({ limit: 10 })).items, [])
        assert.strictEqual((yield* Effect.flip(other.cancel(run.id, "key"))).code, "not_found")
        assert.strictEqual((yield* Effect.flip(other.send(message("/say no")))).code, "not_found")
        const events = yield* Effect.flip(Stream.runCollect(other.events(run.id, 0)))
        assert.strictEqual(events.code, "not_found")
      })
    )
  )

  it.live("carries a key out once, and says which run it started", () =>
    withBackend((backend) =>
      Effect.gen(function* () {
        const once = message("/say once")
        const first = yield* backend.send(once)
        yield* ended(first.runId)
        assert.deepStrictEqual(yield* backend.send(once), first)
        const changed = yield* Effect.flip(backend.send({ ...once, text: "/say other" }))
        assert.strictEqual(changed.code, "idempotency_conflict")
        const [run, ...more] = yield* runsOf(backend)
        assert.deepStrictEqual(more, [])
        assert.strictEqual(run?.key, once.key)
      })
    )
  )

  it.live("lets messages wait for the run in progress, in order", () =>
    withBackend((backend) =>
      Effect.gen(function* () {
        const first = yield* backend.send(message("/wait\n/say done"))
        const second = message("/say second", { when: "next" })
        const third = message("/say third", { when: "next" })
        const changed = { ...third, text: "/say third, changed" }
        for (const next of [second, third, second, changed])
          assert.isUndefined((yield* backend.send(next)).runId, "and once each")
        assert.deepStrictEqual(yield* backend.waiting(chat), [
          { key: second.key, text: "/say second" },
          { key: third.key, text: "/say third, changed" }
        ])
        yield* backend.send(message("go on", { when: "now" }))
        yield* ended(first.runId)
        yield* runWith(backend, "third")
        assert.deepStrictEqual(
          (yield* runsOf(backend)).map(({ text }) => text),
          ["/say third, changed", "/say second", "/wait\n/say done"]
        )
        assert.deepStrictEqual(yield* backend.waiting(chat), [])
        assert.deepStrictEqual((yield* backend.send(second)).sessionId, SESSION)
        assert.deepStrictEqual(yield* backend.waiting(chat), [], "a delivered message is not stored again")
      })
    )
  )

  it.live("lets messages wait after a run that did not complete until one does, or takes them back", () =>
    withBackend((backend, other) =>
      Effect.gen(function* () {
        const hanging = yield* backend.send(message("/say hanging\n/hang"))
        const later = message("/say later", { when: "next" })
        const never = message("/say never", { when: "next" })
        for (const next of [later, never]) yield* backend.send(next)
        yield* backend.cancel(hanging.runId as RunId, "cancel")
        yield* ended(hanging.runId)
        assert.lengthOf(yield* backend.waiting(chat), 2)
        assert.strictEqual((yield* Effect.flip(other.waiting(chat))).code, "not_found")
        assert.strictEqual((yield* Effect.flip(other.withdraw(chat, never.key))).code, "not_found")
        yield* backend.withdraw(chat, never.key)
        assert.strictEqual((yield* Effect.flip(backend.withdraw(chat, never.key))).code, "conflict")
        const next = yield* backend.send(message("/say after the stop"))
        assert.isDefined(next.runId, "a new message does not wait for them")
        yield* runWith(backend, "later")
        assert.deepStrictEqual(
          (yield* runsOf(backend)).map(({ text }) => text),
          ["/say later", "/say after the stop", "/say hanging\n/hang"]
        )
        assert.deepStrictEqual(yield* backend.waiting(chat), [])
      })
    )
  )

  it.live("finds a session and what waits in it below 2,001 newer runs and 250 messages of others", () =>
    withBackend((backend, other) =>
      Effect.gen(function* () {
        const first = yield* backend.send(message("/wait\n/say done"))
        const second = message("/say second", { when: "next" })
        yield* backend.send(second)
        const runs = yield* RunSupervisor
        const store = yield* Store
        const started = yield* runs.get(first.runId as RunId)
        const ofAnother = (at: number) => `7${String(at).padStart(25, "0")}`
        const sessionOf = (at: number) => `ses_${ofAnother(at)}` as SessionId
        yield* store.commit([
          ...Array.from({ length: 2_001 }, (_, at) =>
            insertRun({
              ...started,
              id: `run_${ofAnother(at)}` as RunId,
              sessionId: sessionOf(at),
              state: "completed",
              endedAt: started.createdAt
            })
          ),
          // Without their events, as after the retention period.
          ["UPDATE runs SET log = 'gone' WHERE state = 'completed'"],
          ...Array.from({ length: 250 }, (_, at): Write => [
            "INSERT INTO waiting_messages (session_id, agent_id, key, message) VALUES (?, ?, 'key', ?)",
            sessionOf(at),
            agentId,
            JSON.stringify(message("/say another", { sessionId: sessionOf(at) }))
          ])
        ])
        assert.strictEqual((yield* backend.session(SESSION)).id, SESSION)
        assert.strictEqual((yield* Effect.flip(other.session(SESSION))).code, "not_found")
        assert.deepStrictEqual(yield* backend.waiting(chat), [{ key: second.key, text: "/say second" }])
        yield* backend.send(message("go on", { when: "now" }))
        yield* ended(first.runId)
        assert.strictEqual((yield* runWith(backend, "second"))?.state, "completed")
        assert.lengthOf(yield* runsOf(backend), 2)
        assert.deepStrictEqual(yield* backend.waiting(chat), [])
      })
    )
  )

  it.live("refuses more waiting messages than a conversation can have", () =>
    withBackend((backend) =>
      Effect.gen(function* () {
        const first = yield* backend.send(message("/say hanging\n/hang"))
        const sent = Effect.forEach(Array.from({ length: 17 }), (_, at) =>
          backend.send(message(`/say ${at}`, { when: "next" }))
        )
        assert.strictEqual((yield* Effect.flip(sent)).code, "overloaded")
        yield* backend.cancel(first.runId as RunId, "cancel")
      })
    )
  )

  it.live("gives the events of a run once, from a position on", () =>
    withBackend((backend) =>
      Effect.gen(function* () {
        const sent = yield* backend.send(message("/say one\n/say two"))
        const all = yield* Stream.runCollect(backend.events(sent.runId as RunId, 0))
        const seqs = [...all].map(({ decoded }) => envelopeOf(decoded).seq)
        assert.deepStrictEqual(
          seqs,
          seqs.map((_, at) => at + 1)
        )
        const rest = yield* Stream.runCollect(backend.events(sent.runId as RunId, 3))
        assert.deepStrictEqual(
          [...rest].map(({ decoded }) => envelopeOf(decoded).seq),
          seqs.slice(3)
        )
      })
    )
  )

  it.live("hints at sessions whose runs begin, wait and end", () =>
    withBackend((backend) =>
      Effect.gen(function* () {
        const hints = yield* Effect.forkChild(Stream.runCollect(Stream.take(backend.hints, 2)))
        yield* Effect.yieldNow
        const sent = yield* backend.send(message("/say one"))
        yield* ended(sent.runId)
        const again = yield* backend.send(message("/say two"))
        yield* ended(again.runId)
        const collected = yield* Fiber.join(hints)
        assert.deepStrictEqual(
          [...collected],
          [...collected].map(() => ({ kind: "session", sessionId: SESSION }))
        )
      })
    )
  )

  it.live("carries an approved plan out in another run, and answers as an editor", () =>
    withBackend((backend) =>
      Effect.gen(function* () {
        const { runId } = yield* backend.send(message("/plan One step", { mode: "plan" }))
        const requested = yield* Stream.runHead(
          Stream.filter(
            backend.events(runId as RunId, 0),
            ({ decoded }) => envelopeOf(decoded).type === "run.input.requested"
          )
        )
        const { inputId } = envelopeOf(Option.getOrThrow(requested).decoded).payload as {
          inputId: InputRequestId
        }
        const request = { runId: runId as RunId, inputId }
        const answer = { approve: true, mode: "auto_edit", comment: "Be quick" } as const
        yield* backend.answer(request, answer, "plan-key")
        // Repeated by an editor that has reconnected.
        yield* backend.answer(request, answer, "plan-key")
        const next = yield* runWith(backend, "Carry it out")
        assert.strictEqual(next?.mode, "auto_edit")
        assert.include(next?.text, "Be quick")
        assert.lengthOf(yield* runsOf(backend), 2)
        const runs = yield* RunSupervisor
        assert.strictEqual((yield* runs.get(next?.id as RunId)).resume, runId)
      })
    )
  )

  it.live("shows what a run changed, and decides about it", () =>
    withBackend((backend) =>
      Effect.gen(function* () {
        const chat = { sessionId: SESSION, chatId: agentId, limit: 10 }
        const quiet = yield* backend.send(message("/say nothing"))
        yield* ended(quiet.runId)
        assert.strictEqual((yield* Effect.flip(backend.changes(chat))).code, "not_found")
        const { runId } = yield* backend.send(message("/write new.txt hello", { mode: "auto_edit" }))
        yield* ended(runId)
        const { files, more, set } = yield* backend.changes(chat)
        assert.deepStrictEqual(
          files.map(({ path }) => path),
          ["new.txt"]
        )
        assert.isFalse(more)
        assert.deepInclude((yield* backend.session(SESSION)).changes, { files: 1, additions: 1 })
        const content = yield* backend.changedFile(set.runId, files[0]?.id as ChangedFileId)
        assert.include(JSON.stringify(content.items), "hello")
        const undo = { kind: "undo", payload: {} } as const
        yield* backend.decideChanges(set.runId, undo, "undo-key")
        const after = yield* Effect.result(backend.changes(chat))
        assert.notInclude(JSON.stringify(after), 'new.txt","status"')
        assert.strictEqual((yield* Effect.flip(backend.readFile(here, "new.txt"))).code, "not_found")
      })
    )
  )

  it.live("reads files and folders of its workspaces only", () =>
    withBackend((backend, other) =>
      Effect.gen(function* () {
        const { runId } = yield* backend.send(message("/write folder/a.txt hello", { mode: "auto_edit" }))
        yield* ended(runId)
        assert.strictEqual((yield* backend.readFile(here, "folder/a.txt")).content, "hello\n")
        const { items } = yield* backend.listFolder(here, "folder")
        assert.deepStrictEqual(
          items.map(({ path }) => path),
          ["folder/a.txt"]
        )
        assert.strictEqual((yield* Effect.flip(other.readFile(here, "folder/a.txt"))).code, "not_found")
        const outside = yield* Effect.flip(backend.readFile(here, "../there/a.txt"))
        assert.strictEqual(outside.code, "workspace_outside_allowlist")
      })
    )
  )

  it.live("archives nothing", () =>
    withBackend((backend) =>
      Effect.map(Effect.flip(backend.archive(SESSION, "key")), ({ code }) =>
        assert.strictEqual(code, "conflict")
      )
    )
  )
})
