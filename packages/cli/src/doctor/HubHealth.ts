/**
 * Health of the Hub that this machine uses, for `corral doctor`. Readiness is public. The reason is only for authorized callers.
 *
 * Sends a sign-in only to its own Hub, and the metrics token only to a Hub on this machine.
 */
import { type HealthProblem, PublicHealth } from "@corral/domain/http/Health"
import { isLoopback } from "@corral/service/Addresses"
import { Effect, Redacted } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import type { StoredSignIn } from "../hub/SignInFile.ts"

export interface HubStatus {
  readonly url: string
  /** `degraded`: it works, but for what `problems` say. `not_ready`: it cannot do its work. */
  readonly state: "ok" | "degraded" | "not_ready" | "unreachable"
  readonly problems: ReadonlyArray<HealthProblem>
  /** What to do where no problem says it. */
  readonly hint?: string
}

const NOT_READY =
  "Its database is probably unavailable: look at the Hub's log, or ask its operator. With CORRAL_METRICS_TOKEN set, doctor asks a Hub on this machine for the reason."
const DEGRADED = "Sign in with corral login to see why, or look at the Hub's log."

/** What verifies the caller at that Hub. */
const credentialFor = (
  url: string,
  signIn: StoredSignIn | undefined,
  environment: Readonly<Record<string, string>>
): Redacted.Redacted | undefined => {
  const metricsToken = environment["CORRAL_METRICS_TOKEN"] ?? ""
  if (metricsToken !== "" && isLoopback(new URL(url).hostname)) return Redacted.make(metricsToken)
  return signIn?.hub === url ? signIn.token : undefined
}

/** Asks the Hub at that address. Fails nowhere. */
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
