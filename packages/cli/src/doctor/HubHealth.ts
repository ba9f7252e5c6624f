/**
 * Health of the Hub of this machine, for `corral doctor`. Readiness is public. Only authorized callers receive the reason.
 *
 * *Guarantees:* a sign-in is sent only to its own Hub, and the metrics token only to a Hub on this machine.
 */
import { type HealthProblem, PublicHealth } from "@corral/domain/http/Health"
import { isLoopback } from "@corral/service/Addresses"
import { Effect, Redacted } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import type { StoredSignIn } from "../hub/SignInFile.ts"

export interface HubStatus {
  readonly url: string
  /** `degraded`: works, except for `problems`. `not_ready`: can't serve requests. */
  readonly state: "ok" | "degraded" | "not_ready" | "unreachable"
  readonly problems: ReadonlyArray<HealthProblem>
  /** What to do next, if no problem explains it. */
  readonly hint?: string
}

const NOT_READY =
  "Its database is probably unavailable. Check the log of the Hub or ask its operator. With CORRAL_METRICS_TOKEN set, doctor shows the reason for a Hub on this machine."
const DEGRADED = "Sign in with `corral login` to see the reason, or check the log of the Hub."

/** Credential for this Hub. */
const credentialFor = (
  url: string,
  signIn: StoredSignIn | undefined,
  environment: Readonly<Record<string, string>>
): Redacted.Redacted | undefined => {
  const metricsToken = environment["CORRAL_METRICS_TOKEN"] ?? ""
  if (metricsToken !== "" && isLoopback(new URL(url).hostname)) return Redacted.make(metricsToken)
  return signIn?.hub === url ? signIn.token : undefined
}

/** Reads the health of the Hub. Never fails: an unreachable Hub has the state `unreachable`. */
export const inspectHub = Effect.fnUntraced(function* (
  url: string,
  signIn: StoredSignIn | undefined,
  environment: Readonly<Record<string, string>>
): Effect.fn.Return<HubStatus, never, HttpClient.HttpClient> {
  const client = yield* HttpClient.HttpClient
  const credential = credentialFor(url, signIn, environment)
  const request = HttpClientRequest.get(`${url}/health`)
  const authorized =
    credential === undefined ? request : HttpClientRequest.bearerToken(request, Redacted.value(credential))
  return yield* client.execute(authorized).pipe(
    Effect.flatMap((response) =>
      Effect.map(
        HttpClientResponse.schemaBodyJson(PublicHealth)(response),
        ({ problems = [], status }): HubStatus => {
          if (response.status === 200)
            return status === "ok"
              ? { url, state: "ok", problems: [] }
              : { url, state: "degraded", problems, ...(problems.length === 0 ? { hint: DEGRADED } : {}) }
          return { url, state: "not_ready", problems, ...(problems.length === 0 ? { hint: NOT_READY } : {}) }
        }
      )
    ),
    Effect.timeout("5 seconds"),
    Effect.catch(() =>
      Effect.succeed<HubStatus>({
        url,
        state: "unreachable",
        problems: [],
        hint: "Check the URL and that the Hub is running."
      })
    )
  )
})
