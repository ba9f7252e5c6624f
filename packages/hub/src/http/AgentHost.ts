/**
 * `/client/ahp`: the Agent Host Protocol for editors, over the Hub's services. The query names a project and one of its workspaces, or neither.
 * Also what a connection follows: the events of runs, hints about what has changed, and the end of its right.
 *
 * Guarantees: a connection needs a bearer token and is refused before the upgrade without one. It has the rights of its user, checked with each
 * call, and ends when its sign-in or its access to the project ends. A Gateway has none.
 */
import { type AgentHost, makeAgentHost } from "@corral/agent-host/host/AgentHost"
import type { HostBackend, HostHint } from "@corral/agent-host/host/HostBackend"
import { type Failure, NotFound, PermissionDenied, Unauthorized } from "@corral/domain/errors/Failures"
import { issuesOf } from "@corral/domain/errors/ValidationIssues"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import { CurrentPrincipal, type Principal } from "@corral/domain/hub-api/SessionAuthority"
import {
  DeviceId,
  ProjectId,
  type RequestId,
  type RunId,
  type SessionId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import { EventSequence, type SequencedEvent } from "@corral/domain/run/EventSequence"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { decodeReceivedEvent } from "@corral/domain/run/RunEvent"
import type { HttpRefusal } from "@corral/service/http/Refusal"
import { gapToConflict } from "@corral/service/stream/LogSource"
import { logStream } from "@corral/service/stream/ServerSentEvents"
import { StreamTimes } from "@corral/service/stream/StreamTimes"
import { Context, Effect, Layer, Result, Schema, Clock, Deferred, Exit, Queue, Stream } from "effect"
import type { SqlError } from "effect/sql"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { AgentConversations } from "../conversation/AgentConversations.ts"
import { ChangeFeed, ChangeReader } from "../live/ChangeFeed.ts"
import { RunFeeds } from "../live/RunFeeds.ts"
import { hubRunSource, type LostAccess, StreamAuthority } from "../live/StreamAuthority.ts"
import { RunLog } from "../run/RunLog.ts"
import { Runs } from "../run/Runs.ts"
import { ApiKeyStore } from "../signin/ApiKeyStore.ts"
import { type Credential, HubCredentials } from "../signin/HubCredentials.ts"
import { Users } from "../signin/Users.ts"
import { Notices } from "../store/Notices.ts"
import { makeHostActions } from "./HostActions.ts"
import { type HostConnection, makeHostCalls, type HostCalls, type HostScope } from "./HostCalls.ts"
import { makeHostPlaces } from "./HostPlaces.ts"
import { makeHostSessions } from "./HostSessions.ts"

// What a connection follows. Hints continue after changes may have been missed: then everything is read again.

const endings: Readonly<Record<LostAccess, string>> = {
  signInEnded: "Your sign-in at the Hub has ended. Sign in again with `corral login`.",
  accessLost: "You no longer have access to this project."
}

const lostFailure = (lost: LostAccess): Failure =>
  lost === "signInEnded" ? new Unauthorized() : new PermissionDenied()

const makeEvents = Effect.fnUntraced(function* ({ reading }: HostCalls) {
  const authority = yield* HubAuthority
  const logs = { feeds: yield* RunFeeds, log: yield* RunLog }
  const runs = yield* Runs
  const streams = yield* StreamAuthority
  const { pingEveryMs } = yield* StreamTimes

  const locate = Effect.fnUntraced(function* ({ scope }: HostConnection, runId: RunId) {
    const run = (yield* runs.locate(runId)) ?? (yield* new PermissionDenied())
    yield* authority.inProject("project.read", run.projectId, runId)
    return scope.projectId === undefined || scope.projectId === run.projectId ? run : yield* new NotFound()
  })

  return (connection: HostConnection, runId: RunId, after: number): Stream.Stream<SequencedEvent, Failure> =>
    Stream.unwrap(
      Effect.gen(function* () {
        const run = yield* locate(connection, runId).pipe(reading(connection, "runs.events"))
        const { lastSeq, projectId, state } = run
        const subject = { runId, after, isOver: after >= lastSeq && isTerminal(state) }
        const lost = yield* Deferred.make<void, Failure>()
        const unwatch = streams.watch({ ...connection, projectId, subject }, (why) =>
          Deferred.doneUnsafe(lost, Exit.fail(lostFailure(why)))
        )
        yield* Effect.addFinalizer(() => Effect.sync(unwatch))
        const sequence = new EventSequence(decodeReceivedEvent, after)
        return logStream(hubRunSource(logs, runId), subject, pingEveryMs).pipe(
          // The events of a read together: a stream for each batch costs more than its events.
          Stream.map((batches) =>
            batches.flatMap(({ lines }) => lines.split("\n").flatMap((line) => sequence.next(line) ?? []))
          ),
          Stream.flattenIterable,
          Stream.catch((error) =>
            Stream.fromEffect(
              Effect.fail(error).pipe(gapToConflict(lastSeq), reading(connection, "runs.events"))
            )
          ),
          Stream.interruptWhen(Deferred.await(lost))
        )
      })
    )
})

/** Every change that may concern what the connection shows. */
const EVERYTHING: ReadonlyArray<HostHint> = [{ kind: "agents" }, { kind: "sessions" }]

/** Sessions that wait for one connection. */
const MAX_SESSIONS = 10_000

interface NoticeReceiver {
  readonly scope: HostScope
  readonly receive: (hints: ReadonlyArray<HostHint>) => void
}

/**
 * What the change feed does not name: sessions that people have renamed or archived, or given other agents, and rights in a project that have changed.
 * Each session is read with the rights of the connection.
 */
const changedSessions = Effect.map(Notices, (notices) => {
  const receivers = new Set<NoticeReceiver>()
  notices.follow({
    onNotice: (kind, payload) => {
      if (kind === "session") {
        // That channel carries only ids of sessions.
        const hint: HostHint = { kind, sessionId: payload as SessionId }
        for (const { receive } of receivers) receive([hint])
      }
      if (kind !== "membership") return
      for (const { receive, scope } of receivers)
        if (scope.projectId === undefined || scope.projectId === payload) receive(EVERYTHING)
    },
    // The change feed ends then, and everything is read again.
    onMissed: () => undefined
  })
  return ({ scope }: HostConnection) =>
    Stream.callback<HostHint>(
      (queue) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const receiver: NoticeReceiver = {
              scope,
              receive: (hints) => hints.forEach((hint) => Queue.offerUnsafe(queue, hint))
            }
            receivers.add(receiver)
            return receiver
          }),
          (receiver) => Effect.sync(() => receivers.delete(receiver))
        ),
      { bufferSize: MAX_SESSIONS, strategy: "sliding" }
    )
})

/** The feed sends what the user may see. The connection ends by `ended`, so its sign-in is not verified again with each hint. */
const makeHints = Effect.gen(function* () {
  const changed = yield* changedSessions
  const clock = yield* Clock.Clock
  const conversations = yield* AgentConversations
  const feed = yield* ChangeFeed

  const hintsOf = Effect.fnUntraced(function* (
    { scope }: HostConnection,
    changes: ReadonlyArray<ChangeHint>
  ) {
    const shown = changes.filter(
      (change) =>
        scope.projectId === undefined || !("projectId" in change) || change.projectId === scope.projectId
    )
    const runIds = shown.flatMap((change) =>
      change.kind === "run" ? [change.id] : "runId" in change ? [change.runId] : []
    )
    const named = shown.flatMap((change) => (change.kind === "message" ? [change.sessionId] : []))
    const ofRuns = runIds.length === 0 ? [] : yield* conversations.sessionsOf([...new Set(runIds)])
    return [
      ...(shown.some(({ kind }) => kind === "device") ? [{ kind: "agents" } as const] : []),
      ...[...new Set([...named, ...ofRuns])].map((sessionId): HostHint => ({ kind: "session", sessionId }))
    ]
  })

  /** Ends when changes may have been missed. */
  const untilMissed = (connection: HostConnection): Stream.Stream<HostHint> =>
    Stream.unwrap(
      Effect.gen(function* () {
        const over = yield* Deferred.make<void>()
        const reader = yield* ChangeReader.make(
          connection.principal.userId,
          () => clock.currentTimeMillisUnsafe(),
          () => Deferred.doneUnsafe(over, Exit.void)
        )
        const unfollow = feed.follow(reader)
        yield* Effect.addFinalizer(() => Effect.sync(unfollow))
        return Stream.fromEffectRepeat(reader.changes).pipe(
          Stream.mapEffect((changes) =>
            hintsOf(connection, changes).pipe(Effect.orElseSucceed(() => EVERYTHING))
          ),
          Stream.flattenIterable,
          Stream.merge(changed(connection)),
          Stream.interruptWhen(Deferred.await(over))
        )
      })
    )

  const hints = (connection: HostConnection): Stream.Stream<HostHint> =>
    Stream.concat(
      untilMissed(connection),
      Stream.suspend(() => Stream.concat(Stream.fromIterable(EVERYTHING), hints(connection)))
    )
  return hints
})

export const makeHostStreams = Effect.fnUntraced(function* (calls: HostCalls) {
  const streams = yield* StreamAuthority
  return {
    events: yield* makeEvents(calls),
    hints: yield* makeHints,
    /** Completes with the reason when the right to the connection ends. */
    ended: ({ principal, requestId, scope: { projectId } }: HostConnection): Effect.Effect<string> =>
      Effect.callback((resume) => {
        const stream = { principal, requestId, ...(projectId === undefined ? {} : { projectId }) }
        return Effect.sync(streams.watch(stream, (lost) => resume(Effect.succeed(endings[lost]))))
      })
  }
})

export const AGENT_HOST_PATH = "/client/ahp"
const CONNECT = { method: "GET", path: AGENT_HOST_PATH, keyScope: "read" } as const

/** An absolute path of any system, as the editor writes it. It is shown to the same editor, and opened by no program. */
const Folder = Schema.String.check(
  Schema.isPattern(/^(?:\/|[A-Za-z]:[\\/])[^\p{Cc}]{0,4095}$/u, { expected: "an absolute path" })
)

const HostQuery = Schema.Struct({
  projectId: Schema.optionalKey(ProjectId),
  targetId: Schema.optionalKey(DeviceId),
  workspace: Schema.optionalKey(WorkspaceId.check(Schema.isMaxLength(256))),
  folder: Schema.optionalKey(Folder)
})
const decodeQuery = Schema.decodeUnknownResult(HostQuery, { onExcessProperty: "error", errors: "all" })

const refuse = (refusal: HttpRefusal): Effect.Effect<never, HttpRefusal> => Effect.fail(refusal)

const scopeOf = ({ folder, projectId, targetId, workspace }: typeof HostQuery.Type) => {
  const place = targetId === undefined || workspace === undefined ? undefined : { targetId, workspace }
  // A workspace has its name on a target, and is read with the rights in a project. A folder is that of one workspace.
  const isWhole =
    (targetId === undefined) === (workspace === undefined) &&
    (place === undefined ? folder === undefined : projectId !== undefined)
  return isWhole ? { projectId, place, folder } : undefined
}

export class HubAgentHost extends Context.Service<
  HubAgentHost,
  {
    /** Finds what the target asks for. Fails when the caller may not have it. */
    readonly admit: (
      target: string,
      credential: Credential,
      requestId: RequestId
    ) => Effect.Effect<HostBackend, HttpRefusal | SqlError.SqlError>
    readonly accept: AgentHost["accept"]
    readonly closeAll: AgentHost["closeAll"]
  }
>()("corral/hub/AgentHost") {
  static readonly layer = Layer.effect(
    HubAgentHost,
    Effect.gen(function* () {
      const { accept, closeAll } = yield* makeAgentHost()
      return HubAgentHost.of({ accept, closeAll, admit: yield* makeAdmission })
    })
  )
}

const makeAdmission = Effect.gen(function* () {
  const authority = yield* HubAuthority
  const backendOf = yield* makeBackends
  const credentials = yield* HubCredentials
  const keys = yield* ApiKeyStore

  /** An API key changes something only with the scope for it. */
  const mayWrite = Effect.fnUntraced(function* ({ kind }: Principal, { bearer = "" }: Credential) {
    return kind !== "key" || (yield* keys.find(bearer))?.scopes.includes("write") === true
  })

  return Effect.fn("AgentHost.admit")(function* (
    target: string,
    credential: Credential,
    requestId: RequestId
  ) {
    const url = URL.parse(`http://hub${target}`)
    if (url?.pathname !== AGENT_HOST_PATH) return yield* refuse({ code: "not_found" })
    if (credential.cookie !== undefined || credential.bearer === undefined)
      return yield* refuse({ code: "unauthorized", message: "Connect with a bearer token." })
    const principal = yield* credentials.verify(credential, CONNECT)
    const query = decodeQuery(Object.fromEntries(url.searchParams))
    if (Result.isFailure(query))
      return yield* refuse({
        code: "schema_validation_failed",
        details: { issues: issuesOf(query.failure.issue) }
      })
    const scope = scopeOf(query.success)
    if (scope === undefined) {
      const issue = { path: "workspace", message: "Expected with a projectId and a targetId" }
      return yield* refuse({ code: "schema_validation_failed", details: { issues: [issue] } })
    }
    if (scope.projectId !== undefined)
      yield* authority
        .inProject("project.read", scope.projectId)
        .pipe(
          Effect.provideService(CurrentPrincipal, principal),
          Effect.provideService(CurrentRequestId, requestId)
        )
    const connection: HostConnection = {
      credential,
      principal,
      mayWrite: yield* mayWrite(principal, credential),
      requestId,
      scope
    }
    return yield* backendOf(connection)
  })
})

const makeBackends = Effect.gen(function* () {
  const calls = yield* makeHostCalls
  const places = yield* makeHostPlaces(calls)
  const sessions = yield* makeHostSessions(calls)
  const streams = yield* makeHostStreams(calls)
  const actions = yield* makeHostActions(calls, places, sessions)
  const users = yield* Users

  return Effect.fnUntraced(function* (connection: HostConnection) {
    const { principal, scope } = connection
    const { kind, signInId, userId } = principal
    const user = yield* users.find(userId)
    // A client continues with what its connection is for.
    const id = JSON.stringify([signInId, scope.projectId, scope.place, scope.folder])
    const backend: HostBackend = {
      caller: { id, userId, name: user?.name ?? userId, kind: kind === "key" ? "api_key" : "user" },
      ended: streams.ended(connection),
      agents: places.agents(connection),
      workspaces: places.workspaces(connection),
      sessions: (page) => sessions.sessions(connection, page),
      session: (id) => sessions.session(connection, id),
      runs: (chat) => sessions.runs(connection, chat),
      events: (id, after) => streams.events(connection, id, after),
      hints: streams.hints(connection),
      send: (message) => actions.send(connection, message),
      waiting: (chat) => sessions.waiting(connection, chat),
      withdraw: (chat, key) => actions.withdraw(connection, chat, key),
      cancel: (id) => actions.cancel(connection, id),
      decide: (decision, key) => actions.decide(connection, decision, key),
      answer: ({ inputId }, answer, key) => actions.answer(connection, inputId, answer, key),
      archive: (id) => actions.archive(connection, id),
      changes: (chat) => actions.changes(connection, chat),
      changedFile: (runId, file) => actions.changedFile(connection, runId, file),
      decideChanges: (runId, decision, key) => actions.decideChanges(connection, runId, decision, key),
      readFile: (workspace, path) => actions.readFile(connection, workspace, path),
      listFolder: (workspace, path) => actions.listFolder(connection, workspace, path)
    }
    return backend
  })
})
