/**
 * Calls of the Hub's routes for a connection of an editor, without HTTP: the credential of the connection is verified for each call like that of a
 * request, so that its end, its scopes and the role of its user count from the next call on.
 *
 * Guarantees: a call has the authority of the route that it names, and its own request id in the audit trail. It fails with the code of that route.
 * What the caller may not see does not exist.
 */
import { type Coded, type ErrorCode } from "@corral/domain/errors/ErrorTable"
import { type Failure, Internal, NotFound, Overloaded } from "@corral/domain/errors/Failures"
import { failureOfObject } from "@corral/domain/errors/FailureOfObject"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { type EndpointName, keyScopeOf } from "@corral/domain/hub-api/HubAuthorization"
import { CurrentPrincipal, type Principal } from "@corral/domain/hub-api/SessionAuthority"
import type { ProjectId, RequestId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Clock, Effect } from "effect"
import { HttpApi } from "effect/http-api"
import { SqlError } from "effect/sql"
import type { AgentWorkspace } from "../conversation/AgentConversations.ts"
import { type Credential, type Endpoint, HubCredentials } from "../signin/HubCredentials.ts"
import { storeRefusal } from "./Handlers.ts"

/** What a connection is for. */
export interface HostScope {
  /** Without one, all projects that the user may read. */
  readonly projectId: ProjectId | undefined
  /** Only this workspace of the project. */
  readonly place: AgentWorkspace | undefined
  /** Folder that the editor has open for the workspace. */
  readonly folder: string | undefined
}

/** An admitted connection. */
export interface HostConnection {
  readonly credential: Credential
  readonly principal: Principal
  /** Whether the credential may change something. */
  readonly mayWrite: boolean
  /** Request that began the connection. */
  readonly requestId: RequestId
  readonly scope: HostScope
}

/** Endpoints of the contract by name. */
const endpoints: ReadonlyMap<string, Endpoint> = (() => {
  const found = new Map<string, Endpoint>()
  HttpApi.reflect(HubApi, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint, group }) => {
      const { method, path } = endpoint
      found.set(`${group.identifier}.${endpoint.identifier}`, {
        method,
        path,
        keyScope: keyScopeOf(endpoint)
      })
    }
  })
  return found
})()

const endpointOf = (name: EndpointName): Endpoint => {
  const endpoint = endpoints.get(name)
  if (endpoint === undefined) throw new Error(`the contract has no endpoint ${name}`)
  return endpoint
}

type CallFailure = Coded<ErrorCode> | SqlError.SqlError

const failureOf = (error: CallFailure): Failure =>
  "code" in error
    ? failureOfObject(error)
    : storeRefusal(error) === undefined
      ? new Internal()
      : new Overloaded()

/** A read of what the caller may not see is one of what is missing. */
const hidden = (failure: Failure): Failure =>
  failure.code === "permission_denied" ? new NotFound() : failure

export const makeHostCalls = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const credentials = yield* HubCredentials

  const call =
    (onFailure: (failure: Failure) => Failure) =>
    (connection: HostConnection, name: EndpointName) =>
    <A, E extends CallFailure, R>(
      handler: Effect.Effect<A, E, R>
    ): Effect.Effect<A, Failure, Exclude<Exclude<R, CurrentPrincipal>, CurrentRequestId>> =>
      credentials.verify(connection.credential, endpointOf(name)).pipe(
        Effect.flatMap((principal) =>
          handler.pipe(
            Effect.provideService(CurrentPrincipal, principal),
            Effect.provideService(CurrentRequestId, mint<RequestId>("req", clock.currentTimeMillisUnsafe()))
          )
        ),
        Effect.mapError((error: CallFailure) => onFailure(failureOf(error))),
        // Handlers turn a failed statement into a defect.
        Effect.catchDefect((defect) =>
          defect instanceof SqlError.SqlError
            ? Effect.fail(failureOf(defect))
            : Effect.andThen(
                Effect.logError("failed to serve an editor", defect),
                Effect.fail(new Internal())
              )
        )
      )

  return {
    /** A call that reads. */
    reading: call(hidden),
    /** A call that changes something: a refusal says why. */
    writing: call((failure) => failure)
  }
})
export type HostCalls = Effect.Success<typeof makeHostCalls>
