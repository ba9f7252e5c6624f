/** TLS on a connection of a run's proxy to a service. The certificate of the service is verified, regardless of the Edge's environment. */
import { Effect } from "effect"
import { isIP, type Socket } from "node:net"
import { connect, createSecureContext, rootCertificates, type SecureContext, type TLSSocket } from "node:tls"
import type { RefusalReason } from "./NetworkRefusal.ts"

const WITHIN = "10 seconds"

/** What the Edge trusts. `authorities`: PEM, in addition to those that Node trusts. Reading them takes 40 ms, so contexts are shared. */
export const trustingContext = (authorities: ReadonlyArray<string> | undefined): SecureContext =>
  createSecureContext({
    minVersion: "TLSv1.2",
    ...(authorities === undefined ? {} : { ca: [...rootCertificates, ...authorities] })
  })

/** Fails with `certificate` if the certificate is not valid for the host. */
export const secureConnection = (
  socket: Socket,
  host: string,
  secureContext: SecureContext
): Effect.Effect<TLSSocket, RefusalReason> =>
  Effect.callback<TLSSocket, RefusalReason>((resume) => {
    const secured = connect({
      socket,
      host,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ALPNProtocols: ["http/1.1"],
      rejectUnauthorized: true,
      secureContext
    })
    secured.once("secureConnect", () => resume(Effect.succeed(secured)))
    secured.on("error", () => {
      // Set by Node if the verification failed. Its type lacks `null`.
      const reason: unknown = secured.authorizationError
      resume(Effect.fail(reason === undefined || reason === null ? "unreachable" : "certificate"))
    })
    return Effect.sync(() => void secured.destroy())
  }).pipe(Effect.timeoutOrElse({ duration: WITHIN, orElse: () => Effect.fail("unreachable" as const) }))
