/** What an admitted event stream follows, and for whom. */
import type { Principal } from "@corral/domain/hub-api/SessionAuthority"
import type { ProjectId, RequestId, RunId, SessionId } from "@corral/domain/identity/Ids"
import type { Start } from "@corral/service/stream/LogSource"

/** One run, from a position on. */
export interface RunSubject extends Start {
  readonly runId: RunId
}

/** All runs of a session. */
export interface SessionSubject {
  readonly sessionId: SessionId
}

export interface HubSubscription {
  readonly principal: Principal
  readonly projectId: ProjectId
  /** Request that started the stream: later permission checks are audited under it. */
  readonly requestId: RequestId
  readonly subject: RunSubject | SessionSubject
}

/** A stream that needs only a sign-in: it checks the permission for each thing it sends. */
export type SignedInStream = Pick<HubSubscription, "principal" | "requestId">

/** Reason why a stream must end. */
export type LostAccess = "signInEnded" | "accessLost"
