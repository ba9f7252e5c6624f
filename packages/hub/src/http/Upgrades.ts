/** Upgrades of the Hub: the links of Edges and the event streams of clients. */
import { errorTable } from "@corral/domain/errors/ErrorTable"
import { LINK_PATH } from "@corral/domain/link/EdgeLink"
import type { UpgradeHandler } from "@corral/service/http/Connections"
import { type HttpRefusal, refuseUpgrade } from "@corral/service/http/Refusal"
import { pathOfTarget } from "@corral/service/http/RequestGuard"
import { Effect, FiberSet } from "effect"
import { LinkServer } from "../link/LinkServer.ts"
import { EventSockets } from "../live/EventSockets.ts"
import { StreamAuthority } from "../live/StreamAuthority.ts"
import { PublicUrl } from "./PublicUrl.ts"
import type { LogRefusal } from "./RefusalLog.ts"
import { credentialOf } from "./RequestCredential.ts"

export const upgradeHandlers = Effect.fnUntraced(function* (logRefusal: LogRefusal) {
  const links = yield* LinkServer
  const publicUrl = yield* PublicUrl
  const sockets = yield* EventSockets
  const streams = yield* StreamAuthority
  const run = yield* FiberSet.makeRuntime()

  const acceptLink: UpgradeHandler = (request, socket, head, id) =>
    // Only browsers send an Origin, and a browser is not an Edge.
    request.headers.origin === undefined
      ? links.accept(request, socket, head, publicUrl)
      : refuseUpgrade(socket, { code: "permission_denied", message: "Browsers can't open a link." }, id)

  const acceptStream: UpgradeHandler = (request, socket, head, id) =>
    void run(
      streams.admit(request.url ?? "", credentialOf(request.headers), id).pipe(
        Effect.match({
          onFailure: (error) => {
            const refusal: HttpRefusal = "code" in error ? error : { code: "overloaded" }
            logRefusal(request, errorTable[refusal.code].status)
            refuseUpgrade(socket, refusal, id)
          },
          onSuccess: (subscription) => sockets.accept({ request, stream: socket, head }, subscription)
        }),
        Effect.catchCause((cause) =>
          Effect.andThen(
            Effect.logError("failed to upgrade a connection", cause),
            Effect.sync(() => refuseUpgrade(socket, { code: "internal" }, id))
          )
        )
      )
    )

  const onUpgrade: UpgradeHandler = (...upgrade) =>
    pathOfTarget(upgrade[0].url ?? "") === LINK_PATH ? acceptLink(...upgrade) : acceptStream(...upgrade)

  const closeUpgraded = Effect.all([links.closeAll, sockets.closeAll], {
    concurrency: "unbounded",
    discard: true
  })
  return { onUpgrade, closeUpgraded }
})
