/**
 * `/client/ahp`: the Agent Host Protocol for editors, over the Hub's services. The query names a project and one of its workspaces, or neither.
 *
 * Guarantees: a connection needs a bearer token and is refused before the upgrade without one. It has the rights of its user, checked with each
 * call, and ends when its sign-in or its access to the project ends. A Gateway has none.
 */
import { type AgentHost, makeAgentHost } from "@corral/agent-host/host/AgentHost"
import type { HostBackend } from "@corral/agent-host/host/HostBackend"
import { issuesOf } from "@corral/domain/errors/ValidationIssues"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { CurrentPrincipal, type Principal } from "@corral/domain/hub-api/SessionAuthority"
import { DeviceId, ProjectId, type RequestId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { HttpRefusal } from "@corral/service/http/Refusal"
import { Context, Effect, Layer, Result, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { ApiKeyStore } from "../signin/ApiKeyStore.ts"
import { type Credential, HubCredentials } from "../signin/HubCredentials.ts"
import { Users } from "../signin/Users.ts"
import { type HostConnection, makeHostCalls } from "./HostCalls.ts"
import { makeHostActions } from "./HostActions.ts"
import { makeHostPlaces } from "./HostPlaces.ts"
import { makeHostSessions } from "./HostSessions.ts"
import { makeHostStreams } from "./HostStreams.ts"

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
  // A workspace has its name on a target, and is read with the rights in a project.
  const isWhole =
    (targetId === undefined) === (workspace === undefined) && (place === undefined || projectId !== undefined)
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
      caller: { id, name: user?.name ?? userId, kind: kind === "key" ? "api_key" : "user" },
      ended: streams.ended(connection),
      agents: places.agents(connection),
      workspaces: places.workspaces(connection),
      sessions: (page) => sessions.sessions(connection, page),
      session: (id) => sessions.session(connection, id),
      runs: (chat) => sessions.runs(connection, chat),
      events: (id, after) => streams.events(connection, id, after),
      hints: streams.hints(connection),
      send: (message) => actions.send(connection, message),
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
