/** WebSockets at `/client/events`. A socket closes within a second when its reader loses access, whether the reader responds or not. */
import { hubCloseCodes } from "@corral/domain/http/StreamEnd"
import { makeSockets, type Upgrade } from "@corral/service/stream/Sockets"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { hubMetrics } from "../HubMetrics.ts"
import { RunLog } from "../run/RunLog.ts"
import { Runs } from "../run/Runs.ts"
import { hubRunSource } from "./HubLogSource.ts"
import { RunFeeds } from "./RunFeeds.ts"
import { followSession } from "./SessionStream.ts"
import { StreamAuthority } from "./StreamAuthority.ts"
import type { LostAccess, HubSubscription } from "./StreamSubscription.ts"

export class EventSockets extends Context.Service<
  EventSockets,
  {
    /** Completes the handshake and serves the subscription until either side ends it. */
    readonly accept: (upgrade: Upgrade, subscription: HubSubscription) => void
    /** Closes every socket with 1001. Succeeds when all are closed, by force after a second. */
    readonly closeAll: Effect.Effect<void>
  }
>()("corral/hub/EventSockets") {
  static readonly layer = Layer.effect(
    EventSockets,
    Effect.gen(function* () {
      const authority = yield* StreamAuthority
      const logs = { feeds: yield* RunFeeds, log: yield* RunLog, runs: yield* Runs }
      const services = yield* Effect.context<never>()
      const fork = Effect.runForkWith(services)
      const sockets = yield* makeSockets<SqlError.SqlError>({
        metric: hubMetrics.followers,
        stopReason: "the Hub is stopping"
      })

      return EventSockets.of({
        accept: (upgrade, subscription) => {
          const { projectId, subject } = subscription
          sockets.accept(upgrade, "runId" in subject, (socket) => {
            const onLost = (lost: LostAccess) => socket.revoke(hubCloseCodes[lost], lossReasons[lost])
            socket.releaseWith(authority.watch(subscription, onLost))
            if ("runId" in subject) socket.follow(hubRunSource(logs, subject.runId), subject)
            else followSession(socket, { ...logs, projectId, sessionId: subject.sessionId }, fork)
          })
        },
        closeAll: sockets.closeAll
      })
    })
  )
}

const lossReasons: Readonly<Record<LostAccess, string>> = {
  signInEnded: "the sign-in has ended",
  accessLost: "access was lost"
}
