/**
 * Log of requests refused with 401 or 429, with the client's address: for operators, and for programs that block addresses.
 *
 * A client that keeps asking gets a few lines a minute; the next line says how many were left out. The path is logged as its template,
 * because paths can hold codes.
 */
import { RequestRateLimit } from "@corral/service/http/RequestRateLimit"
import { routeNames } from "@corral/service/http/RequestWatch"
import { Clock, Effect } from "effect"
import type { IncomingMessage } from "node:http"
import { ClientAddress } from "./Callers.ts"

const LINES_PER_MINUTE = 10
const MINUTE = 60_000

/** Returns a callback for each answered request. It writes a log line for the two logged statuses. */
export const refusalLog = Effect.fnUntraced(function* (paths: Iterable<string>) {
  const addresses = yield* ClientAddress
  const clock = yield* Clock.Clock
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const lines = new RequestRateLimit(LINES_PER_MINUTE, () => clock.currentTimeMillisUnsafe(), MINUTE)
  const routeOf = routeNames(paths)
  /** Refusals since the last line. */
  let omitted = 0
  return ({ headers, method, socket, url = "" }: IncomingMessage, status: number): void => {
    if (status !== 401 && status !== 429) return
    const address = addresses.of(headers, socket.remoteAddress)
    if (!lines.take(addresses.networkOf(headers, socket.remoteAddress))) return void omitted++
    const more = omitted === 0 ? {} : { omitted }
    omitted = 0
    const requestId = headers["x-request-id"]
    run(
      Effect.logWarning("refused request", {
        status,
        address,
        method,
        route: routeOf(url),
        requestId,
        ...more
      })
    )
  }
})

export type LogRefusal = Effect.Success<ReturnType<typeof refusalLog>>
